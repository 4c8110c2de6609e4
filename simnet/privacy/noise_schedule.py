"""Noise by a schedule: which rounds use the data, and with how much noise each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simnet.privacy.baselines import Noise
from simnet.privacy.ledger import BARE, Charge
from simnet.privacy.noise import gamma_type, gaussian
from simnet.privacy.noise_plan import RoundPlan
from simnet.vectors import Vector

BARE_TOLERANCE = 1e-6
"""Where a local solve without noise may stop."""


@dataclass(frozen=True)
class NoiseSchedule:
    """The rounds that use the data, one after another; `opening` is charged before the first."""

    noise: Noise
    rounds: tuple[RoundPlan, ...]
    opening: tuple[Charge, ...] = ()

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Everything that a whole run is charged."""
        return (*self.opening, *(plan.charge for plan in self.rounds))

    def draw(self, plan: RoundPlan, rng: np.random.Generator, features: int) -> tuple[Vector, Vector]:
        """The method's noise of one of the rounds, and the noise on its approximate minimiser."""
        noise = (gamma_type if self.noise == "gamma" else gaussian)(rng, plan.scale, features)
        return noise, gaussian(rng, plan.output_sigma, features)


def bare(rounds: int, tolerance: float | None) -> NoiseSchedule:
    """No noise at all."""
    stop = BARE_TOLERANCE if tolerance is None else tolerance
    plan = RoundPlan(scale=0.0, tolerance=stop, output_sigma=0.0, charge=BARE)
    return NoiseSchedule("gaussian", (plan,) * rounds)
