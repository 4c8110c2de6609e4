"""PP-ADMM: Ding, Wang, Liang, Bi, Pan (CIKM 2020), Algorithm 1.

Each round an agent adds b1·θ to its local problem, equation (5), finds a point where the gradient's norm is at most β,
adds b2 to it and releases the sum:

    θ̂ ≈ argmin f_i(θ) + (2λ_i + b1)·θ + η Σ_j |½(θ_i + θ_j) − θ|²        b1 ~ N(0, σ1² I)
    θ_i ← θ̂ + b2                                                        b2 ~ N(0, σ2² I)

How σ1, σ2 and β follow from a budget is the calibration's business (`simnet.privacy`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from simnet.learning.objective import LocalObjective
from simnet.methods.admm import AdmmPeer
from simnet.methods.duals import Duals
from simnet.methods.method import Decentralised
from simnet.methods.peer import Proposal, Work
from simnet.parts.fields import Positive, Share
from simnet.privacy.ledger import Charge
from simnet.vectors import Vector


@dataclass(frozen=True)
class Perturbation:
    """Noise of a release: its scales, its stream, and what one release costs."""

    sigma1: float
    sigma2: float
    rng: np.random.Generator
    charge: Charge

    def draw(self, features: int) -> Vector:
        """What b1 and b2 are made of. It is drawn in every round, used or not, so that a skip shifts no later draw."""
        return self.rng.standard_normal(2 * features)

    def scaled(self, drawn: Vector) -> tuple[Vector, Vector]:
        """b1 and b2."""
        features = len(drawn) // 2
        return self.sigma1 * drawn[:features], self.sigma2 * drawn[features:]


class PpAdmm(Decentralised):
    """PP-ADMM: Gaussian objective perturbation and Gaussian output perturbation of an approximate minimiser."""

    noise_amounts: ClassVar[tuple[str, ...]] = ("sigma", "output_sigma")

    name: Literal["pp-admm"]
    tolerance: Positive | None = Field(
        None,
        description="β, the gradient norm at which a local solve may stop; default: 10^-3.5 under `paper`, "
        "chosen by the calibration under `proven`",
    )
    output_share: Share | None = Field(
        None,
        description="share of a release's ρ spent on output noise (the paper's splits); default: 0.001 under "
        "`paper`, chosen under `proven`",
    )
    objective_share: Share = Field(0.99, description="ε_i3/ε_i1 of the paper's calibration")
    sigma: Positive | None = Field(
        None, description="σ1 of the noise in the objective; ε is then what it comes to; default: from privacy.epsilon"
    )
    output_sigma: Positive | None = Field(
        None, description="σ2 of the noise on the approximate minimiser, named together with sigma"
    )

    @model_validator(mode="after")
    def _both_amounts_of_noise(self) -> PpAdmm:
        if (self.sigma is None) != (self.output_sigma is None):
            raise ValueError("sigma: name output_sigma as well, or neither")
        return self


class PpAdmmPeer(AdmmPeer):
    """Algorithm 1 for one agent."""

    def __init__(
        self,
        objective: LocalObjective,
        *,
        degree: int,
        eta: float,
        tolerance: float,
        perturbation: Perturbation,
        duals: Duals | None = None,
    ) -> None:
        super().__init__(objective, degree=degree, eta=eta, tolerance=tolerance, duals=duals)
        self.perturbation = perturbation

    def propose(self, t: int) -> Proposal | Work:
        b1, b2 = self.perturbation.scaled(self.perturbation.draw(self.objective.features))
        solution = yield from self.minimiser(self.linear() + b1)
        return Proposal((solution.theta + b2,), solution.gradients, solution.gradient_norm, (self.perturbation.charge,))
