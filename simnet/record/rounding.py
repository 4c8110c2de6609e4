"""Rounding that makes model-derived numbers the same on every machine.

Another BLAS or CPU changes the last bits of a matrix product. Eight significant digits are far above those bits and far
below anything a study reports; magnitudes under 1e-12 are rounding noise themselves and become 0.
"""

from __future__ import annotations

import base64
import math

import numpy as np
import numpy.typing as npt

DIGITS = 8
FLOOR = 1e-12


def sig(x: float) -> float:
    """`x` to eight significant digits.

    >>> sig(0.123456789123)
    0.12345679
    >>> sig(3e-17)
    0.0
    """
    if not math.isfinite(x):
        return x
    return 0.0 if abs(x) < FLOOR else float(f"{x:.{DIGITS - 1}e}")


def pack(value: npt.NDArray[np.float64]) -> str:
    """A vector as text: little-endian float64 in base64."""
    return base64.b64encode(np.ascontiguousarray(value, dtype="<f8").tobytes()).decode("ascii")


def unpack(text: str) -> npt.NDArray[np.float64]:
    """The vector behind `pack`; ValueError if it is none."""
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)


def canonical_vector(text: str) -> str:
    """A packed vector rounded to eight digits of its largest entry, as integers: what enters the digest."""
    value = unpack(text)
    largest = float(np.max(np.abs(value), initial=0.0))
    if largest < FLOOR or not math.isfinite(largest):
        return f"{len(value)}:{largest if largest >= FLOOR else 0.0}"
    exponent = math.floor(math.log10(largest)) - (DIGITS - 1)
    digits = np.rint(value / 10.0**exponent).astype(np.int64)
    return f"{len(value)}:{exponent}:" + ",".join(map(str, digits.tolist()))
