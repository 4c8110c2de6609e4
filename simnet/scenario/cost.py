"""[cost]: what a run costs beside bytes and time, in any unit."""

from __future__ import annotations

from pydantic import Field

from simnet.parts.fields import NonNegative
from simnet.parts.part import Section


class Prices(Section):
    """Prices of what an agent does."""

    per_byte: NonNegative = Field(0.0, description="for a byte on the wire")
    per_message: NonNegative = Field(0.0, description="for a message, acknowledgements and repetitions included")
    per_second: NonNegative = Field(0.0, description="for a second of local work")


class Energy(Prices):
    """Prices in joules."""


class Money(Prices):
    """Prices in a currency."""


class Cost(Section):
    """Totals appear in the summary when set."""

    energy: Energy | None = Field(None, description="prices in joules")
    money: Money | None = Field(None, description="prices in a currency")
