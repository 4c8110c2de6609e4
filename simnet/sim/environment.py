"""SimPy's environment with a queue for a large network.

SimPy keeps all events in one heap. In a large network nearly all of them are messages on their way, and a heap of tens
of thousands compares each with many others. Here most of them are sorted instead, many at a time. What that buys stands
in docs/performance.md, "What each trick buys":

    _due      the next events, sorted, the first of them last: there they are taken away one by one
    _late     a heap: what was scheduled among those that are due already
    _later    everything else

All of `_due` and `_late` is before `_horizon`, all of `_later` is not. When nothing else is left, `_later` is sorted
and its first part becomes due. The order of events is SimPy's: time, priority, order of scheduling.

Nothing else is different. `schedule`, `peek`, `step` and `now` are all that touches the queue or the clock, and SimPy's
own tests pass on it, but for one that looks for the name of SimPy's file in a traceback
(`tests/sim/test_simpy_suite.py`).
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from math import inf, nextafter
from operator import itemgetter
from typing import cast

import simpy
from simpy.core import EmptySchedule, StopSimulation
from simpy.events import NORMAL, URGENT, EventPriority

Entry = tuple[float, int, int, simpy.Event]
"""Time, priority, number, event."""

SHARE = 2
"""One in so many of what is left becomes due: with more at once more would come late, with less it is sorted more
often."""
FEW = 64
"""At least so many become due."""


_time = itemgetter(0)


class Environment(simpy.Environment):
    """A `simpy.Environment` that stays quick with many events in its queue."""

    now: float = 0.0
    """Simulated time. SimPy's is a property, which takes three times as long to read."""

    def __init__(self, initial_time: float = 0) -> None:
        super().__init__(initial_time)
        self.now = initial_time
        self._numbers = count()
        self._due: list[Entry] = []
        self._late: list[Entry] = []
        self._later: list[Entry] = []
        self._horizon = -inf

    def schedule(self, event: simpy.Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """Let an event happen after a delay."""
        time = self.now + delay
        entry = (time, priority, next(self._numbers), event)
        if time < self._horizon:
            heappush(self._late, entry)
        else:
            self._later.append(entry)

    def peek(self) -> float:
        """The time of the next event; infinite if there is none."""
        if not self._due:
            self._advance()
        return min((queue[place][0] for queue, place in ((self._due, -1), (self._late, 0)) if queue), default=inf)

    def step(self) -> None:
        """Let the next event happen; an `EmptySchedule` if there is none."""
        due, late = self._due, self._late
        if late and not (due and due[-1] < late[0]):
            self.now, _, _, event = heappop(late)
        elif due or self._advance():
            self.now, _, _, event = due.pop()
        else:
            raise EmptySchedule
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        try:
            for callback in callbacks:
                callback(event)
        except StopSimulation:
            # `run` ends here; those who were not called yet are called when it goes on.
            event.callbacks = callbacks[callbacks.index(callback) + 1 :]
            self.schedule(event, EventPriority(URGENT - 1))
            raise
        if not event.ok and not event.defused:
            failure = cast(Exception, event.value)
            raise type(failure)(*failure.args) from failure

    def _advance(self) -> bool:
        """Make the first part of what comes later due; False if there is none."""
        later = self._later
        if later:
            # By time alone first, which compares floats and nothing else; that leaves little for the second sort.
            later.sort(key=_time, reverse=True)
            later.sort(reverse=True)
            first = max(0, len(later) - max(FEW, len(later) // SHARE))
            # What happens at one time becomes due together: the horizon must tell what comes late from what does not.
            while first and later[first - 1][0] == later[first][0]:
                first -= 1
            self._due += later[first:]
            del later[first:]
            self._horizon = nextafter(self._due[0][0], inf)
        return bool(self._due)
