"""[network.inbox]: an agent's own queue of messages that have arrived and are taken in one after another."""

from __future__ import annotations

from collections import deque
from math import inf

from pydantic import Field

from simnet.parts.fields import Seconds, Whole
from simnet.parts.part import Section


class Intake(Section):
    """What arrives at an agent and has not been taken in yet."""

    service: Seconds = Field(0.0, description="time to take in a message, one after another")
    capacity: Whole | None = Field(None, description="messages that may wait; unlimited when absent")

    def inbox(self) -> Inbox | None:
        """The queue of one agent; None if messages are taken in at once."""
        return Inbox(self.service, self.capacity) if self.service else None


class Inbox:
    """Takes `service` seconds per message; at most `capacity` messages wait behind the one being taken in."""

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
