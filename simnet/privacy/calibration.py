"""The least noise that meets a target: a monotone search, for everybody without a closed form."""

from __future__ import annotations

import math
from collections.abc import Callable

import scipy

from simnet.errors import BudgetError

_SMALLEST, _LARGEST = 1e-12, 1e12


def smallest_scale(loss_of_scale: Callable[[float], float], target: float, part: str) -> float:
    """The smallest scale, to nine digits, at which a decreasing loss is at most `target`; never above it.

    `part` names what no noise can reduce, for the sentence that says that the target cannot be met.
    """
    if not target > 0.0:
        raise BudgetError(f"epsilon = {target}: it must be above 0")
    low = high = 1.0
    while loss_of_scale(high) > target:
        low, high = high, high * 8.0
        if high > _LARGEST:
            raise BudgetError(
                f"ε = {target:g} cannot be met: {part} alone costs ε = {loss_of_scale(_LARGEST):.4g} "
                "however much noise is added; a target above that would fit"
            )
    while loss_of_scale(low) <= target:
        low, high = low / 8.0, low
        if low < _SMALLEST:
            return high
    root = scipy.optimize.brentq(
        lambda x: _bounded(loss_of_scale(math.exp(x))) - target, math.log(low), math.log(high), xtol=1e-10
    )
    scale = math.exp(root)
    nudge = 1e-10
    while loss_of_scale(scale) > target:
        scale *= 1.0 + nudge
        nudge *= 2.0
    return scale


def _bounded(loss: float) -> float:
    """brentq needs finite values; beyond this only the sign matters."""
    return min(loss, 1e6)
