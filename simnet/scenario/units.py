"""Quantities with units: "20 ms", "10 Mbit/s", "64 KiB".

Everything inside simnet is in seconds, bytes and bits a second; a plain number is already in that unit.
"""

from __future__ import annotations

import re

SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {
    "B": 1.0,
    "kB": 1e3,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 1024.0,
    "MiB": 1024.0**2,
    "GiB": 1024.0**3,
}
BITS_PER_SECOND = {
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "Gbit/s": 1e9,
    "bps": 1.0,
    "kbps": 1e3,
    "Mbps": 1e6,
    "Gbps": 1e9,
    "B/s": 8.0,
    "kB/s": 8e3,
    "MB/s": 8e6,
    "GB/s": 8e9,
}

_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s].*?)?\s*")


def quantity(text: str, units: dict[str, float]) -> float:
    """The value of `text` in the base unit of `units`.

    >>> quantity("20 ms", SECONDS)
    0.02
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or (match[2] is not None and match[2] not in units):
        raise ValueError(f"a number with one of the units {', '.join(units)}")
    return float(match[1]) * units[match[2]] if match[2] else float(match[1])
