"""Sees the local work of agents through: the problems of all who begin a round at one instant are solved together.

Who begins at the same instant is a matter of the simulated clock alone, and a problem's solution does not depend on
those that it is solved with (`simnet.learning.batch_solver`): the workshop changes no number of a run, only its cost.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

from simpy.events import Event as SimEvent

from simnet.learning.batch_solver import BatchSolver
from simnet.learning.objective import Measurement
from simnet.learning.solver import Problem
from simnet.methods.peer import Proposal, Work
from simnet.sim.agenda import Agenda
from simnet.sim.sim_events import SOLVING, Moment, Signal

BATCH = 160
"""Agents seen through together: enough to share the cost of a call, few enough for their rows to stay in the cache, and
for those of twenty rows of twenty features to be one stack from the first problem to the last measurement."""


class Job(Signal):
    """Work that an agent waits for."""

    def __init__(self, env: Agenda, work: Work) -> None:
        super().__init__(env)
        self.work = work

    def __await__(self) -> Generator[SimEvent, Any, Proposal]:
        proposal: Proposal = yield self
        return proposal


class Workshop:
    """Collects the work of an instant, and does it when nothing else is left to do at it."""

    def __init__(self, env: Agenda) -> None:
        self._env = env
        self._jobs: list[Job] = []
        self._solver = BatchSolver()

    def see_through(self, work: Work) -> Job:
        """Take on an agent's work; what to wait for."""
        if not self._jobs:
            Moment(self._env, self._env.now, SOLVING).callbacks.append(self._open)
        job = Job(self._env, work)
        self._jobs.append(job)
        return job

    def _open(self, _moment: SimEvent) -> None:
        jobs, self._jobs = self._jobs, []
        for first in range(0, len(jobs), BATCH):
            batch = jobs[first : first + BATCH]
            for job, outcome in zip(batch, see_through([job.work for job in batch], self._solver), strict=True):
                job.end(outcome)


def see_through(works: Sequence[Work], solver: BatchSolver) -> list[Proposal]:
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
