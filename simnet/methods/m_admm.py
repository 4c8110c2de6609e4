"""M-ADMM, and DVP and PVP that came before it.

Zhang, Khalili, Liu, "Improving the Privacy and Accuracy of ADMM-Based Distributed Algorithms" (ICML 2018), equations
(10), (11) and (24): the penalty η_i(t) is the agent's own and may grow, the dual step is another number, and noise of
density ∝ exp(−α_i(t)|n|) goes inside the penalty:

    θ_i ← argmin f_i(θ) + 2λ_i·θ + η_i(t) Σ_j |θ + n − ½(θ_i + θ_j)|²
    λ_i ← λ_i + (θ_dual/2) Σ_j (θ_i − θ_j)

The analysis has one θ_dual; the experiments also let it change over rounds and differ between agents, as here. Privacy
does not depend on it: λ_i is computed from what was released. The fixed point does: with constant steps of their own
Σ λ_i/θ_dual,i is what stays zero, so the models agree on the minimiser of Σ f_i/θ_dual,i.

Expanded, the noise is the linear term 2η_i(t)V n·θ. With η_i(t) = θ_dual that is the dual variable perturbation of
Zhang and Zhu (IEEE TIFS 2017), 2(λ_i + ηVn)·θ; their primal variable perturbation adds n to the minimiser instead.

A solver stops at a tolerance, and what is proven of an exact minimiser says nothing of an approximate one; so every
release also carries the small Gaussian noise of its plan (`simnet.privacy.baselines`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simnet.learning.objective import LocalObjective
from simnet.methods.admm import AdmmPeer
from simnet.methods.duals import Duals
from simnet.methods.peer import Proposal, Work
from simnet.methods.schedules import Schedule


class ScheduledPeer(AdmmPeer):
    """ADMM whose penalty η_i(t) and noise follow a schedule, round by round."""

    def __init__(
        self,
        objective: LocalObjective,
        *,
        degree: int,
        penalties: Sequence[float],
        schedule: Schedule,
        rng: np.random.Generator,
        duals: Duals,
    ) -> None:
        super().__init__(
            objective, degree=degree, eta=penalties[0], tolerance=schedule.rounds[0].tolerance, duals=duals
        )
        self.penalties = penalties
        self.schedule = schedule
        self.rng = rng


class MAdmmPeer(ScheduledPeer):
    """Algorithm 1 of M-ADMM for one agent; dvp if the penalties are all equal to the dual step."""

    def propose(self, t: int) -> Proposal | Work:
        plan = self.schedule.rounds[t - 1]
        noise, output = self.schedule.draw(plan, self.rng, self.objective.features)
        self.eta, self.tolerance = self.penalties[t - 1], plan.tolerance
        solution = yield from self.minimiser(self.linear() + 2 * self.eta * self.degree * noise)
        return Proposal((solution.theta + output,), solution.gradients, solution.gradient_norm, (plan.charge,))


class PvpPeer(ScheduledPeer):
    """Primal variable perturbation for one agent: the noise covers the solver's tolerance as well."""

    def propose(self, t: int) -> Proposal | Work:
        plan = self.schedule.rounds[t - 1]
        noise, _ = self.schedule.draw(plan, self.rng, self.objective.features)
        self.eta, self.tolerance = self.penalties[t - 1], plan.tolerance
        solution = yield from self.minimiser(self.linear())
        return Proposal((solution.theta + noise,), solution.gradients, solution.gradient_norm, (plan.charge,))
