"""Whether a loss of the margin is what it says of itself: its constants, its convexity, its derivative.

ε is computed from L and c1, so a false constant is a false ε. A grid of margins finds most mistakes before anything
runs. What lies between its points is found at the margins that occur: `guarded`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simnet.errors import TaskError
from simnet.learning.objective import Loss
from simnet.vectors import Vector

_NEAR, _FAR = np.linspace(-16.0, 16.0, 2**13 + 1), np.geomspace(16.0, 1e4, 257)[1:]
GRID: Vector = np.concatenate([-_FAR[::-1], _NEAR, _FAR])
"""Margins: every 1/256 where losses bend, and far beyond, where a slope that grows has grown."""
_ROUNDING = 1e-9
"""What a user's own arithmetic may err by, relative to the numbers that it adds."""
_SOME = slice(3, None, 97)
"""Margins that are tried a second time, with fewer others beside them."""
_KINKS = 0.05
"""The share of the grid's steps within which l' may have a kink."""


def check_grid(loss: Loss) -> None:
    """Raise a TaskError if the loss is not convex, not within its constants, or not the integral of its slope."""
    for name in ("lipschitz", "smoothness"):
        if not 0.0 < getattr(loss, name) < np.inf:
            raise TaskError(f"{name} is {getattr(loss, name):g}, and it is a number above 0")
    values, slopes, bends = (_tried(what, getattr(loss, what)) for what in ("value", "slope", "bend"))
    check_slopes(loss, GRID, slopes)
    step, rise = np.diff(GRID), np.diff(values)
    room = _ROUNDING * (1.0 + np.abs(values[1:]) + np.abs(values[:-1]) + loss.lipschitz * step)
    # What is convex, with this derivative, rises by no less than the slope before a step and no more than that after.
    wrong = ~((slopes[:-1] * step <= rise + room) & (rise <= slopes[1:] * step + room))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise TaskError(
            f"slope is not the derivative of value; at the margin {GRID[at]:.4g} the value changes by "
            f"{rise[at] / step[at]:.4g} per unit, and slope says {slopes[at]:.4g}"
        )
    _check_bends(loss, slopes, bends)


def _check_bends(loss: Loss, slopes: Vector, bends: Vector) -> None:
    if bends.min() < 0.0 or bends.max() > loss.smoothness * (1.0 + _ROUNDING):
        worst = bends.min() if bends.min() < 0.0 else bends.max()
        raise TaskError(f"bend reaches {worst:.4g}, and l'' lies between 0 and c1 = {loss.smoothness:g}")
    near = slice(len(_FAR), len(_FAR) + len(_NEAR) - 1)
    change = (np.diff(slopes) / np.diff(GRID))[near]
    low, high = np.minimum(bends[:-1], bends[1:])[near], np.maximum(bends[:-1], bends[1:])[near]
    room = 0.05 * loss.smoothness
    wrong = (change < low - room) | (change > high + room)
    if np.count_nonzero(wrong) > _KINKS * len(wrong):
        at = int(np.argmax(wrong))
        raise TaskError(
            f"bend is not the derivative of slope; at the margin {_NEAR[at]:.4g} the slope changes by "
            f"{change[at]:.4g} per unit, and bend says {bends[near][at]:.4g}"
        )


def check_slopes(loss: Loss, margins: Vector, slopes: Vector) -> None:
    """Raise a TaskError if slopes at these margins are too steep, fall, or rise faster than c1 allows."""
    z, s = margins.ravel(), slopes.ravel()
    steep = ~(np.abs(s) <= loss.lipschitz * (1.0 + _ROUNDING))
    if steep.any():
        at = int(np.nanargmax(np.abs(s))) if np.isfinite(s).all() else int(np.argmax(steep))
        raise TaskError(
            f"|l'| is {abs(s[at]):.4g} at the margin {z[at]:.4g}, and its lipschitz constant is declared "
            f"as {loss.lipschitz:g}; ε would be wrong"
        )
    order = np.argsort(z)
    step, rise = np.diff(z[order]), np.diff(s[order])
    room = _ROUNDING * loss.lipschitz
    if (rise < -room).any():
        at = int(np.argmin(rise))
        raise TaskError(f"it is not convex, l' falls at the margin {z[order][at]:.4g}; no proof covers it")
    fast = rise > loss.smoothness * step * (1.0 + _ROUNDING) + room
    if fast.any():
        at = int(np.argmax(rise - loss.smoothness * step))
        raise TaskError(
            f"l' rises by {rise[at] / step[at]:.4g} per unit at the margin {z[order][at]:.4g}, and its "
            f"smoothness c1 is declared as {loss.smoothness:g}; ε would be wrong"
        )


def guarded(loss: Loss) -> Loss:
    """The same loss, which checks every slope that it is asked for."""

    def slope(z: Vector, out: Vector | None = None) -> Vector:
        try:
            found = _shaped("slope", z, loss.slope(z.copy()))
            check_slopes(loss, z, found)
        except TaskError as error:
            raise TaskError(f"task {loss.name}: {error}") from None
        if out is None:
            return found
        out[...] = found
        return out

    def bend(z: Vector) -> Vector:
        return np.clip(_shaped("bend", z, loss.bend(z)), 0.0, loss.smoothness)

    return Loss(loss.name, loss.value, slope, bend, loss.lipschitz, loss.smoothness)


def _tried(what: str, function: Callable[[Vector], Vector]) -> Vector:
    """What a user's function makes of the grid."""
    try:
        with np.errstate(all="ignore"):
            found, some = function(GRID.copy()), function(GRID[_SOME].copy())
    except Exception as error:  # somebody else's code, which may raise anything
        raise TaskError(f"{what} fails for an array of margins ({type(error).__name__}: {error})") from None
    found = _shaped(what, GRID, found)
    if not np.allclose(found[_SOME], _shaped(what, GRID[_SOME], some), rtol=_ROUNDING, atol=_ROUNDING):
        raise TaskError(f"{what} of a margin depends on the other margins; one row would change what all rows do")
    return found


def _shaped(what: str, z: Vector, found: Vector) -> Vector:
    found = np.array(found, dtype=np.float64)
    if found.shape != z.shape or not np.isfinite(found).all():
        raise TaskError(f"{what} must give one finite number for each margin")
    return found
