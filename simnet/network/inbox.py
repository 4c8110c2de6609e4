"""An agent's own queue: messages that have arrived and are taken in one after another."""

from __future__ import annotations

from collections import deque
from math import inf


class Inbox:
    """Takes `service` seconds a message; at most `capacity` messages wait behind the one being taken in."""

    __slots__ = ("_busy_until", "_capacity", "_service", "_starts")

    def __init__(self, service: float, capacity: int | None) -> None:
        self._service = service
        self._capacity = inf if capacity is None else capacity
        self._starts: deque[float] = deque()
        self._busy_until = -inf

    def admit(self, now: float) -> float:
        """When a message that arrives now has been taken in; infinite if there is no room for it."""
        starts = self._starts
        while starts and starts[0] <= now:
            starts.popleft()
        start = max(now, self._busy_until)
        if start > now:
            if len(starts) >= self._capacity:
                return inf
            starts.append(start)
        self._busy_until = start + self._service
        return self._busy_until
