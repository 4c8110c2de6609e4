"""Quantities with units: "20 ms", "10 Mbit/s", "64 KiB".

Everything inside simnet is in seconds, bytes and bits per second; a plain number is already in that unit.
Units are decimals, so that "35 us" is the same number as 35e-6 and not its neighbour.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, DecimalException


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
