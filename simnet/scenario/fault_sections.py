"""[[fault]]: what breaks, when, and for how long."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simnet.parts.fields import Positive, PositiveSeconds, Seconds, Whole
from simnet.parts.part import Section


class _Fault(Section):
    """Once, `at` a time for a `duration`; or again and again, `every` so often on average, exponentially."""

    at: Seconds | None = Field(None, description="when it happens, once")
    every: PositiveSeconds | None = Field(None, description="mean time without it, exponential, again and again")
    duration: PositiveSeconds | None = Field(
        None, description="how long it lasts, with `every` on average, exponentially; for ever when absent"
    )

    @model_validator(mode="after")
    def _has_a_time(self) -> _Fault:
        if (self.at is None) == (self.every is None):
            raise ValueError("at: give either `at` or `every`")
        if self.every is not None and self.duration is None:
            raise ValueError("duration: needed with `every`")
        return self


class Crash(_Fault):
    """An agent stops, and goes on after a while."""

    kind: Literal["crash"]
    agent: Whole = Field(description="which one")
    state: Literal["kept", "lost"] = Field("kept", description="whether model and dual survive; the ledger always does")


class Churn(Section):
    """Every agent is up and down in turns, for exponential times."""

    kind: Literal["churn"]
    up: PositiveSeconds = Field(description="mean time up")
    down: PositiveSeconds = Field(description="mean time down")
    agents: tuple[Whole, ...] = Field((), description="which ones; empty: all")
    state: Literal["kept", "lost"] = Field("kept", description="whether model and dual survive; the ledger always does")


class LinkDown(_Fault):
    """A link carries nothing, in both directions."""

    kind: Literal["link-down"]
    link: tuple[Whole, Whole] = Field(description="the two agents")


class Partition(_Fault):
    """Nothing passes between some agents and all others."""

    kind: Literal["partition"]
    agents: tuple[Whole, ...] = Field(description="the agents of one side")

    @model_validator(mode="after")
    def _splits(self) -> Partition:
        if not self.agents:
            raise ValueError("agents: at least one")
        return self


class Straggler(_Fault):
    """An agent's local work takes longer."""

    kind: Literal["straggler"]
    agent: Whole = Field(description="which one")
    factor: Positive = Field(10.0, description="how many times longer")


Fault = Annotated[Crash | Churn | LinkDown | Partition | Straggler, Field(discriminator="kind")]
