"""Which settings nobody beats."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def front(points: Sequence[Sequence[float | None]]) -> list[int]:
    """The places of those points that no other is at least as small as in every coordinate and smaller in one.

    None is worse than every number: an ε that no proof bounds. Numbers are compared to six digits: calibration meets
    the same ε with two methods only to nine or ten.
    """
    table = np.array([[_rounded(value) for value in point] for point in points], dtype=np.float64)
    found = []
    for place, point in enumerate(table):
        as_small, smaller = (table <= point).all(axis=1), (table < point).any(axis=1)
        if not (as_small & smaller).any():
            found.append(place)
    return found


def _rounded(value: float | None) -> float:
    return math.inf if value is None else float(f"{value:.5e}")
