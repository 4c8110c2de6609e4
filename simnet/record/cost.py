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

    def total(self, wire_bytes: int, messages: int, seconds: float) -> float:
        """What all agents together have to pay."""
        return self.per_byte * wire_bytes + self.per_message * messages + self.per_second * seconds


class Energy(Prices):
    """Prices in joules."""


class Money(Prices):
    """Prices in a currency."""


class Cost(Section):
    """Totals appear in the summary when set."""

    energy: Energy | None = Field(None, description="prices in joules")
    money: Money | None = Field(None, description="prices in a currency")

    def totals(self, wire_bytes: int, messages: int, seconds: float) -> dict[str, float]:
        """The price of a run by each list of prices that is set."""
        lists = {"energy": self.energy, "money": self.money}
        return {name: prices.total(wire_bytes, messages, seconds) for name, prices in lists.items() if prices}
