"""Losses of the margin beside those of the papers."""

from __future__ import annotations

from typing import Literal

import numpy as np

from simnet.extend import Field, MarginTask, PositiveShare, Vector


class CappedLogistic(MarginTask):
    """The logistic loss, whose slope is capped: l' = −min(c, 1/(1 + e^z)), so L = c and c1 = 1/4.

    Left of z = log(1/c − 1) the loss goes on as a straight line. It stays convex, because l' still rises. One row moves
    a gradient by 2c/m, not 2/m, so the same ε needs c times the noise. The rows that a model gets most wrong count for
    less: below c = 0.3 or so that costs more than the noise that it saves.
    """

    kind: Literal["capped-logistic"]
    cap: PositiveShare = Field(0.5, description="c, how steep the loss is at most; 1 is the logistic loss")

    smoothness = 0.25

    @property
    def lipschitz(self) -> float:  # type: ignore[override]
        """L."""
        return self.cap

    @property
    def kink(self) -> float:
        """The margin left of which the slope is −c."""
        return float(np.log(1.0 / self.cap - 1.0)) if self.cap < 1.0 else -np.inf

    def value(self, z: Vector) -> Vector:
        bent = np.maximum(z, self.kink)
        found: Vector = np.log1p(np.exp(-np.abs(bent))) + np.maximum(-bent, 0.0)
        found += self.cap * (bent - z)
        return found

    def slope(self, z: Vector) -> Vector:
        with np.errstate(over="ignore"):  # where e^z is infinite, l' is 0
            found: Vector = np.maximum(-1.0 / (1.0 + np.exp(z)), -self.cap)
        return found

    def bend(self, z: Vector) -> Vector:
        e = np.exp(-np.abs(z))
        found: Vector = np.where(z > self.kink, e / (1.0 + e) ** 2, 0.0)
        return found
