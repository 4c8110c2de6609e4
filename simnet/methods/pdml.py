"""PDML: Wang, Ishii, Du, Cheng, Chen, "Privacy-Preserving Distributed Machine Learning via Local Randomization and ADMM
Perturbation" (IEEE Transactions on Signal Processing, 2020).

Phase 1, at the users: labels are flipped by randomised response and sent with the row to a server (`simnet.reporting`).
Phase 2, among servers, equations (14) to (17) with γ = 2λ and β = η: consensus ADMM on the loss that the flips leave
unbiased, with two kinds of noise. A bounded vector η_i, |η_i| <= R, is drawn once and tilts the objective; what a
server sends, and goes on with itself, is its minimiser plus Gaussian noise whose variance decays:

    w_i ← argmin f̂_i(w) + (1/n) η_i·w + 2λ_i·w + η Σ_j |½(w̃_i + w̃_j) − w|²
    w̃_i = w_i + N(0, V² ρ^(t−1) I)
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from simnet.learning.objective import LocalObjective
from simnet.methods.admm import AdmmPeer
from simnet.methods.duals import Duals
from simnet.methods.method import Decentralised, Surroundings
from simnet.methods.peer import Proposal, Work
from simnet.parts.fields import NonNegative, Number, Positive
from simnet.privacy.noise import gaussian
from simnet.privacy.noise_schedule import NoiseSchedule
from simnet.vectors import Vector

Decay = Annotated[float, BeforeValidator(Number("a number above 0 and at most 1", 0, 1, open_low=True))]


class Pdml(Decentralised):
    """PDML: users report flipped labels to servers, which train together under two kinds of noise."""

    noise_amounts: ClassVar[tuple[str, ...]] = ("primal_scale", "label_epsilon")

    name: Literal["pdml"]
    label_epsilon: Positive | None = Field(
        None, description="ε of randomised response on a label, at the user; default: privacy.epsilon"
    )
    objective_bound: NonNegative = Field(1.0, description="R, bound of the noise in a server's objective, drawn once")
    primal_scale: Positive | None = Field(
        None,
        description="V_i, σ of the noise on a server's first model; default: from privacy.epsilon under `proven`, "
        "1 under `paper`, which has no number",
    )
    primal_decay: Decay = Field(0.8, description="ρ: the variance of that noise is V_i² ρ^(t−1)")
    tolerance: Positive | None = Field(
        None, description="β, the gradient norm at which a local solve may stop; default: chosen by the calibration"
    )

    def misfit(self, around: Surroundings) -> str | None:
        if reason := super().misfit(around):
            return reason
        return None if self.loss == "logistic" else "algorithm.loss: pdml's unbiased loss is convex for logistic only"

    def misfit_of_live(self) -> str | None:
        return "algorithm.name = 'pdml': its users report over lines that are only simulated, there are no live users"


class PdmlPeer(AdmmPeer):
    """A server in phase 2; `tilt` is (1/n) η_i."""

    def __init__(
        self,
        objective: LocalObjective,
        *,
        degree: int,
        eta: float,
        tilt: Vector,
        schedule: NoiseSchedule,
        rng: np.random.Generator,
        duals: Duals,
    ) -> None:
        super().__init__(objective, degree=degree, eta=eta, tolerance=schedule.rounds[0].tolerance, duals=duals)
        self.tilt = tilt
        self.schedule = schedule
        self.rng = rng

    def propose(self, t: int) -> Proposal | Work:
        plan = self.schedule.rounds[t - 1]
        solution = yield from self.minimiser(self.linear() + self.tilt)
        release = solution.theta + gaussian(self.rng, plan.scale, self.objective.features)
        return Proposal((release,), solution.gradients, solution.gradient_norm, (plan.charge,))
