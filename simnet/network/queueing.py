"""What may wait for a line, what may wait at an agent that takes its messages in, and what is turned away.

The rule of a line, exactly. A packet waits while its first bit has not left; the packet on the line does not count.
`limit` is how much may wait, in packets or in bytes with overhead. A message is admitted whole or not at all (early
packet discard, Romanow & Floyd 1995): it enters if those of its packets that have to wait, together with all that waits
already, stay within the limit. What is due to start or end at exactly the moment of the question has done so.

A system of K places in which the packet on the line counts (M/M/1/K, `Port(qlimit=K)` of ns.py) has the limit K − 1.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from simnet.network.draws import one_by_one, uniform
from simnet.parts.fields import NonNegative, Positive, Probability, Seconds, Whole
from simnet.parts.part import Section
from simnet.streams import Streams


class Red(Section):
    """Random early detection: some messages are dropped before the queue is full.

    Floyd & Jacobson 1993. The average queue, in the unit of the queue's limit, is compared with two thresholds. Below
    `low` nothing is dropped; between the two the chance grows from 0 to `chance`; from `high` on everything is dropped.
    """

    low: NonNegative = Field(5.0, description="average queue below which nothing is dropped, in the queue's unit")
    high: Positive = Field(15.0, description="average queue from which everything is dropped")
    chance: Probability = Field(0.02, description="chance of a drop just below `high`")
    weight: Probability = Field(0.002, description="share of the newest queue length in the average")

    @model_validator(mode="after")
    def _ordered(self) -> Red:
        if self.low >= self.high:
            raise ValueError(f"low: below high, which is {self.high:g}")
        return self


class Queue(Section):
    """What may wait for the line; a message that does not fit is dropped."""

    limit: Whole | None = Field(
        None, description="how much may wait behind the packet on the line; unlimited if absent"
    )
    unit: Literal["packets", "bytes"] = Field("packets", description="what the limit counts")
    red: Red | None = Field(None, description="drop early, by the average queue; only when full if absent")


def _bare_limit(value: Any) -> Any:
    """A bare number stands for a limit in packets."""
    return {"limit": value} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


AnyQueue = Annotated[Queue, BeforeValidator(_bare_limit)]


class RedState:
    """The average queue at one transmitter, by the algorithm of figure 2 of Floyd & Jacobson."""

    __slots__ = ("_average", "_count", "_model", "_uniforms")

    def __init__(self, model: Red, streams: Streams, name: str) -> None:
        self._model = model
        self._uniforms = one_by_one(streams, "red", name, uniform)
        self._average = 0.0
        self._count = -1  # messages since the last drop; −1 below the lower threshold

    def drops(self, waiting: float, vacant: float) -> bool:
        """Whether to drop a message that finds so much `waiting`.

        `vacant` is how many messages like it could have passed since the line fell idle, 0 if it is busy.
        """
        model = self._model
        u = next(self._uniforms)
        if vacant:
            self._average *= (1 - model.weight) ** vacant
        else:
            self._average += model.weight * (waiting - self._average)
        if self._average < model.low:
            self._count = -1
            return False
        if self._average >= model.high:
            self._count = 0
            return True
        self._count += 1
        p_b = model.chance * (self._average - model.low) / (model.high - model.low)
        # u < p_a = p_b/(1 − count·p_b), which spreads the drops evenly; p_a is 1 once the denominator is spent.
        if u * (1 - self._count * p_b) < p_b:
            self._count = 0
            return True
        return False


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
