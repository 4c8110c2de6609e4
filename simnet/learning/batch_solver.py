"""Answers the requests of many agents at once: local problems to solve, models to measure.

A problem of some dozens of rows costs more in calls than in arithmetic. So the problems of agents whose data have one
shape are stacked, and every operation is called once for all of them. The answers are to the last bit those that each
request would find alone (`answer`), so it does not matter who is answered with whom:

- elementwise functions do not look beyond their element;
- sums along the last axis add in the same order;
- numpy's product of two stacks calls for each matrix the routine that a single product calls. (A matrix of one row or
  one column is the exception; `LocalObjective.batch_key` leaves it out.)

A problem is solved in a batch as long as everything goes as it nearly always does: the solver's inverse
Hessian fits, and every full step is accepted. A problem that needs more is left as it was and solved alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from simnet.learning.inverse_hessian import NEAR, FullBfgs, triangle_places, update
from simnet.learning.objective import LocalObjective, Loss, Measurement, Stack
from simnet.learning.row_objective import BatchKey
from simnet.learning.solver import ENOUGH, PATIENCE, POOR, PROGRESS, Problem, Solution
from simnet.vectors import Vector

LEAST = 4
"""Requests per batch; fewer are answered faster one by one."""
ROOM = 2**16
"""Entries of a stack of matrices: enough agents to share the cost of a call, few enough to stay in the cache."""

Mask = npt.NDArray[np.bool_]


class BatchSolver:
    """Solves and measures; the answers depend on nothing that was asked before."""

    def __init__(self) -> None:
        self._memory: dict[str, Vector] = {}
        """The largest arrays, used again and again: to get fresh pages costs more than the arithmetic in them."""
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
        losses = objectives[0].loss.value(_margins(self._rows(objectives), thetas))
        np.minimum(losses, ceilings[:, None], out=losses)
        np.maximum(losses, np.where(ceilings < np.inf, 0.0, -np.inf)[:, None], out=losses)
        means: list[float] = (np.add.reduce(losses, axis=1) / objectives[0].rows).tolist()
        return means

    def _stack(self, problems: Sequence[Problem]) -> tuple[_Batch, Mask]:
        """The problems as a batch, and which of them have a finite gradient and a K that fits."""
        solvers = [problem.solver for problem in problems]
        objectives = cast("list[LocalObjective]", [solver.objective for solver in solvers])
        known = cast("list[FullBfgs]", [solver.inverse_hessian for solver in solvers])
        theta = stacked([solver.theta for solver in solvers])
        loss_gradient = stacked([solver.loss_gradient for solver in solvers])
        linear = stacked([problem.linear for problem in problems])
        numbers = [
            (f.scale, f.regulariser + p.quadratic, f.smoothness, p.tolerance, s.age, k.cost, k.curvature)
            for f, p, s, k in zip(objectives, problems, solvers, known, strict=True)
        ]
        scale, curvature, smoothness, tolerance, age, cost, made_for = np.ascontiguousarray(np.array(numbers).T)
        gradient = loss_gradient + curvature[:, None] * theta + linear
        norm = np.sqrt(np.vecdot(gradient, gradient))
        batch = _Batch(
            np.arange(len(problems)),
            self._rows(objectives),
            self._inverses(known, theta.shape[1]),
            *(linear, scale, curvature, smoothness, tolerance, age, cost, theta, loss_gradient, gradient, norm, norm),
        )
        return batch, np.isfinite(norm) & (np.abs(curvature - made_for) <= NEAR * curvature)

    def _descend(self, problems: Sequence[Problem]) -> list[Solution | None]:
        """`Solver._descend` for problems of one shape; None for one that needs more than full steps."""
        found: list[Solution | None] = [None] * len(problems)
        loss = cast("LocalObjective", problems[0].solver.objective).loss
        batch, accepted = self._stack(problems)
        fresh = accepted
        for gradients in range(PATIENCE + 1):
            done = accepted & (batch.norm <= batch.tolerance)
            if done.any():
                _finish(problems, batch, done, gradients, found)
            going = accepted & fresh & ~done
            if not going.any():
                break
            batch, accepted, fresh = self._step(batch if going.all() else batch.only(going), loss)
        return found

    def _step(self, batch: _Batch, loss: Loss) -> tuple[_Batch, Mask, Mask]:
        """The full step of each problem; which problems may take it, and which need no new K after it."""
        direction = np.matmul(batch.inverse, batch.gradient[:, :, None])[:, :, 0]
        slope = -np.vecdot(batch.gradient, direction)
        theta = batch.theta - direction
        margins = _margins(batch.rows, theta)
        loss_gradient = np.matmul(batch.rows, loss.slope(margins, margins)[:, :, None])[:, :, 0]
        loss_gradient *= batch.scale[:, None]
        gradient = batch.curvature[:, None] * theta
        gradient += loss_gradient
        gradient += batch.linear
        norm = np.sqrt(np.vecdot(gradient, gradient))
        ahead = -np.vecdot(gradient, direction)
        progress = norm <= PROGRESS * batch.best
        accepted = (slope < 0.0) & (progress | ((PROGRESS * slope <= ahead) & (ahead <= 0.0)))
        self._learn(batch, theta - batch.theta, gradient - batch.gradient, accepted & (norm > ENOUGH * batch.norm))
        age = batch.age + 1.0
        fresh = (norm <= POOR * batch.norm) | (age < batch.cost)
        best = np.where(progress, norm, batch.best)
        following = batch._replace(
            age=age, theta=theta, loss_gradient=loss_gradient, gradient=gradient, norm=norm, best=best
        )
        return following, accepted, fresh

    def _learn(self, batch: _Batch, step: Stack, change: Stack, worth: Mask) -> None:
        """`Solver._learn` where that is worth it."""
        product = np.vecdot(step, change)
        worth &= product > 0.0
        worth &= product >= 0.99 * batch.curvature * np.vecdot(step, step)
        worth &= np.vecdot(change, change) <= 1.01 * (batch.curvature + batch.smoothness) * product
        space = self._empty("updates", 2, int(np.count_nonzero(worth)), *batch.inverse.shape[1:])
        if worth.all():
            update(batch.inverse, step, change, product, space)
        elif worth.any():
            some = batch.inverse[worth]
            update(some, step[worth], change[worth], product[worth], space)
            batch.inverse[worth] = some

    def _rows(self, objectives: Sequence[LocalObjective]) -> Stack:
        """Aᵀ of each objective; those of the last batch are still there."""
        if objectives != self._objectives:
            self._objectives = objectives
            self._stacked("rows", cast("list[Vector]", [objective.transposed for objective in objectives]))
        return self._empty("rows", len(objectives), objectives[0].features, objectives[0].rows)

    def _inverses(self, known: Sequence[FullBfgs], features: int) -> Stack:
        """Copies of K, made of their triangles."""
        triangles = stacked([k.triangle for k in known])
        _, of_matrix = triangle_places(features)
        stack = self._empty("inverses", len(known), *of_matrix.shape)
        return np.take(triangles, of_matrix, axis=1, out=stack, mode="clip")

    def _stacked(self, name: str, matrices: Sequence[Vector]) -> Stack:
        """Copies of matrices of one shape, in the memory of that name."""
        rows, columns = matrices[0].shape
        stack = self._empty(name, len(matrices) * rows, columns)
        return np.concatenate(matrices, out=stack).reshape(len(matrices), rows, columns)

    def _empty(self, name: str, *shape: int) -> Stack:
        size = math.prod(shape)
        memory = self._memory.get(name)
        if memory is None or memory.size < size:
            memory = self._memory[name] = np.empty(size)
        return memory[:size].reshape(shape)


def batches(keys: Iterable[BatchKey | None]) -> list[list[int]]:
    """The places of equal keys, in batches; those without a key, or with too few like them, are in none."""
    alike: dict[BatchKey, list[int]] = {}
    for place, key in enumerate(keys):
        if key is not None:
            alike.setdefault(key, []).append(place)
    found = []
    for (rows, features, _), places in alike.items():
        size = max(LEAST, ROOM // (features * max(rows, features)))
        found += [places[first : first + size] for first in range(0, len(places), size)]
    return [batch for batch in found if len(batch) >= LEAST]


def stacked(vectors: Sequence[Vector]) -> Stack:
    """Copies of vectors of one length, one per row; `np.array` takes twice as long to find out what it is given."""
    return np.concatenate(vectors).reshape(len(vectors), -1)


def _margins(rows: Stack, thetas: Stack) -> Stack:
    """Aθ of each problem."""
    found: Stack = np.matmul(rows.swapaxes(1, 2), thetas[:, :, None])[:, :, 0]
    return found


def _batch_key(problem: Problem) -> BatchKey | None:
    """The key of a problem that starts where the last one of its solver ended, and that has a K."""
    solver = problem.solver
    return solver.objective.batch_key if problem.start is solver.theta and solver.age != math.inf else None


class _Batch(NamedTuple):
    """Problems of one shape, one per entry of each array: what is given, and the point that each has reached."""

    place: npt.NDArray[np.intp]
    rows: Stack
    """Aᵀ."""
    inverse: Stack
    """K, the only array that is changed in place."""
    linear: Stack
    scale: Stack
    curvature: Stack
    smoothness: Stack
    tolerance: Stack
    age: Stack
    cost: Stack
    theta: Stack
    loss_gradient: Stack
    gradient: Stack
    norm: Stack
    best: Stack

    def only(self, which: Mask) -> _Batch:
        return _Batch._make(array[which] for array in self)


def _finish(
    problems: Sequence[Problem], batch: _Batch, done: Mask, gradients: int, found: list[Solution | None]
) -> None:
    """Leave the solvers of what is done as if they had solved their problems themselves."""
    found_at, norms = batch.place[done].tolist(), batch.norm[done].tolist()
    of_triangle, _ = triangle_places(batch.inverse.shape[1])
    triangles = batch.inverse.reshape(len(done), -1)[np.ix_(done, of_triangle)]
    ends = zip(found_at, norms, batch.theta[done], batch.loss_gradient[done], triangles, strict=True)
    for place, norm, theta, loss_gradient, triangle in ends:
        solver = problems[place].solver
        if gradients:
            solver.theta, solver.loss_gradient = theta.copy(), loss_gradient.copy()
            solver.theta.setflags(write=False)
            cast("FullBfgs", solver.inverse_hessian).rest(triangle.copy())
            solver.age += gradients
        found[place] = Solution(solver.theta, norm, gradients, 0)
