"""Sees the local work of agents through: the problems of all who begin a round at one instant are solved together.

Who begins at the same instant is a matter of the simulated clock alone, and a problem's solution does not depend on
those that it is solved with (`simnet.learning.together`): the workshop changes no number of a run, only its cost.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import simpy
from simpy.events import Event as SimEvent

from simnet.algorithms.peer import Proposal, Work
from simnet.engines.moments import SOLVING, Moment, Signal
from simnet.learning.solver import Problem
from simnet.learning.together import solve_together

BATCH = 128
"""Agents solved together: enough to share the cost of a call, few enough for their rows to stay in the cache."""


class Job(Signal):
    """Work that an agent waits for."""

    def __init__(self, env: simpy.Environment, work: Work) -> None:
        super().__init__(env)
        self.work = work

    def __await__(self) -> Generator[SimEvent, Any, Proposal]:
        proposal: Proposal = yield self
        return proposal


class Workshop:
    """Collects the work of an instant, and does it when nothing else is left to do at it."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._jobs: list[Job] = []

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
            for job, outcome in zip(batch, see_through([job.work for job in batch]), strict=True):
                job.end(outcome)


def see_through(works: Sequence[Work]) -> list[Proposal]:
    """The outcome of each work, in order; in each turn the problems of all are solved together."""
    outcomes: dict[int, Proposal] = {}
    waiting: dict[int, Problem] = {}

    def go_on(index: int, solution: Any) -> None:
        try:
            waiting[index] = works[index].send(solution)
        except StopIteration as end:
            outcomes[index] = end.value

    for index in range(len(works)):
        go_on(index, None)
    while waiting:
        places, problems = list(waiting), list(waiting.values())
        waiting.clear()
        for index, solution in zip(places, solve_together(problems), strict=True):
            go_on(index, solution)
    return [outcomes[index] for index in range(len(works))]
