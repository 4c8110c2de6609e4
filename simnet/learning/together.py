"""Solves the local problems of many agents at once.

Problems of one shape take their steps together (`simnet.learning.stacks`), as long as everything goes as it nearly
always does: the metric of the last round fits, and every full step is accepted. A problem that needs more is left as it
was and solved alone. The solutions are those of `Solver.solve` to the last bit, so it does not matter who is solved
with whom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from simnet.learning.beginnings import begin_together
from simnet.learning.metric import NEAR, FullMetric, update
from simnet.learning.objective import Kind, Stack
from simnet.learning.solver import ENOUGH, PATIENCE, POOR, PROGRESS, Problem, Solution
from simnet.learning.stacks import Stacks, batches, loss_gradients, margins, stacked

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


def solve_together(problems: Sequence[Problem], stacks: Stacks) -> list[Solution]:
    """The solution of each problem; no solver may have two."""
    begun = begin_together(problems, stacks)
    if not begun:
        return _solve(problems, stacks)
    rest = [p._replace(start=p.solver.theta) if place in begun else p for place, p in enumerate(problems)]
    solutions = _solve(rest, stacks)
    for place, factorisations in begun.items():
        theta, norm, gradients, later = solutions[place]
        solutions[place] = Solution(theta, norm, 1 + gradients, factorisations + later)
    return solutions


def _solve(problems: Sequence[Problem], stacks: Stacks) -> list[Solution]:
    found: list[Solution | None] = [None] * len(problems)
    for places in batches([_kind(problem) for problem in problems]):
        _Batch([problems[place] for place in places], stacks).descend(found, places)
    return [solution or problem.answer() for problem, solution in zip(problems, found, strict=True)]


def _kind(problem: Problem) -> Kind | None:
    """The kind of problem, if it starts where the last one of its solver ended, with a metric that need not be made."""
    solver = problem.solver
    return solver.objective.kind if problem.start is solver.theta and solver.age != math.inf else None


class _Batch:
    """Problems of one shape, and how far each has come: `Solver._descend` for all of them, where it has no branches."""

    def __init__(self, problems: Sequence[Problem], stacks: Stacks) -> None:
        self._problems = problems
        self._stacks = stacks
        solvers = [problem.solver for problem in problems]
        objectives = [solver.objective for solver in solvers]
        self._metrics = cast("list[FullMetric]", [solver.metric for solver in solvers])
        self._loss = objectives[0].loss
        self._rows = stacks.rows(objectives)
        self._inverses = stacks.of("inverses", [metric.inverse for metric in self._metrics])
        self._linear = stacked([problem.linear for problem in problems])
        self._theta = stacked([solver.theta for solver in solvers])
        self._loss_gradient = stacked([solver.loss_gradient for solver in solvers])
        self._numbers: Stack = np.array(
            [
                (f.scale, f.regulariser + p.quadratic, f.smoothness, p.tolerance, s.age, k.cost, k.curvature)
                for f, p, s, k in zip(objectives, problems, solvers, self._metrics, strict=True)
            ]
        )
        self._unpack()
        self._gradient: Stack = self._loss_gradient + self._curvature[:, None] * self._theta + self._linear
        self._norm: Stack = np.sqrt(np.vecdot(self._gradient, self._gradient))
        self._best = self._norm

    def _unpack(self) -> None:
        columns = np.ascontiguousarray(self._numbers.T)
        self._scale, self._curvature, self._smoothness, self._tolerance, self._age, self._cost, self._made_for = columns

    def descend(self, found: list[Solution | None], places: Sequence[int]) -> None:
        """Put the solutions into their places; what needs more than full steps is left out."""
        at: Places = np.array(places)
        fits = np.abs(self._curvature - self._made_for) <= NEAR * self._curvature
        at = self._sort_out(found, at, fits & (self._norm <= self._tolerance), fits, 0)
        for gradients in range(1, PATIENCE + 1):
            if not at.size:
                return
            accepted, stale = self._step(gradients)
            done = accepted & (self._norm <= self._tolerance)
            at = self._sort_out(found, at, done, accepted & ~stale, gradients)

    def _step(self, gradients: int) -> tuple[Mask, Mask]:
        """Everyone's full step: who may take it, and who needs a new metric after it."""
        direction = np.matmul(self._inverses, self._gradient[:, :, None])[:, :, 0]
        slope = -np.vecdot(self._gradient, direction)
        theta = self._theta - direction
        scores = margins(self._rows, theta)
        loss_gradient = loss_gradients(self._rows, self._loss.slope(scores, scores), self._scale)
        gradient = self._curvature[:, None] * theta
        gradient += loss_gradient
        gradient += self._linear
        norm = np.sqrt(np.vecdot(gradient, gradient))
        ahead = -np.vecdot(gradient, direction)
        progress = norm <= PROGRESS * self._best
        accepted = (slope < 0.0) & (progress | ((PROGRESS * slope <= ahead) & (ahead <= 0.0)))
        self._learn(theta - self._theta, gradient - self._gradient, accepted & (norm > ENOUGH * self._norm))
        stale = (norm > POOR * self._norm) & (self._age + gradients >= self._cost)
        self._theta, self._loss_gradient, self._gradient, self._norm = theta, loss_gradient, gradient, norm
        self._best = np.where(progress, norm, self._best)
        return accepted, stale

    def _learn(self, step: Stack, change: Stack, worth: Mask) -> None:
        product = np.vecdot(step, change)
        worth &= product > 0.0
        worth &= product >= 0.99 * self._curvature * np.vecdot(step, step)
        worth &= np.vecdot(change, change) <= 1.01 * (self._curvature + self._smoothness) * product
        rows = np.flatnonzero(worth)
        space = self._stacks.empty("updates", 2, len(rows), *self._inverses.shape[1:])
        if len(rows) == len(worth):
            update(self._inverses, step, change, product, space)
        elif rows.size:
            some = self._inverses[rows]
            update(some, step[rows], change[rows], product[rows], space)
            self._inverses[rows] = some

    def _sort_out(self, found: list[Solution | None], at: Places, done: Mask, going: Mask, gradients: int) -> Places:
        """Hand over what is done and go on with the rest of what is `going`; the places of the rest."""
        if done.any():
            self._finish(found, at, np.flatnonzero(done), gradients)
            going = going & ~done
        if going.all():
            return at
        rest = np.flatnonzero(going)
        if rest.size:
            self._keep(rest)
        return at[rest]

    def _keep(self, rest: Places) -> None:
        self._problems = [self._problems[row] for row in rest.tolist()]
        self._metrics = [self._metrics[row] for row in rest.tolist()]
        for name in (
            *("_rows", "_inverses", "_linear", "_theta", "_loss_gradient", "_numbers"),
            *("_gradient", "_norm", "_best"),
        ):
            setattr(self, name, getattr(self, name)[rest])
        self._unpack()

    def _finish(self, found: list[Solution | None], at: Places, done: Places, gradients: int) -> None:
        """Leave the solvers of what is done as if they had solved their problems themselves."""
        problems, metrics, inverses = self._problems, self._metrics, self._inverses
        places, norms = at[done].tolist(), self._norm[done].tolist()
        ends = zip(done.tolist(), places, norms, self._theta[done], self._loss_gradient[done], strict=True)
        for row, place, norm, theta, loss_gradient in ends:
            solver = problems[row].solver
            if gradients:
                solver.theta, solver.loss_gradient = theta.copy(), loss_gradient.copy()
                solver.theta.setflags(write=False)
                metrics[row].inverse[...] = inverses[row]
                solver.age += gradients
            found[place] = Solution(solver.theta, norm, gradients, 0)
