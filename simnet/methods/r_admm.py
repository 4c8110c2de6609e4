"""R-ADMM: Zhang, Khalili, Liu, "Recycled ADMM: Improve Privacy and Accuracy with Less Computation" (Allerton 2018).

Odd rounds are ADMM with a random linear term n·θ, equations (12), (13) and (28). Even rounds do not touch the data:
they step along the gradient that the round before has made public, equation (29), and leave the dual alone:

    θ(2k) = θ(2k−1) − [ḡ + 2λ_i + η Σ_j (θ_i − θ_j)]/(2ηV + γ)
    ḡ = −2λ_i(2k−2) − η Σ_j (2θ_i(2k−1) − θ_i(2k−2) − θ_j(2k−2))

ḡ is what the stationarity of round 2k−1 says that gradient and noise add up to. It is computed from what was released:
the gradient at an inexact solution differs from it by something that nobody has paid for.

With the linear term ℓ of a local problem, ℓ = 2λ − η Σ_j (θ_i + θ_j), this is ḡ = −ℓ(2k−2) − 2ηV θ(2k−1), and the
bracket is ḡ + ℓ(2k−1) + 2ηV θ(2k−1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from simnet.learning.objective import LocalObjective
from simnet.methods.duals import Duals
from simnet.methods.m_admm import ScheduledPeer
from simnet.methods.peer import Known, Parts, Proposal, Work
from simnet.methods.scheduled import Scheduled
from simnet.parts.fields import NonNegative, Positive
from simnet.privacy.ledger import Charge
from simnet.privacy.noise_schedule import NoiseSchedule
from simnet.vectors import Vector


class RAdmm(Scheduled):
    """R-ADMM: every other round recycles the gradient of the round before, at no privacy and no gradient."""

    name: Literal["r-admm"]
    gamma: NonNegative = Field(0.2, description="γ, what holds an even round's step back beside the penalty")
    penalty_growth: Positive = Field(1.0, description="η(t) = η q1^(t−1), and γ(t) with it")

    def not_by_edges(self) -> str | None:
        return "edge duals move in every round, and r-admm's rest in even ones"


RECYCLED = Charge.of("recycled", {})
"""An even round's release: a function of what was released before."""


class RAdmmPeer(ScheduledPeer):
    """Algorithm 2 for one agent; without noise, Algorithm 1."""

    def __init__(
        self,
        objective: LocalObjective,
        *,
        degree: int,
        penalties: Sequence[float],
        gammas: Sequence[float],
        schedule: NoiseSchedule,
        rng: np.random.Generator,
        duals: Duals,
    ) -> None:
        super().__init__(objective, degree=degree, penalties=penalties, schedule=schedule, rng=rng, duals=duals)
        self.gammas = gammas
        self._linear: Vector = np.zeros(objective.features)
        self._recycled: Vector = np.zeros(objective.features)

    def propose(self, t: int) -> Proposal | Work:
        self.eta = self.penalties[t - 1]
        return self._solve((t - 1) // 2) if t % 2 else self._recycle(self.gammas[t - 1])

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        if t % 2 and sent is not None:
            self._recycled = -self._linear - 2 * self.eta * self.degree * sent[0]
        super().absorb(t, sent, known)

    def forget(self) -> None:
        """After a crash there is nothing to recycle: the next even round only averages with the neighbours."""
        super().forget()
        self._linear = self._recycled = np.zeros(self.objective.features)

    def _solve(self, k: int) -> Work:
        plan = self.schedule.rounds[k]
        noise, output = self.schedule.draw(plan, self.rng, self.objective.features)
        self.tolerance = plan.tolerance
        self._linear = self.linear()
        solution = yield from self.minimiser(self._linear + noise)
        return Proposal((solution.theta + output,), solution.gradients, solution.gradient_norm, (plan.charge,))

    def _recycle(self, gamma: float) -> Proposal:
        quadratic = 2 * self.eta * self.degree
        slope = self._recycled + self.linear() + quadratic * self.theta
        return Proposal((self.theta - slope / (quadratic + gamma),), 0, 0.0, (RECYCLED,))
