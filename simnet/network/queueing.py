"""What may wait for a line, and what is turned away.

The rule, exactly. A packet waits while its first bit has not left; the packet on the line does not count. `limit` is
how much may wait, in packets or in bytes with overhead. A message is admitted whole or not at all (early packet
discard, Romanow & Floyd 1995): it enters if those of its packets that have to wait, together with all that waits
already, stay within the limit. What is due to start or end at exactly the moment of the question has done so.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from simnet.errors import ScenarioError
from simnet.network.checks import not_negative, positive, probability
from simnet.network.draws import one_by_one, uniform
from simnet.streams import Streams


@dataclass(frozen=True)
class Red:
    """Random early detection (Floyd & Jacobson 1993): drop some messages before the queue is full.

    The average queue, in the unit of the queue's limit, is compared with two thresholds. Below `low` nothing is
    dropped; between the two the chance grows from 0 to `chance`; from `high` on everything is dropped. `weight` is the
    share of the newest queue length in the average.
    """

    low: float
    high: float
    chance: float = 0.02
    weight: float = 0.002

    def __post_init__(self) -> None:
        not_negative("queue.red.low", self.low)
        if not self.low < self.high < inf:
            raise ScenarioError(f"queue.red.high = {self.high}: must be greater than queue.red.low = {self.low}")
        probability("queue.red.chance", self.chance)
        probability("queue.red.weight", self.weight)


@dataclass(frozen=True)
class Queue:
    """A queue of at most `limit` packets or bytes (None: any amount); drop-tail, or early detection as well."""

    limit: int | None = None
    unit: Literal["packets", "bytes"] = "packets"
    red: Red | None = None

    def __post_init__(self) -> None:
        if self.limit is not None:
            not_negative("queue.limit", self.limit)
        if self.unit not in ("packets", "bytes"):
            raise ScenarioError(f"queue.unit = {self.unit!r}: must be 'packets' or 'bytes'")

    @classmethod
    def counting_service(cls, places: int) -> Queue:
        """The queue of a system of `places` packets, the one on the line included: M/M/1/K, `Port(qlimit=K)` of ns.py.

        The two differ for one place only: ns.py then drops everything, this queue serves whoever finds the line free.
        """
        positive("queue.limit", places)
        return cls(places - 1)


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
