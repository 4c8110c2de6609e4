"""A loss that randomised labels leave unchanged on average."""

from __future__ import annotations

import math

from simnet.errors import DataError
from simnet.learning.losses import LOGISTIC, Loss
from simnet.vectors import Vector


def unbiased(loss: Loss, epsilon: float) -> Loss:
    """PDML, equation (19): l̂(z) = (e^ε l(z) − l(−z))/(e^ε − 1), for labels that randomised response at ε has flipped.

    Its mean over the flips is l (Proposition 2), and |l̂'| <= L(e^ε+1)/(e^ε−1). It is convex if l''(z) = l''(−z), which
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
