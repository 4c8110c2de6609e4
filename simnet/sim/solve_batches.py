"""Batches of local problems: those of all agents that begin a round at one instant are solved together.

Which agents begin at the same instant is a matter of the simulated clock alone, and a problem's solution does not
depend on those that it is solved with (`simnet.learning.batch_solver`). So batching changes no number of a run, only
its cost. `simnet.methods.peer.alone` is the plain way: it solves one problem after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from simnet.learning.batch_solver import BatchSolver
from simnet.learning.objective import Measurement
from simnet.learning.solver import Problem
from simnet.methods.peer import Proposal, Work
from simnet.sim.shared_solves import SharedSolves, Underway
from simnet.sim.sim_events import Signal

BATCH = 160
"""Agents in a batch: enough to share the cost of a call, few enough for their rows to stay in the cache, and for those
of twenty rows of twenty features to be one stack from the first problem to the last measurement."""


class SolveBatches:
    """Collects the local work of an instant; `later` calls a function when nothing else is left to do at it."""

    def __init__(self, signal: Callable[[], Signal], later: Callable[[Callable[[], None]], None]) -> None:
        self._signal, self._later = signal, later
        self._waiting: list[tuple[Work | None, Proposal | Underway | None, Signal]] = []
        self._solver = BatchSolver()
        self.shared: SharedSolves | None = None
        """Who solves large problems in place of batches."""
        self._instants = 0

    def add(self, work: Work) -> Signal:
        """Take on an agent's work; what to wait for, its value is the outcome or the work underway."""
        if not self._waiting:
            self._later(self._solve)
        signal = self._signal()
        self._waiting.append((*self._begun(work), signal))
        return signal

    def _begun(self, work: Work) -> tuple[Work | None, Proposal | Underway | None]:
        """The work, or what it has become as soon as it has begun."""
        if self.shared is None:
            return work, None
        begun = self.shared.begin(work, self._instants, len(self._waiting))
        return (None, begun) if isinstance(begun, Proposal | Underway) else (begun, None)

    def _solve(self) -> None:
        waiting, self._waiting = self._waiting, []
        if self.shared is not None:
            self._instants += 1
            self.shared.all_have_begun()
        for first in range(0, len(waiting), BATCH):
            batch = waiting[first : first + BATCH]
            solved = iter(solve_all([work for work, _, _ in batch if work is not None], self._solver))
            for work, found, signal in batch:
                signal.end(found if work is None else next(solved))


def solve_all(works: Sequence[Work], solver: BatchSolver) -> list[Proposal]:
    """The outcome of each work, in order; the requests of all are answered together.

    Measurements come first: so all who have a problem, before one or after, meet when problems are solved.
    """
    outcomes: list[Any] = [None] * len(works)
    problems: dict[int, Problem] = {}
    measurements: dict[int, Measurement] = {}

    def go_on(places: Iterable[int], answers: Iterable[Any]) -> None:
        for place, answer in zip(places, answers, strict=True):
            try:
                request = works[place].send(answer)
            except StopIteration as end:
                outcomes[place] = end.value
            else:
                waiting: dict[int, Any] = measurements if isinstance(request, Measurement) else problems
                waiting[place] = request

    go_on(range(len(works)), outcomes)
    while problems or measurements:
        if measurements:
            asked, measurements = measurements, {}
            go_on(asked, solver.measure(list(asked.values())))
        else:
            due, problems = problems, {}
            go_on(due, solver.solve(list(due.values())))
    return outcomes
