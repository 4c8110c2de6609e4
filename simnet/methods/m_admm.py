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
from typing import Literal

import numpy as np
from pydantic import Field

from simnet.learning.objective import LocalObjective
from simnet.methods.admm import AdmmPeer
from simnet.methods.duals import Duals
from simnet.methods.method import Surroundings
from simnet.methods.peer import Proposal, Work
from simnet.methods.scheduled import Scheduled
from simnet.parts.fields import Positive
from simnet.privacy.noise_schedule import NoiseSchedule


class Dvp(Scheduled):
    """DVP: dual variable perturbation, m-admm with a constant penalty that is also the dual step."""

    name: Literal["dvp"]


class Pvp(Scheduled):
    """PVP: primal variable perturbation, noise on the minimiser before it is sent."""

    name: Literal["pvp"]


class MAdmm(Scheduled):
    """M-ADMM: noise inside a penalty that may grow and differ between agents, beside a dual step that may too."""

    name: Literal["m-admm"]
    penalty_growth: Positive = Field(1.0, description="q1: η(t) = η q1^(t−1)")
    dual_step: Positive | None = Field(None, description="θ, the step of the dual update; default: eta")
    dual_growth: Positive = Field(1.0, description="the dual step's growth: θ(t) = θ r^(t−1)")
    agent_eta: tuple[Positive, ...] = Field((), description="η_i(1) of each agent; empty: eta for all")
    agent_growth: tuple[Positive, ...] = Field((), description="q1 of each agent; empty: penalty_growth for all")
    agent_dual_step: tuple[Positive, ...] = Field(
        (),
        description="θ_i(1) of each agent; empty: dual_step for all. Where they differ, the models agree on the "
        "minimiser of Σ f_i/θ_i instead of Σ f_i",
    )
    agent_dual_growth: tuple[Positive, ...] = Field((), description="r of each agent; empty: dual_growth for all")

    def misfit(self, around: Surroundings) -> str | None:
        if reason := super().misfit(around):
            return reason
        if self.duals == "healing" and self._own_steps:
            return "algorithm.duals: healing duals are sums that both ends weigh by the same dual steps; choose node"
        return None

    def not_by_edges(self) -> str | None:
        own = self.dual_step is not None and self.dual_step != self.eta
        grows = self.penalty_growth != 1.0 or self.dual_growth != 1.0
        if own or grows or self.agent_eta or self.agent_growth or self._own_steps:
            return "edge duals need one η for all agents and rounds that is also the dual step"
        return None

    @property
    def _own_steps(self) -> bool:
        """Whether agents have dual steps of their own."""
        return bool(self.agent_dual_step or self.agent_dual_growth)


class ScheduledPeer(AdmmPeer):
    """ADMM whose penalty η_i(t) and noise follow a schedule, round by round."""

    def __init__(
        self,
        objective: LocalObjective,
        *,
        degree: int,
        penalties: Sequence[float],
        schedule: NoiseSchedule,
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
