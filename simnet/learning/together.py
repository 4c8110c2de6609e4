"""Solves the local problems of many agents at once.

A problem of some dozens of rows costs more in calls than in arithmetic. So problems of one shape take their steps
together, each operation once for all of them, as long as everything goes as it nearly always does: the metric of the
last round fits, and every full step is accepted. A problem that needs more is left as it was and solved alone.

The solutions are those of `Solver.solve` to the last bit, so it does not matter who is solved with whom: elementwise
functions do not look beyond their element, and numpy's stacked products call for each matrix what a single product
calls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsymv

from simnet.learning.metric import DenseMetric, bfgs
from simnet.learning.solver import ENOUGH, PATIENCE, POOR, PROGRESS, Problem, Solution

Stack = npt.NDArray[np.float64]
"""A vector or a number for each problem of a batch."""

_SMALL = 4096  # entries; a product with more costs more than its call
_LEAST = 4  # problems; fewer are solved faster one by one


def solve_together(problems: Sequence[Problem]) -> list[Solution]:
    """The solution of each problem; no solver may have two."""
    alike: dict[tuple[int, int, int], list[int]] = {}
    for index, problem in enumerate(problems):
        objective = problem.solver.objective
        # A product with one row or one column is another routine for a stack of them than for one.
        if min(objective.rows, objective.features) > 1 and objective.stored <= _SMALL and _is_regular(problem):
            alike.setdefault((objective.rows, objective.features, id(objective.loss)), []).append(index)
    found: list[Solution | None] = [None] * len(problems)
    for members in alike.values():
        if len(members) >= _LEAST:
            _Batch([problems[index] for index in members]).descend(found, members)
    return [solution or problem.solve() for problem, solution in zip(problems, found, strict=True)]


def _is_regular(problem: Problem) -> bool:
    """Whether it starts where the last one ended, with a metric that need not be made anew."""
    solver, metric = problem.solver, problem.solver.metric
    return (
        problem.start is solver.theta
        and isinstance(metric, DenseMetric)
        and not solver.objective.sparse  # such matrices do not stack
        and not math.isinf(solver.age)
        and metric.fits(solver.objective.regulariser + problem.quadratic)
    )


class _Batch:
    """Problems of one shape, and how far each has come: `Solver._descend` for all of them, where it has no branches."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self._problems = list(problems)
        solvers = [problem.solver for problem in problems]
        objectives = [solver.objective for solver in solvers]
        self._loss = objectives[0].loss
        self._back: Stack = np.array([objective.transposed for objective in objectives])
        self._scale: Stack = np.array([objective.scale for objective in objectives])[:, None]
        self._curvature: Stack = np.array(
            [problem.solver.objective.regulariser + problem.quadratic for problem in problems]
        )
        self._smoothness: Stack = np.array([objective.smoothness for objective in objectives])
        self._linear: Stack = np.array([problem.linear for problem in problems])
        self._tolerance: Stack = np.array([problem.tolerance for problem in problems])
        self._age: Stack = np.array([solver.age for solver in solvers])
        self._cost: Stack = np.array([solver.metric.cost for solver in solvers])
        self._inverses = [solver.metric.inverse for solver in solvers if isinstance(solver.metric, DenseMetric)]
        self._theta: Stack = np.array([solver.theta for solver in solvers])
        self._loss_gradient: Stack = np.array([solver.loss_gradient for solver in solvers])
        self._gradient: Stack = self._loss_gradient + self._curvature[:, None] * self._theta + self._linear
        self._norm: Stack = np.sqrt(np.vecdot(self._gradient, self._gradient))
        self._best = self._norm

    def descend(self, found: list[Solution | None], places: Sequence[int]) -> None:
        """Put the solutions into their places; what needs more than full steps is left out."""
        at = np.array(places)
        at = self._sort_out(found, at, self._norm <= self._tolerance, np.ones(len(at), np.bool_), 0)
        for gradients in range(1, PATIENCE + 1):
            if not len(at):
                return
            accepted, stale = self._step(gradients)
            done = self._norm <= self._tolerance
            at = self._sort_out(found, at, accepted & done, accepted & ~stale, gradients)

    def _step(self, gradients: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Everyone's full step: who may take it, and who needs a new metric after it."""
        direction = np.array(
            [dsymv(1.0, inverse, g) for inverse, g in zip(self._inverses, self._gradient, strict=True)]
        )
        slope = -np.vecdot(self._gradient, direction)
        theta = self._theta - direction
        margins = (self._back.transpose(0, 2, 1) @ theta[:, :, None])[:, :, 0]
        loss_gradient = (self._back @ self._loss.slope(margins)[:, :, None])[:, :, 0]
        loss_gradient *= self._scale
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

    def _learn(self, step: Stack, change: Stack, worth: npt.NDArray[np.bool_]) -> None:
        product = np.vecdot(step, change)
        worth &= product > 0.0
        worth &= product >= 0.99 * self._curvature * np.vecdot(step, step)
        worth &= np.vecdot(change, change) <= 1.01 * (self._curvature + self._smoothness) * product
        for row in np.flatnonzero(worth).tolist():
            pair = step[row], change[row], float(product[row])
            self._inverses[row] = bfgs(self._inverses[row], *pair, overwrite=False)

    def _sort_out(
        self,
        found: list[Solution | None],
        at: npt.NDArray[np.intp],
        done: npt.NDArray[np.bool_],
        going: npt.NDArray[np.bool_],
        gradients: int,
    ) -> npt.NDArray[np.intp]:
        """Hand over what is done and go on with the rest of what is `going`; the places of the rest."""
        for row in np.flatnonzero(done).tolist():
            found[at[row]] = self._finish(row, gradients)
        rest = going & ~done
        if rest.all():
            return at
        rows = np.flatnonzero(rest)
        self._problems = [self._problems[row] for row in rows.tolist()]
        self._inverses = [self._inverses[row] for row in rows.tolist()]
        for name in (
            *("_back", "_scale", "_curvature", "_smoothness", "_linear", "_tolerance", "_age", "_cost"),
            *("_theta", "_loss_gradient", "_gradient", "_norm", "_best"),
        ):
            setattr(self, name, getattr(self, name)[rows])
        return at[rows]

    def _finish(self, row: int, gradients: int) -> Solution:
        """Leave an agent's solver as if it had solved its problem itself."""
        solver = self._problems[row].solver
        assert isinstance(solver.metric, DenseMetric)
        if gradients:
            theta = self._theta[row].copy()
            theta.flags.writeable = False
            solver.theta, solver.loss_gradient = theta, self._loss_gradient[row].copy()
            solver.metric.inverse = self._inverses[row]
            solver.age += gradients
        return Solution(solver.theta, float(self._norm[row]), gradients, 0)
