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

import numpy as np

from simnet.learning.objective import LocalObjective
from simnet.methods.admm import AdmmPeer
from simnet.methods.duals import Duals
from simnet.methods.peer import Proposal, Work
from simnet.methods.schedules import Schedule
from simnet.privacy.noise import gaussian
from simnet.vectors import Vector


class PdmlPeer(AdmmPeer):
    """A server in phase 2; `tilt` is (1/n) η_i."""

    def __init__(
        self,
        objective: LocalObjective,
        *,
        degree: int,
        eta: float,
        tilt: Vector,
        schedule: Schedule,
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
