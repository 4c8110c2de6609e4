"""Bytes and seconds for people: with the unit that suits their size."""

from __future__ import annotations

from collections.abc import Iterable

_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def told_bytes(count: float) -> str:
    """
    >>> told_bytes(259_800), told_bytes(1_494_000), told_bytes(12)
    ('259.8 kB', '1.494 MB', '12 B')
    """
    size, unit = next((each for each in _BYTES if count >= each[0]), _BYTES[-1])
    return f"{count / size:.4g} {unit}"


def byte_unit(counts: Iterable[float]) -> tuple[float, str]:
    """The unit of a column: the largest of which even the least of them has one.

    >>> byte_unit([1_940_000, 3_000_000]), byte_unit([3_400, 3_000_000]), byte_unit([0])
    ((1000000.0, 'MB'), (1000.0, 'kB'), (1.0, 'B'))
    """
    least = min((count for count in counts if count > 0), default=0.0)
    return next((each for each in _BYTES if least >= each[0]), _BYTES[-1])


def told_seconds(time: float) -> str:
    """
    >>> told_seconds(6.0), told_seconds(0.00042), told_seconds(0.0)
    ('6.000 s', '0.42 ms', '0.000 s')
    """
    return f"{1e3 * time:.3g} ms" if 0.0 < time < 0.01 else f"{time:.3f} s"


def in_digits(value: float, digits: int = 4) -> str:
    """So many digits, and more where there is no way round it but a power of ten.

    >>> in_digits(0.12345), in_digits(12345.6), in_digits(12345.6, 2)
    ('0.1235', '12,346', '12,346')
    """
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"
