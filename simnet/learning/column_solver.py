"""The solvers of a crowd: what each has learned lies in columns, and many problems are solved at once.

Agent i's problem is solved as `Solver` solves it, to the last bit: in stacks (`simnet.learning.descent`) as long as
everything goes as it nearly always does, and otherwise by a `Solver` that is made for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from simnet.learning.descent import Memory, batch_size, begin, descend
from simnet.learning.inverse_hessian import FullBfgs, triangle_places
from simnet.learning.objective import Stack
from simnet.learning.solver import Solver
from simnet.learning.stacked_objectives import Agents, StackedObjectives, neighbours

Column: TypeAlias = npt.NDArray[Any]
"""A number, or a vector, for each agent."""
Allot = Callable[[tuple[int, ...], Any], Column]
"""Makes a column of zeros, of a shape and a type."""


class ColumnSolver:
    """Solvers of all agents. `theta` is where the last solve of each ended, or 0 where there was none."""

    def __init__(self, objectives: StackedObjectives, allot: Allot) -> None:
        agents, features = len(objectives), objectives.features
        self._objectives = objectives
        self.theta: Column = allot((agents, features), np.float64)
        self._loss_gradient = allot((agents, features), np.float64)
        self._triangle = allot((agents, len(triangle_places(features)[0])), np.float64)
        self._age, self._curvature, self._cost = (allot((agents,), np.float64) for _ in range(3))
        self._every = allot((agents,), np.int32)
        self._begun = allot((agents,), np.bool_)
        self._age[:] = math.inf
        self._memory = Memory()

    def solve(self, agents: Agents, linear: Stack, quadratic: Stack, tolerance: Stack) -> tuple[Column, Column]:
        """Solve a problem of each of these agents from where the last one ended: its gradient's norm, and gradients."""
        norms, gradients = np.empty(len(agents)), np.full(len(agents), -1)
        ready = self._begun[agents] & np.isfinite(self._age[agents])
        for places in self._batches(np.flatnonzero(ready)):
            self._descend(
                agents[places], linear[places], quadratic[places], tolerance[places], (norms, gradients, places)
            )
        for place in np.flatnonzero(gradients < 0).tolist():
            given = linear[place], float(quadratic[place]), float(tolerance[place])
            norms[place], gradients[place] = self._alone(int(agents[place]), *given)
        return norms, gradients

    def measure(self, agents: Agents, thetas: Stack, ceiling: float = math.inf) -> Column:
        """The mean loss of a model over each of these agents' rows, as `Measurement` has it."""
        return self._objectives.mean_losses(agents, thetas, ceiling)

    def _batches(self, places: Agents) -> Iterator[Agents]:
        _, features, rows = self._objectives.rows.shape
        size = batch_size(rows, features)
        return (places[first : first + size] for first in range(0, len(places), size))

    def _descend(
        self, agents: Agents, linear: Stack, quadratic: Stack, tolerance: Stack, found: tuple[Column, Column, Agents]
    ) -> None:
        """The problems of one stack; of those that need more than full steps nothing is found."""
        run, objectives = neighbours(agents), self._objectives
        scale = np.full(len(agents), objectives.scale)
        numbers = scale, objectives.regulariser + quadratic, objectives.smoothness[run], tolerance
        batch, accepted = begin(
            objectives.rows[run],
            self._memory.inverses(self._triangle[run], objectives.features),
            linear,
            (*numbers, self._age[run], self._cost[run], self._curvature[run]),
            self.theta[run],
            self._loss_gradient[run],
        )
        norms, gradients, places = found
        for solved in descend(batch, accepted, objectives.loss, self._memory):
            norms[places[solved.place]], gradients[places[solved.place]] = solved.norm, solved.gradients
            if solved.gradients:
                who = neighbours(agents[solved.place])
                self.theta[who], self._loss_gradient[who] = solved.theta, solved.loss_gradient
                self._triangle[who] = solved.triangles
                self._age[who] += solved.gradients

    def _alone(self, agent: int, linear: Column, quadratic: float, tolerance: float) -> tuple[float, int]:
        solver = Solver(self._objectives[agent])
        known = cast("FullBfgs", solver.inverse_hessian)
        start = self.theta[agent].copy()
        if self._begun[agent]:
            solver.theta, solver.loss_gradient = start, self._loss_gradient[agent].copy()
            solver.age = float(self._age[agent])
            known.recall(self._triangle[agent].copy(), float(self._curvature[agent]), int(self._every[agent]))
        solution = solver.solve(linear, quadratic, start, tolerance)
        self._begun[agent] = True
        self.theta[agent], self._loss_gradient[agent] = solution.theta, solver.loss_gradient
        if known.triangle.size:
            self._triangle[agent] = known.triangle
        self._age[agent], self._curvature[agent] = solver.age, known.curvature
        self._cost[agent], self._every[agent] = known.cost, known.every
        return solution.gradient_norm, solution.gradients
