"""Large local problems, solved in this process and in workers at once.

Whoever is free takes the next problem, so who solves what depends on how fast they are. The solutions do not: what a
solver has learned travels with its problem, and the problem, the objective and what was learned give the same solution
wherever they meet. So sharing changes no number of a run, only its time.

An agent's work is underway from the moment at which the agent begins its round. Nothing waits for it before the agent
says what came of it, which is later in simulated time if work takes time. Until then the run goes on; this process
joins in when there is nothing else that it could do.

Problems are taken by turns: first the first of all agents that began at one instant, then the second. So the last one
to be solved is a single problem, and not an agent's whole work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from typing import Any
from weakref import WeakSet

from simnet.diagnostics import tell
from simnet.learning.row_objective import Objective
from simnet.learning.solver import Problem, Solution, Solver
from simnet.methods.peer import Proposal, Request, Work
from simnet.sim.desk import Desk
from simnet.sim.workers import QUEUE, Worker, WorkerEnded, first_ready, usable

LARGE = 2**12
"""Numbers that a gradient is made of: with fewer, to ask for a solution takes as long as to find it."""


Stage = tuple[int, int, bool, int]
"""Of work: when it began, how many problems were solved before this one, whether this one is, and its place among those
that began with it."""


class Underway:
    """Local work whose problems are large, from its first problem on."""

    def __init__(self, work: Work, problem: Problem, stage: Stage, shared: SharedSolves) -> None:
        self.problem, self.stage = problem, stage
        self.found: Proposal | None = None
        self.error: Exception | None = None
        self._work, self._shared = work, shared

    @property
    def done(self) -> bool:
        return self.found is not None or self.error is not None

    @property
    def gradients(self) -> int:
        """How many it has cost, as soon as that is known."""
        return self.outcome().gradients

    def outcome(self) -> Proposal:
        """What comes of it, as soon as that is known."""
        return self._shared.outcome(self)

    def go_on(self, answer: Any) -> bool:
        """Go on with the answer to the last problem; whether there is another one."""
        instant, turn, _, place = self.stage
        self.stage = instant, turn, True, place
        try:
            while True:
                request: Request = self._work.send(answer)
                if isinstance(request, Problem):
                    self.problem, self.stage = request, (instant, turn + 1, False, place)
                    return True
                answer = request.answer()
        except StopIteration as end:
            self.found = end.value
        except Exception as error:
            self.error = error
        return False


class SharedSolves:
    """Solves large problems on so many cores; nothing is forked before there are two solvers of such."""

    def __init__(self, workers: int) -> None:
        self._most = usable(workers) - 1
        self._workers: list[Worker] = []
        self._asked: dict[Worker, deque[Underway]] = {}
        self._met: WeakSet[Solver] = WeakSet()
        """All solvers of large problems that are still there."""
        self._desks: dict[int, Desk] = {}
        """Of those that workers know, by their identities."""
        self._outdated = False
        """Whether a solver that workers do not know has come back."""
        self._waiting: list[tuple[Stage, Underway]] = []
        self._own: list[tuple[Stage, Underway]] = []
        """Those with solvers that workers do not know."""
        self._open: dict[Underway, None] = {}

    def begin(self, work: Work, instant: int, place: int) -> Proposal | Underway | Work:
        """Begin work: what came of it, itself underway if its first problem is large, or the work as it stands."""
        try:
            request = work.send(None)
        except StopIteration as end:
            found: Proposal = end.value
            return found
        if not isinstance(request, Problem) or not large(request.solver.objective):
            return _begun(work, request)
        underway = Underway(work, request, (instant, 0, False, place), self)
        self._open[underway] = None
        self._offer(underway)
        return underway

    def all_have_begun(self) -> None:
        """Nobody else begins at this instant: time to see whether there are the workers that there should be."""
        unknown = len(self._own) > 0 and (self._outdated or not self._workers)
        if self._most and unknown and len(self._met) > 1:
            self._fork()

    def outcome(self, underway: Underway) -> Proposal:
        """What comes of work; if it fails, the first error among those who began when it did."""
        self._see_through(underway)
        if underway.found is None:
            raise self._first_error(underway.stage[0])
        self._open.pop(underway, None)
        return underway.found

    def _first_error(self, instant: int) -> Exception:
        """What would have been met first without sharing."""
        together = [each for each in self._open if each.stage[0] == instant]
        for each in together:
            self._see_through(each)
        _, error = min((each.stage, each.error) for each in together if each.error is not None)
        return error

    def settle(self) -> None:
        """See everything through, as if it had been done when it was begun."""
        for underway in [*self._open]:
            self.outcome(underway)

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.stop()
        self._workers = []

    def _see_through(self, underway: Underway) -> None:
        while not underway.done:
            self._take_in()
            self._hand_out(1)
            if underway.done:
                break
            if self._own or self._waiting:
                self._join_in()
            else:
                self._take_one(first_ready([worker for worker in self._workers if worker.asked]))

    def _offer(self, underway: Underway) -> None:
        """Let whoever is free first solve a problem."""
        solver = underway.problem.solver
        known = id(solver) in self._desks
        self._outdated |= not known and solver in self._met
        self._met.add(solver)
        heappush(self._waiting if known else self._own, (underway.stage, underway))
        # This process will be free soon: one problem stays for it, unless a worker has nothing to do.
        self._take_in()
        self._hand_out(1)
        self._hand_out(QUEUE, leave=1)

    def _fork(self) -> None:
        """Fork workers that know all solvers that have been met, in place of those that know fewer."""
        old, self._workers = self._workers, []
        for worker in old:
            while worker.asked:
                self._take_one(worker)
            worker.stop()
        desks = [Desk(number, solver) for number, solver in enumerate(self._met)]
        self._desks = {id(desk.solver): desk for desk in desks}
        self._asked = {}
        self._waiting, self._own, self._outdated = sorted(self._waiting + self._own), [], False
        for _ in range(min(self._most, len(desks) - 1)):
            worker = Worker(lambda request: desks[request[0]].solve(*request[1:]))
            self._workers.append(worker)
            self._asked[worker] = deque()
        tell("workers forked", workers=len(self._workers))
        self._hand_out(1)

    def _hand_out(self, most: int, leave: int = 0) -> None:
        """Give each worker so many problems, as long as so many are left."""
        for worker in self._workers:
            while worker.asked < most and len(self._waiting) > leave:
                _, underway = heappop(self._waiting)
                worker.ask(self._desks[id(underway.problem.solver)].request(underway.problem, worker))
                self._asked[worker].append(underway)

    def _take_in(self) -> None:
        """Go on with what workers have solved."""
        for worker in self._workers:
            while worker.ready:
                self._take_one(worker)

    def _take_one(self, worker: Worker) -> None:
        try:
            told = worker.take()
        except WorkerEnded:
            raise
        except Exception as error:
            self._asked[worker].popleft().error = error
        else:
            underway = self._asked[worker].popleft()
            self._go_on(underway, self._desks[id(underway.problem.solver)].solution(worker, *told))

    def _join_in(self) -> None:
        """Solve the next problem here."""
        own = not self._waiting or (self._own and self._own[0] < self._waiting[0])
        _, underway = heappop(self._own if own else self._waiting)
        self._hand_out(2)
        try:
            solution = underway.problem.answer()
        except Exception as error:
            underway.error = error
        else:
            self._go_on(underway, solution)

    def _go_on(self, underway: Underway, solution: Solution) -> None:
        if underway.go_on(solution):
            self._offer(underway)


def _begun(work: Work, request: Request) -> Work:
    """Work that is at its first request."""
    while True:
        answer = yield request
        try:
            request = work.send(answer)
        except StopIteration as end:
            found: Proposal = end.value
            return found


@contextmanager
def sharing(objectives: Iterable[Objective], workers: int) -> Iterator[SharedSolves | None]:
    """The sharing of a run's large problems between so many processes; None if there is nothing to share."""
    if usable(workers) == 1 or sum(map(large, objectives)) < 2:
        yield None
        return
    shared = SharedSolves(workers)
    try:
        yield shared
        shared.settle()
    finally:
        shared.close()


def large(objective: Objective) -> bool:
    """Whether its problems are shared: they are not solved in batches, and take long enough."""
    return objective.batch_key is None and objective.stored >= LARGE
