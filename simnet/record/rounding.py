"""Rounding that makes model-derived numbers the same on every machine.

Another BLAS or CPU changes the last bits of a matrix product. Eight significant digits are far above those bits and far
below anything a study reports. A number that is small because larger ones cancel, like a residual or a drift, carries
the noise of the larger ones: nothing is kept below 1e-12.
"""

from __future__ import annotations

import base64
import math
from binascii import a2b_base64

import numpy as np
import numpy.typing as npt

DIGITS = 8
PLACES = 12


def sig(x: float) -> float:
    """`x` to eight significant digits, and to no more than twelve places.

    >>> sig(0.123456789123)
    0.12345679
    >>> sig(4.39016882e-07)
    4.39017e-07
    >>> sig(-3e-17)
    0.0
    """
    if not math.isfinite(x):
        return x
    if abs(x) < 10.0 ** (DIGITS - PLACES):
        return round(x, PLACES) + 0.0  # no negative zero
    return float(f"{x:.{DIGITS - 1}e}")


def pack(value: npt.NDArray[np.float64]) -> str:
    """A vector as text: little-endian float64 in base64."""
    return base64.b64encode(np.ascontiguousarray(value, dtype="<f8").tobytes()).decode("ascii")


def unpack(text: str) -> npt.NDArray[np.float64]:
    """The vector behind `pack`; ValueError if it is none."""
    return np.frombuffer(a2b_base64(text, strict_mode=True), dtype="<f8").astype(np.float64, copy=False)


def canonical_vector(text: str) -> bytes:
    """A packed vector rounded to eight digits of its largest entry: what enters the digest.

    It is `length:exponent:` and the entries as little-endian int32 counts of 10^exponent; a vector without a finite
    largest entry is `length:` and that entry's name.
    """
    value = unpack(text)
    if value.size == 0:
        return b"0:"
    largest = max(float(value.max()), -float(value.min()))
    if not math.isfinite(largest):
        return b"%d:%r" % (value.size, largest)
    if largest < 10.0**-PLACES:
        return b"%d:0" % value.size
    exponent = math.floor(math.log10(largest)) - (DIGITS - 1)
    counts = np.rint(value / 10.0**exponent).astype("<i4")
    return b"%d:%d:" % (value.size, exponent) + counts.tobytes()
