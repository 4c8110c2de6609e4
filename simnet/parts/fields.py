"""The types of scenario fields, each with the words that say what would be right.

A field type is a check with a `what`, which appears both in error messages and in the generated scenario reference, so
the two never disagree; a choice among words is pydantic's `Literal`.

A quantity may have a unit: "20 ms", "10 Mbit/s", "64 KiB". Everything inside simnet is in seconds, bytes and bits per
second, and a plain number is already in that unit. Units are decimals, so that "35 us" is the same number as 35e-6 and
not its neighbour.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator


def _table(units: Mapping[str, str]) -> dict[str, Decimal]:
    return {unit: Decimal(size) for unit, size in units.items()}


SECONDS = _table(
    {
        "ns": "1e-9",
        "us": "1e-6",
        "\N{MICRO SIGN}s": "1e-6",
        "\N{GREEK SMALL LETTER MU}s": "1e-6",
        "ms": "1e-3",
        "s": "1",
        "min": "60",
        "h": "3600",
        "d": "86400",
    }
)
BYTES = _table(
    {
        "B": "1",
        "kB": "1e3",
        "KB": "1e3",
        "MB": "1e6",
        "GB": "1e9",
        "KiB": "1024",
        "MiB": "1048576",
        "GiB": "1073741824",
    }
)
BITS_PER_SECOND = _table(
    {
        "bit/s": "1",
        "kbit/s": "1e3",
        "Mbit/s": "1e6",
        "Gbit/s": "1e9",
        "bps": "1",
        "kbps": "1e3",
        "Mbps": "1e6",
        "Gbps": "1e9",
        "B/s": "8",
        "kB/s": "8e3",
        "MB/s": "8e6",
        "GB/s": "8e9",
    }
)

PERCENT = _table({"%": "0.01"})

_QUANTITY = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9.].*?)?\s*")


def quantity(text: str, units: Mapping[str, Decimal]) -> float:
    """The value of `text` in the base unit of `units`.

    >>> quantity("20 ms", SECONDS)
    0.02
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or (match[2] or "") not in {"", *units}:
        raise ValueError(f"a number with one of the units {', '.join(units)}")
    try:
        return float(Decimal(match[1]) * units.get(match[2], Decimal(1)))
    except DecimalException:  # an exponent beyond reason
        raise ValueError("a number of a reasonable size") from None


@dataclass(frozen=True, eq=False)
class Number:
    """Accepts a finite number (or a quantity with units) within bounds; says `what` it wants otherwise."""

    what: str
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    whole: bool = False
    units: Mapping[str, Decimal] | None = None
    least: float = 0.0
    """of the numbers above 0; `what` leaves it out because nobody comes near it"""

    def __call__(self, value: object) -> float | int:
        number = self._number(value)
        if number > self.high or (number == self.high and self.open_high) or number == math.inf:
            raise ValueError(self.what + self._limit())
        if 0 < number < self.least:
            raise ValueError(f"{self.what}, and at least {self.least:g}")
        inside = number > self.low or (number == self.low and not self.open_low)
        if not inside or number == -math.inf or (self.whole and number != int(number)):
            raise ValueError(self.what)
        return int(number) if self.whole else float(number)

    def _number(self, value: object) -> float | int:
        if isinstance(value, str) and self.units:
            try:
                return quantity(value, self.units)
            except ValueError:
                raise ValueError(self.what) from None
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ValueError(self.what)
        if self.whole and isinstance(value, Integral):
            return int(value)
        try:
            return float(value)
        except OverflowError:  # an integer of hundreds of digits
            return math.inf if value == abs(value) else -math.inf

    def _limit(self) -> str:
        """The upper bound, where `what` leaves it out because nobody comes near it."""
        if self.high <= 1:
            return ""
        if self.high == math.inf:
            return ", and finite"
        return f", and at most {self.high:,.0f}" if self.whole or self.high < 1e15 else f", and at most {self.high:g}"


@dataclass(frozen=True)
class Text:
    """Accepts one line of text that is not blank."""

    what: str

    def __call__(self, value: object) -> str:
        if not isinstance(value, str) or not value.strip() or any(map(_breaks_a_line, value)):
            raise ValueError(self.what)
        return str(value)


@dataclass(frozen=True)
class YesNo:
    """Accepts true and false, and nothing that only looks like them."""

    what: str

    def __call__(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise ValueError(self.what)
        return value


@dataclass(frozen=True)
class Either:
    """Accepts what one of several checks accepts."""

    what: str
    checks: tuple[Callable[[Any], Any], ...]

    def __call__(self, value: object) -> Any:
        for check in self.checks:
            try:
                return check(value)
            except ValueError:
                continue
        raise ValueError(self.what)


@dataclass(frozen=True)
class OneOrSeveral:
    """Accepts what a check of numbers accepts, or a list of at least one such."""

    what: str
    check: Number

    def __call__(self, value: object) -> Any:
        if isinstance(value, list | tuple) and value:
            return tuple(self.check(each) for each in value)
        if isinstance(value, Real):
            return self.check(value)
        raise ValueError(self.what)


@dataclass(frozen=True)
class NamesFile:
    """Marks a text field that names a file which the part reads: `Section.files` finds it by this mark."""


class FrozenTable(dict[str, Any]):
    """A table that can be hashed, as the rest of a scenario can."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(json.dumps(self, sort_keys=True, default=str))


Finder = Callable[[str], Path]
"""Says where a file is that a scenario names."""


def _breaks_a_line(char: str) -> bool:
    """Control characters, line separators, and what cannot be written as UTF-8."""
    return unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs")


_TIME = 'a time such as 0.02 or "20 ms"'
_LINE = Text("a line of text, not blank")
_INTEGER = Number("a whole number", -(2**53), 2**53, whole=True)
_FINITE = Number("a number")
_SMALL, _LARGE = 1e-30, 1e30
"""Nobody means a number beyond these, and arithmetic can hold the products and squares of those within."""

_SHARE = Number(
    "a share lies strictly between 0 and 1", 0, 1, open_low=True, open_high=True, least=_SMALL, units=PERCENT
)
Probability = Annotated[float, BeforeValidator(Number("a probability lies between 0 and 1", 0, 1, units=PERCENT))]
Share = Annotated[float, BeforeValidator(_SHARE)]
PositiveShare = Annotated[
    float, BeforeValidator(Number("a share above 0 and at most 1", 0, 1, open_low=True, least=_SMALL, units=PERCENT))
]
_POSITIVE = Number("a number above 0", 0, _LARGE, open_low=True, least=_SMALL)
Positive = Annotated[float, BeforeValidator(_POSITIVE)]
PositiveOrSeveral = Annotated[
    float | tuple[float, ...], BeforeValidator(OneOrSeveral("a number above 0, or a list of such numbers", _POSITIVE))
]
NonNegative = Annotated[float, BeforeValidator(Number("a number of at least 0", 0, _LARGE))]
Growth = Annotated[float, BeforeValidator(Number("a factor per round, from 0.001 to 1000", 1e-3, 1e3))]
Count = Annotated[int, BeforeValidator(Number("a whole number of at least 1", 1, 2**53, whole=True))]
Whole = Annotated[int, BeforeValidator(Number("a whole number of at least 0", 0, 2**53, whole=True))]
Seconds = Annotated[float, BeforeValidator(Number(f"{_TIME}, at least 0", 0, 1e12, units=SECONDS))]
PositiveSeconds = Annotated[
    float, BeforeValidator(Number(f"{_TIME}, above 0", 0, 1e12, open_low=True, least=1e-9, units=SECONDS))
]
_RATE = 'a bit rate such as 1e7 or "10 Mbit/s", above 0'
BIT_RATE = Number(_RATE, 0, 1e18, open_low=True, least=1e-6, units=BITS_PER_SECOND)
Bandwidth = Annotated[float, BeforeValidator(BIT_RATE)]
Size = Annotated[
    int,
    BeforeValidator(Number('a size in whole bytes such as 65536 or "64 KiB"', 1, 2**53, whole=True, units=BYTES)),
]
Name = Annotated[str, BeforeValidator(_LINE)]
FileName = Annotated[str, BeforeValidator(_LINE), NamesFile()]
Column = Annotated[
    str | int, BeforeValidator(Either("a column's name, or its index as a whole number", (_LINE, _INTEGER)))
]
Label = Annotated[str | int | float, BeforeValidator(Either("a text or a number", (_LINE, _INTEGER, _FINITE)))]
Switch = Annotated[bool, BeforeValidator(YesNo("true or false"))]
