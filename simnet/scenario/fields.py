"""The types of scenario fields, each with the words that say what would be right.

A field type is a `Number` (or `Choice`, which pydantic knows as `Literal`); its `what` appears both in error messages
and in the generated scenario reference, so the two never disagree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from simnet.scenario.units import BITS_PER_SECOND, BYTES, SECONDS, quantity


class Section(BaseModel):
    """A table of the scenario file: no unknown fields, nothing changes after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)


@dataclass(frozen=True)
class Number:
    """Accepts a finite number (or a quantity with units) within bounds; says `what` it wants otherwise."""

    what: str
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    whole: bool = False
    units: tuple[tuple[str, float], ...] = ()

    def __call__(self, value: Any) -> float | int:
        if isinstance(value, str) and self.units:
            try:
                value = quantity(value, dict(self.units))
            except ValueError:
                raise ValueError(self.what) from None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(self.what)
        if self.whole and value != int(value):
            raise ValueError(self.what)
        below = value <= self.low if self.open_low else value < self.low
        above = value >= self.high if self.open_high else value > self.high
        if below or above:
            raise ValueError(self.what)
        return int(value) if self.whole else float(value)


@dataclass(frozen=True)
class Text:
    """Accepts a non-empty string."""

    what: str

    def __call__(self, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ValueError(self.what)
        return value


def _units(table: dict[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(table.items())


_TIME = 'a time such as 0.02 or "20 ms"'

Probability = Annotated[float, BeforeValidator(Number("a probability lies between 0 and 1", 0, 1))]
Share = Annotated[
    float,
    BeforeValidator(Number("a share lies strictly between 0 and 1", 0, 1, open_low=True, open_high=True)),
]
Positive = Annotated[float, BeforeValidator(Number("a number above 0", 0, open_low=True))]
NonNegative = Annotated[float, BeforeValidator(Number("a number of at least 0", 0))]
Count = Annotated[int, BeforeValidator(Number("a whole number of at least 1", 1, 2**53, whole=True))]
Whole = Annotated[int, BeforeValidator(Number("a whole number of at least 0", 0, 2**53, whole=True))]
Seconds = Annotated[float, BeforeValidator(Number(f"{_TIME}, at least 0", 0, 1e12, units=_units(SECONDS)))]
PositiveSeconds = Annotated[
    float, BeforeValidator(Number(f"{_TIME}, above 0", 0, 1e12, open_low=True, units=_units(SECONDS)))
]
Bandwidth = Annotated[
    float,
    BeforeValidator(
        Number('a bit rate such as 1e7 or "10 Mbit/s", above 0', 0, open_low=True, units=_units(BITS_PER_SECOND))
    ),
]
Size = Annotated[
    int,
    BeforeValidator(
        Number('a size in whole bytes such as 65536 or "64 KiB"', 1, 2**53, whole=True, units=_units(BYTES))
    ),
]
Name = Annotated[str, BeforeValidator(Text("a text that is not empty"))]


def yes_or_no(value: Any) -> bool:
    """Accepts true and false, and nothing that only looks like them."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


Switch = Annotated[bool, BeforeValidator(yes_or_no)]
