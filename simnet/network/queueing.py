"""What may wait for a line, and what is turned away.

The rule, exactly. A packet waits while its first bit has not left; the packet on the line does not count. `limit` is
how much may wait, in packets or in bytes with overhead. A message is admitted whole or not at all (early packet
discard, Romanow & Floyd 1995): it enters if those of its packets that have to wait, together with all that waits
already, stay within the limit. What is due to start or end at exactly the moment of the question has done so.

A system of K places in which the packet on the line counts (M/M/1/K, `Port(qlimit=K)` of ns.py) has the limit K − 1.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from simnet.network.draws import one_by_one, uniform
from simnet.parts.fields import NonNegative, Positive, Probability, Whole
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
