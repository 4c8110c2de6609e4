"""Where the processes of a run leave what concerns one solver: its problem, the solution, and what it has learned.

The solvers of an agent in several processes take turns. Each goes on from what the last one has learned, which it reads
only when that was another.
"""

from __future__ import annotations

from simnet.learning.solver import Problem, Solution, Solver
from simnet.sim.workers import Worker, shared_numbers


class Desk:
    """What lies in shared memory for one solver; it is made before the workers that know it."""

    def __init__(self, number: int, solver: Solver) -> None:
        self.solver = solver
        self._number = number
        self._learned = shared_numbers(solver.size)
        self._linear, self._model = shared_numbers(2 * solver.objective.features).reshape(2, -1)
        self._knows: Worker | None = None
        """Who knows as much as the solver of this process as long as that stands at `_at`; None if all do."""
        self._at = solver.theta

    def request(self, problem: Problem, worker: Worker) -> tuple[int, bool, bool, float, float]:
        """What to ask a worker for a problem."""
        solver, linear, quadratic, start, tolerance = problem
        self._linear[:] = linear
        elsewhere = start is not solver.theta
        if elsewhere:
            self._model[:] = start
        news = solver.theta is not self._at or self._knows not in (None, worker)
        if news and not solver.followed:
            solver.leave(self._learned)
        return self._number, news, elsewhere, quadratic, tolerance

    def solve(self, news: bool, elsewhere: bool, quadratic: float, tolerance: float) -> tuple[float, int, int]:
        """What a worker does with that."""
        if news:
            self.solver.follow(self._learned)
        start = self._model.copy() if elsewhere else self.solver.theta
        theta, norm, gradients, factorisations = self.solver.solve(self._linear, quadratic, start, tolerance)
        self._model[:] = theta
        self.solver.leave(self._learned)
        return norm, gradients, factorisations

    def solution(self, worker: Worker, norm: float, gradients: int, factorisations: int) -> Solution:
        """What the worker has found; the solver of this process goes on from there."""
        self._knows, self._at = worker, self._model.copy()
        self._at.flags.writeable = False
        self.solver.follow(self._learned, self._at)
        return Solution(self._at, norm, gradients, factorisations)
