"""Begins the local problems of many agents at once: the loss gradient where each starts, and the metric made there.

A solver that has solved nothing yet knows neither. Problems of one shape are begun together (`simnet.learning.stacks`),
and leave their solvers as `Solver.solve` has them before its first step, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from simnet.learning.metric import FAINT, FullMetric, inverses
from simnet.learning.objective import Kind, Stack
from simnet.learning.solver import Problem
from simnet.learning.stacks import Stacks, batches, loss_gradients, margins


def begin_together(problems: Sequence[Problem], stacks: Stacks) -> dict[int, int]:
    """Begin what can be begun so: the places of it, with the factorisations of each; each took one gradient as well."""
    begun: dict[int, int] = {}
    for places in batches([_kind(problem) for problem in problems]):
        begun |= dict.fromkeys(places, 0)
        begun |= dict.fromkeys([places[row] for row in _begin([problems[place] for place in places], stacks)], 1)
    return begun


def _kind(problem: Problem) -> Kind | None:
    """The kind of problem, if its solver is new and would make its metric of all rows."""
    solver = problem.solver
    kind = solver.objective.kind
    if kind is None or solver.theta.size or not cast("FullMetric", solver.metric).whole:
        return None
    return kind if solver.objective.regulariser + problem.quadratic > 0.0 else None


def _begin(problems: Sequence[Problem], stacks: Stacks) -> list[int]:
    """Begin problems of one shape: which of them have a metric now, and not their solution."""
    solvers = [problem.solver for problem in problems]
    objectives = [solver.objective for solver in solvers]
    rows, loss = stacks.rows(objectives), objectives[0].loss
    theta: Stack = np.array([problem.start for problem in problems], np.float64)
    linear: Stack = np.array([problem.linear for problem in problems])
    numbers = [
        (f.scale, f.smoothness, f.regulariser + p.quadratic, p.tolerance)
        for f, p in zip(objectives, problems, strict=True)
    ]
    scale, smoothness, curvature, tolerance = np.ascontiguousarray(np.array(numbers).T)
    scores = margins(rows, theta)
    # `LocalObjective.loss_hessian` of each, as a sum that begins with 0: it has no −0.
    bent = np.multiply(rows, np.sqrt(loss.bend(scores))[:, None, :], out=stacks.empty("bent", *rows.shape))
    hessians = np.matmul(bent, bent.swapaxes(1, 2), out=stacks.empty("hessians", len(rows), *[rows.shape[1]] * 2))
    hessians += 0.0
    hessians *= scale[:, None, None]
    hessians.reshape(len(rows), -1)[:, :: rows.shape[1] + 1] += np.maximum(curvature, FAINT * smoothness)[:, None]
    loss_gradient = loss_gradients(rows, loss.slope(scores, scores), scale)
    gradient = loss_gradient + curvature[:, None] * theta + linear
    norm = np.sqrt(np.vecdot(gradient, gradient))
    far = np.flatnonzero((norm > tolerance) & np.isfinite(norm)).tolist()
    for solver, start, there in zip(solvers, theta, loss_gradient, strict=True):
        solver.theta, solver.loss_gradient = start, there
    for row, inverse, made_for in zip(far, inverses(hessians[far]), curvature[far].tolist(), strict=True):
        cast("FullMetric", solvers[row].metric).begin(inverse.copy(), made_for)
        solvers[row].age = 0
    return far
