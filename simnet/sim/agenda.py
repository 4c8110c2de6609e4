"""What is to happen and when: SimPy's environment with a queue for a million events.

SimPy keeps its events in one heap. In a large network nearly all of them are messages on their way, and to take one out
of a heap of a million costs more than all else that is done with it. Here most of them are never in a heap:

    due      the next ones, sorted; from its end they are taken one by one
    late     SimPy's heap: what was scheduled among those that are due already
    fresh    what comes later, in the order in which it was scheduled
    _rest    what comes later, sorted

All of `due` and `late` is before `horizon`, all of `fresh` and `_rest` is not. When nothing is due any more the fresh
ones are sorted into the rest, and its first part is due. When more has come late than is due, the horizon was too far:
it is drawn nearer. The order of events is that of SimPy: time, priority, number.
"""

from __future__ import annotations

from heapq import heappush
from math import inf, nextafter
from operator import itemgetter
from typing import Any

import simpy
from simpy.events import NORMAL

Entry = tuple[float, int, int, *tuple[Any, ...]]
"""Time, priority, number and the event; or whatever else there is to know of it, if it is none of SimPy's."""

SHARE = 4
"""One in so many of what waits becomes due: with more of it at once more would come late, with less it is sorted more
often."""
FEW = 64
"""So many become due at least."""

_time = itemgetter(0)


class Agenda(simpy.Environment):
    """A SimPy environment whose queue stays quick when it is long."""

    def __init__(self) -> None:
        super().__init__()
        self.due: list[Entry] = []
        self.late: list[Entry] = self._queue  # type: ignore[assignment]
        self.fresh: list[Entry] = []
        self.horizon = 0.0
        self._rest: list[Entry] = []

    def plan(self, time: float, priority: int, event: object) -> None:
        """Let an event happen at a point in time."""
        entry = (time, priority, next(self._eid), event)
        if time < self.horizon:
            heappush(self.late, entry)
        else:
            self.fresh.append(entry)

    def schedule(self, event: object, priority: int = NORMAL, delay: float = 0) -> None:
        """Let an event happen after a delay."""
        self.plan(self._now + delay, priority, event)

    def advance(self) -> bool:
        """Make the next part due, once nothing is and nothing came late; False if there is none."""
        rest, fresh = self._rest, self.fresh
        if fresh:
            # By time alone first, which compares floats and nothing else; that leaves little for the second sort.
            fresh.sort(key=_time)
            fresh.reverse()
            rest += fresh
            rest.sort(reverse=True)
            fresh.clear()
        if not rest:
            return False
        self._part(rest)
        return True

    def crowded(self) -> bool:
        """Whether so much has come late that it should be sorted."""
        return len(self.late) > FEW and len(self.late) > len(self.due)

    def retreat(self) -> None:
        """Draw the horizon nearer: what came late is due with the rest of what is, or not yet."""
        soon = self.due + self.late
        soon.sort(reverse=True)
        self.due.clear()
        self.late.clear()
        self._part(soon)
        self._rest += soon

    def _part(self, waiting: list[Entry]) -> None:
        """Make the first of what waits due, and take it out."""
        first = max(0, len(waiting) - max(FEW, len(waiting) // SHARE))
        # What happens at one time is due together, or the horizon would not tell the late from the fresh.
        while first and waiting[first - 1][0] == waiting[first][0]:
            first -= 1
        self.due += waiting[first:]
        del waiting[first:]
        self.horizon = nextafter(self.due[0][0], inf)

    def peek(self) -> float:
        """The time of the next event; infinite if there is none."""
        self._bring()
        return super().peek()

    def step(self) -> None:
        """Let the next event happen."""
        self._bring()
        super().step()

    def _bring(self) -> None:
        """Put the next event where SimPy takes it from."""
        if self.crowded():
            self.retreat()
        if self.late:
            if self.due and self.due[-1] < self.late[0]:
                heappush(self.late, self.due.pop())
        elif self.due or self.advance():
            self.late.append(self.due.pop())
