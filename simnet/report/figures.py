"""Figures for people."""

from __future__ import annotations

_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def count(value: int) -> str:
    """
    >>> count(1793)
    '1,793'
    """
    return f"{value:,}"


def figure(value: float | None) -> str:
    """Four digits, `–` for none.

    >>> figure(0.38617927), figure(7.42194985), figure(0.99999999907), figure(2.5e-7), figure(None)
    ('0.3862', '7.422', '1.000', '2.500e-07', '–')
    """
    if value is None:
        return "–"
    size = abs(value)
    if value == 0 or 0.001 <= size < 1e5:
        digits = 4 if size < 0.9995 else 3 if size < 10 else 2 if size < 100 else 1
        return f"{value:,.{digits}f}" if value else "0"
    return f"{value:.3e}"


def percent(share: float | None) -> str:
    """
    >>> percent(0.2318)
    '23.2 %'
    """
    return "–" if share is None else f"{100 * share:.1f} %"


def bytes_of(value: int) -> str:
    """
    >>> bytes_of(259800), bytes_of(12)
    ('259.8 kB', '12 B')
    """
    for size, unit in _BYTES:
        if value >= size:
            return f"{value / size:.{1 if value >= 100 * size else 2}f} {unit}"
    return f"{value} B"


def seconds(value: float) -> str:
    """
    >>> seconds(6.0), seconds(0.3512), seconds(7325.0)
    ('6.00 s', '0.35 s', '2 h 02 min')
    """
    if value < 600:
        return f"{value:.2f} s"
    minutes = round(value / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
