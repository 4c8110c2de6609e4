"""[compute]: how long an agent's local work takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from pydantic import Field

from simnet.network.latency import NO_TIME, AnyDuration
from simnet.parts.fields import Finder, Seconds
from simnet.parts.part import Section
from simnet.streams import Streams

WorkTime = Callable[[int], float]
"""How long one round's work takes, from the number of gradients that it needed."""


class Compute(Section):
    """How long local work takes."""

    time: AnyDuration = Field(NO_TIME, description="time of one round's local work")
    per_gradient: Seconds = Field(0.0, description="and this for each gradient that the solver evaluates")

    def read(self, find: Finder) -> Self:
        """The same with the file that it names in memory."""
        return self.model_copy(update={"time": self.time.read(find)})

    def for_agent(self, streams: Streams, agent: int) -> WorkTime:
        """The times of one agent, by its own stream."""
        time, each = self.time, self.per_gradient
        value = time.constant
        if value is not None:
            return (lambda gradients: value + each * gradients) if each else (lambda gradients: value)
        rng = streams.generator("compute", agent)
        return lambda gradients: float(time.draw(rng, 1)[0]) + each * gradients
