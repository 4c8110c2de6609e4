"""Losses of a linear classifier, as functions of the margin z = y θ·x.

The privacy proofs (objective perturbation) ask three things of a loss: it is convex, |l'| <= `lipschitz`, and l' is
Lipschitz with constant `smoothness` (c1). A kink of l' is allowed. The map from the minimiser to the noise,
b = −∇(f + linear + quadratic), is Lipschitz and strongly monotone, hence bi-Lipschitz, so the change of variables holds
with the Jacobian that exists outside the hyperplanes where a row sits on a kink, and these have measure zero under
either data set. Every other step uses only the two constants. So a loss need be twice differentiable only almost
everywhere, and `bend` may return either one-sided value at a kink.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from simnet.errors import DataError
from simnet.vectors import Vector

HINGE_WIDTH = 0.5
"""h: the smoothed hinge is a parabola where |1 − z| <= h."""

# Arrays, which a ufunc takes as they are: to find out what to do with a Python float costs it as much as a few rows.
_ONE, _MINUS_ONE = np.array(1.0), np.array(-1.0)


class Slope(Protocol):
    """l' of an array of margins, put into `out` if that is given; it may be the margins themselves."""

    def __call__(self, z: Vector, out: Vector | None = None) -> Vector: ...


@dataclass(frozen=True)
class Loss:
    """A convex loss l with l' (`slope`) and l'' (`bend`), each applied to an array of margins."""

    name: str
    value: Callable[[Vector], Vector]
    slope: Slope
    bend: Callable[[Vector], Vector]
    lipschitz: float
    smoothness: float


def _logistic_value(z: Vector) -> Vector:
    e: Vector = np.abs(z)
    np.negative(e, out=e)
    np.exp(e, out=e)
    np.log1p(e, out=e)
    e -= np.minimum(z, 0.0)
    return e


@np.errstate(over="ignore")  # where e^z is infinite, l' is 0
def _logistic_slope(z: Vector, out: Vector | None = None) -> Vector:
    # −1/(1 + e^z): one exponential, which is most of a gradient's cost outside the matrix products.
    e: Vector = np.exp(z, out)
    np.add(e, _ONE, e)
    np.divide(_MINUS_ONE, e, e)
    return e


def _logistic_bend(z: Vector) -> Vector:
    e: Vector = np.exp(-np.abs(z))
    result: Vector = e / (1.0 + e) ** 2
    return result


def _hinge_value(z: Vector) -> Vector:
    # The parabola up to the far kink, then the straight line that continues it: 1 − z below 1 − h.
    gap = np.clip((1.0 + HINGE_WIDTH) - z, 0.0, 2.0 * HINGE_WIDTH)
    result: Vector = gap * gap / (4.0 * HINGE_WIDTH) + np.maximum((1.0 - HINGE_WIDTH) - z, 0.0)
    return result


def _hinge_slope(z: Vector, out: Vector | None = None) -> Vector:
    gap: Vector = np.clip(((1.0 + HINGE_WIDTH) - z) / (2.0 * HINGE_WIDTH), 0.0, 1.0, out=out)
    return np.negative(gap, out=gap)


def _hinge_bend(z: Vector) -> Vector:
    result: Vector = (np.abs(1.0 - z) <= HINGE_WIDTH) / (2.0 * HINGE_WIDTH)
    return result


LOGISTIC = Loss("logistic", _logistic_value, _logistic_slope, _logistic_bend, lipschitz=1.0, smoothness=0.25)
"""l(z) = log(1 + e^−z)."""

SMOOTHED_HINGE = Loss(
    "smoothed-hinge", _hinge_value, _hinge_slope, _hinge_bend, lipschitz=1.0, smoothness=1.0 / (2.0 * HINGE_WIDTH)
)
"""The support vector machine's hinge, Huberised: Chapelle, "Training a Support Vector Machine in the Primal" (2007).

l(z) = 0 for z > 1 + h, (1 + h − z)²/(4h) for |1 − z| <= h, 1 − z for z < 1 − h. l'' is 1/(2h) on the parabola, else 0.
"""

LOSSES: dict[str, Loss] = {loss.name: loss for loss in (LOGISTIC, SMOOTHED_HINGE)}


def unbiased(loss: Loss, epsilon: float) -> Loss:
    """A loss of randomised labels whose mean over the randomness is the loss of the true ones.

    PDML, equation (19): l̂(z) = (e^ε l(z) − l(−z))/(e^ε − 1), for labels that randomised response at ε has flipped. Its
    mean over the flips is l (Proposition 2), and |l̂'| <= L(e^ε+1)/(e^ε−1). It is convex if l''(z) = l''(−z), which
    the paper assumes: then l̂'' = l''. The logistic loss is such a one, a hinge is not.
    """
    if loss is not LOGISTIC:
        raise DataError(f"loss = {loss.name}: made unbiased it would not be convex; only the logistic loss stays so")
    share = 1.0 / math.expm1(epsilon) if epsilon < 700.0 else 0.0

    def value(z: Vector) -> Vector:
        # l(−z) = l(z) + z
        found: Vector = loss.value(z)
        return found - share * z

    def slope(z: Vector, out: Vector | None = None) -> Vector:
        found: Vector = loss.slope(z, out)
        found -= share
        return found

    return Loss(f"unbiased {loss.name}", value, slope, loss.bend, loss.lipschitz * (1.0 + 2.0 * share), loss.smoothness)
