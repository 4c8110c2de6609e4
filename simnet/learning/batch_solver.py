"""Answers the requests of many agents at once: local problems to solve, models to measure.

A problem of some dozens of rows costs more in calls than in arithmetic. So the problems of agents whose data have one
shape are stacked (`simnet.learning.descent`). The answers are to the last bit those that each request would find alone
(`answer`), so it does not matter who is answered with whom. What leaves the way that nearly all problems go is solved
alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np

from simnet.learning.descent import Batch, Mask, Memory, Solved, batch_size, begin, descend, mean_losses
from simnet.learning.inverse_hessian import FullBfgs
from simnet.learning.objective import LocalObjective, Measurement, Stack
from simnet.learning.row_objective import BatchKey
from simnet.learning.solver import Problem, Solution
from simnet.vectors import Vector

LEAST = 4
"""Requests per batch; fewer are answered faster one by one."""


class BatchSolver:
    """Solves and measures; the answers depend on nothing that was asked before."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._objectives: Sequence[LocalObjective] = ()
        """Whose rows are stacked in it."""

    def solve(self, problems: Sequence[Problem]) -> list[Solution]:
        """The answer to each problem; no two may have one solver."""
        found: list[Solution | None] = [None] * len(problems)
        for places in batches(_batch_key(problem) for problem in problems):
            for place, solution in zip(places, self._descend([problems[place] for place in places]), strict=True):
                found[place] = solution
        return [solution or problem.answer() for problem, solution in zip(problems, found, strict=True)]

    def measure(self, measurements: Sequence[Measurement]) -> list[float]:
        """The answer to each measurement."""
        found: list[float | None] = [None] * len(measurements)
        for places in batches(measurement.objective.batch_key for measurement in measurements):
            for place, value in zip(places, self._means([measurements[place] for place in places]), strict=True):
                found[place] = value
        return [each.answer() if value is None else value for each, value in zip(measurements, found, strict=True)]

    def _means(self, batch: Sequence[Measurement]) -> list[float]:
        objectives = cast("list[LocalObjective]", [measurement.objective for measurement in batch])
        thetas = stacked([measurement.theta for measurement in batch])
        ceilings: Stack = np.array([measurement.ceiling for measurement in batch])
        means: list[float] = mean_losses(objectives[0].loss, self._rows(objectives), thetas, ceilings).tolist()
        return means

    def _stack(self, problems: Sequence[Problem]) -> tuple[Batch, Mask]:
        """The problems as a batch, and which of them have a finite gradient and a K that fits."""
        solvers = [problem.solver for problem in problems]
        objectives = cast("list[LocalObjective]", [solver.objective for solver in solvers])
        known = cast("list[FullBfgs]", [solver.inverse_hessian for solver in solvers])
        linear = stacked([problem.linear for problem in problems])
        numbers = [
            (f.scale, f.regulariser + p.quadratic, f.smoothness, p.tolerance, s.age, k.cost, k.curvature)
            for f, p, s, k in zip(objectives, problems, solvers, known, strict=True)
        ]
        scale, curvature, smoothness, tolerance, age, cost, made_for = np.ascontiguousarray(np.array(numbers).T)
        return begin(
            self._rows(objectives),
            self._memory.inverses(stacked([k.triangle for k in known]), linear.shape[1]),
            linear,
            (scale, curvature, smoothness, tolerance, age, cost, made_for),
            stacked([solver.theta for solver in solvers]),
            stacked([solver.loss_gradient for solver in solvers]),
        )

    def _descend(self, problems: Sequence[Problem]) -> list[Solution | None]:
        """`Solver._descend` for problems of one shape; None for one that needs more than full steps."""
        found: list[Solution | None] = [None] * len(problems)
        loss = cast("LocalObjective", problems[0].solver.objective).loss
        batch, accepted = self._stack(problems)
        for some in descend(batch, accepted, loss, self._memory):
            _finish(problems, some, found)
        return found

    def _rows(self, objectives: Sequence[LocalObjective]) -> Stack:
        """Aᵀ of each objective; those of the last batch are still there."""
        shape = len(objectives), objectives[0].features, objectives[0].rows
        stack = self._memory.empty("rows", *shape)
        if objectives != self._objectives:
            self._objectives = objectives
            matrices = cast("list[Vector]", [objective.transposed for objective in objectives])
            np.concatenate(matrices, out=stack.reshape(-1, shape[2]))
        return stack


def batches(keys: Iterable[BatchKey | None]) -> list[list[int]]:
    """The places of equal keys, in batches; those without a key, or with too few like them, are in none."""
    alike: dict[BatchKey, list[int]] = {}
    for place, key in enumerate(keys):
        if key is not None:
            alike.setdefault(key, []).append(place)
    found = []
    for (rows, features, _), places in alike.items():
        size = batch_size(rows, features)
        found += [places[first : first + size] for first in range(0, len(places), size)]
    return [batch for batch in found if len(batch) >= LEAST]


def stacked(vectors: Sequence[Vector]) -> Stack:
    """Copies of vectors of one length, one per row; `np.array` takes twice as long to find out what it is given."""
    return np.concatenate(vectors).reshape(len(vectors), -1)


def _batch_key(problem: Problem) -> BatchKey | None:
    """The key of a problem that starts where the last one of its solver ended, and that has a K."""
    solver = problem.solver
    return solver.objective.batch_key if problem.start is solver.theta and solver.age != math.inf else None


def _finish(problems: Sequence[Problem], solved: Solved, found: list[Solution | None]) -> None:
    """Leave the solvers of what is done as if they had solved their problems themselves."""
    places, norms, thetas, loss_gradients, triangles, gradients = solved
    ends = zip(places.tolist(), norms.tolist(), thetas, loss_gradients, triangles, strict=True)
    for place, norm, theta, loss_gradient, triangle in ends:
        solver = problems[place].solver
        if gradients:
            solver.theta, solver.loss_gradient = theta.copy(), loss_gradient.copy()
            solver.theta.setflags(write=False)
            cast("FullBfgs", solver.inverse_hessian).rest(triangle.copy())
            solver.age += gradients
        found[place] = Solution(solver.theta, norm, gradients, 0)
