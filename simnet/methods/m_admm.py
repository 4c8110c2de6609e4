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
release also carries the small Gaussian noise of its plan (`simnet.privacy.noise_schedule`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import ClassVar, Literal

from pydantic import Field

from simnet.errors import BudgetError
from simnet.learning.row_objective import Objective
from simnet.methods.duals import Steps
from simnet.methods.method import AgentPlace, AgentSize, Finding, Setting, Surroundings
from simnet.methods.peer import OUTSIDE, Peer, Proposal, Work, in_objective
from simnet.methods.scheduled import OwnPenalties, Scheduled, ScheduledPeer
from simnet.methods.theorems import rate
from simnet.parts.fields import Growth, Positive
from simnet.privacy.budget import NoisePlan
from simnet.privacy.mechanisms import Bound
from simnet.privacy.noise_schedule import DataRound, RoundPlan, objective_rounds, primal_rounds
from simnet.privacy.recovered import Candidate
from simnet.streams import Streams
from simnet.vectors import Vector


class MAdmmPeer(ScheduledPeer):
    """Algorithm 1 of M-ADMM for one agent; DVP if the penalties are all equal to the dual step.

    equation (24)  `noise, output = self.schedule.draw(plan, self.rng, self.objective.features)`
    equation (24)  `solution = yield from self.minimiser(linear + 2 * self.eta * self.degree * noise)`
    equation (11)  duals.NodeDuals: `self._dual = self._dual + (self._step(t) / 2) * (self._degree * model - total)`
    """

    def propose(self, t: int) -> Proposal | Work:
        plan = self.schedule.rounds[t - 1]
        noise, output = self.schedule.draw(plan, self.rng, self.objective.features)
        self.begin(t, plan)
        linear = self.linear()
        if self.outside(linear):
            return OUTSIDE
        solution = yield from self.minimiser(linear + 2 * self.eta * self.degree * noise)
        release = self.schedule.on_grid(plan, solution.theta + output)
        return Proposal((release,), solution.gradients, solution.gradient_norm, (plan.charge,))

    def noise_drawn(self, t: int, released: Vector) -> Candidate | None:
        eta = self.penalties[t - 1]
        weight, plan = 2 * eta * self.degree, self.schedule.rounds[t - 1]
        kind, small = self.schedule.noise, (plan.output_sigma, plan.tolerance)
        return in_objective(self.subproblem(eta), released, weight, kind, plan.scale, *small)


class PvpPeer(ScheduledPeer):
    """Primal variable perturbation for one agent: the noise covers the solver's tolerance as well."""

    def propose(self, t: int) -> Proposal | Work:
        plan = self.schedule.rounds[t - 1]
        noise, _ = self.schedule.draw(plan, self.rng, self.objective.features)
        self.begin(t, plan)
        linear = self.linear()
        if self.outside(linear):
            return OUTSIDE
        solution = yield from self.minimiser(linear)
        release = self.schedule.on_grid(plan, solution.theta + noise)
        return Proposal((release,), solution.gradients, solution.gradient_norm, (plan.charge,))


class _Perturbed(Scheduled):
    """What M-ADMM and its two forerunners share: Theorem 3.1 on convergence."""

    peer_class: ClassVar[type[ScheduledPeer]]

    def theory(self, setting: Setting) -> list[Finding]:
        agents, rounds = range(len(setting.sizes)), range(1, setting.rounds + 1)
        etas = [self.penalties(agent, setting.rounds) for agent in agents]
        steps = [[self.dual_steps(agent)(t) for t in rounds] for agent in agents]
        growth = min(b / a for own in etas for a, b in pairwise(own)) if setting.rounds > 1 else 1.0
        pairs = zip(chain(*etas), chain(*steps), strict=True)
        least, step = min(pairs, key=lambda pair: pair[0] - pair[1])
        one = len({step for own in steps for step in own}) == 1
        return [
            Finding(
                "M-ADMM Theorem 3.1: η_i(t+1) >= η_i(t)",
                growth >= 1.0,
                growth - 1.0,
                f"a penalty changes by a factor of at least {growth:.4g} per round",
            ),
            Finding(
                "M-ADMM Theorem 3.1: η_i(t) >= θ",
                least >= step,
                least - step,
                f"where they are closest, the penalty is {least:.4g} and the dual step {step:.4g}",
            ),
            self._rate(etas, step, setting) if one else several_steps(steps),
        ]

    def _rate(self, etas: Sequence[Sequence[float]], step: float, setting: Setting) -> Finding:
        """Theorem 3.2 in the first and the last round, by its conditions (21) and (22) and by (23) as printed."""
        ends = [[own[t] for own in etas] for t in (0, -1)]
        apart = max(max(now) - min(now) for now in ends)
        if apart > 0.0:
            return Finding(
                "M-ADMM Theorem 3.2: one η(t) for all agents",
                False,
                -apart,
                "no rate is known here: the proof takes W(t)(D + A) for symmetric, and with penalties of their own "
                "runs break what it promises (docs/errata.md, 17); none that does not converge was found",
            )
        bounds = self.regulariser, self.steepest(setting.sizes[0])
        first, last = (rate(now, step, setting.adjacency, *bounds) for now in ends)
        printed = [rate(now, step, setting.adjacency, *bounds, printed=True) for now in ends]
        more = f"; equation (23) as printed has 1 + {printed[0]:.3g} and 1 + {printed[1]:.3g}, which need not hold"
        return Finding(
            "M-ADMM Theorem 3.2: rate",
            min(first, last) > 0.0,
            min(first, last),
            "without noise the squared distance to the optimum, in the norm of J(t), falls by a factor of at least "
            f"1 + {first:.3g} in round 1 and 1 + {last:.3g} in round {setting.rounds}"
            + ("" if printed == [first, last] else more),
        )

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        duals = self.keep_duals(objective.features, place, self.dual_steps(place.agent))
        return self.peer_class(objective, place, plan, streams, duals, self.penalties(place.agent, place.rounds))


class _PenaltyPerturbed(_Perturbed):
    """Noise inside the penalty."""

    peer_class: ClassVar[type[ScheduledPeer]] = MAdmmPeer

    def noise_weight(self, eta: float, degree: int) -> float:
        """2ηV: equation (24), expanded."""
        if degree == 0:
            raise BudgetError(
                "an agent without neighbours has no penalty to put noise into; give it one, or use r-admm or pvp"
            )
        return 2.0 * eta * degree

    def perturbed_rounds(self, rounds: Sequence[DataRound], scale: float, bound: Bound) -> list[RoundPlan]:
        share = self.share_of_output
        return objective_rounds(rounds, "penalty-gamma", self.noise, scale, self.tolerance, share, bound)

    def theory(self, setting: Setting) -> list[Finding]:
        rounds, agents = range(1, setting.rounds + 1), range(len(setting.sizes))
        steps = [min(self.dual_steps(agent)(t) for t in rounds) for agent in agents]
        return [*super().theory(setting), self.jacobian_finding(setting.sizes, steps)]


class Dvp(_PenaltyPerturbed):
    """DVP: dual variable perturbation, m-admm with a constant penalty that is also the dual step."""

    colour: ClassVar[str] = "#56B4E9"

    name: Literal["dvp"]


class Pvp(_Perturbed):
    """PVP: primal variable perturbation, noise on the minimiser before it is sent."""

    colour: ClassVar[str] = "#E69F00"
    perturbs_objective: ClassVar[bool] = False
    unavoidable: ClassVar[str] = "nothing"
    peer_class: ClassVar[type[ScheduledPeer]] = PvpPeer

    name: Literal["pvp"]

    def perturbed_rounds(self, rounds: Sequence[DataRound], scale: float, bound: Bound) -> list[RoundPlan]:
        return primal_rounds(rounds, self.noise, scale, self.tolerance, bound)

    def check_theorem(self, agent: int, size: AgentSize, etas: Sequence[float]) -> None:
        """Noise on the output has no Jacobian."""


class MAdmm(OwnPenalties, _PenaltyPerturbed):
    """M-ADMM: noise inside a penalty that may grow and differ between agents, beside a dual step that may too."""

    colour: ClassVar[str] = "#009E73"
    growths: ClassVar[tuple[str, ...]] = (*OwnPenalties.growths, "dual_growth", "agent_dual_growth")
    per_agent: ClassVar[tuple[str, ...]] = (*OwnPenalties.per_agent, "agent_dual_step", "agent_dual_growth")

    name: Literal["m-admm"]
    penalty_growth: Growth = Field(1.0, description="q1: η(t) = η q1^(t−1)")
    dual_step: Positive | None = Field(None, description="θ, the step of the dual update; default: eta")
    dual_growth: Growth = Field(1.0, description="the dual step's growth: θ(t) = θ r^(t−1)")
    agent_eta: tuple[Positive, ...] = Field((), description="η_i(1) of each agent; empty: eta for all")
    agent_growth: tuple[Growth, ...] = Field((), description="q1 of each agent; empty: penalty_growth for all")
    agent_dual_step: tuple[Positive, ...] = Field(
        (),
        description="θ_i(1) of each agent; empty: dual_step for all. Where they differ, the models agree on the "
        "minimiser of Σ f_i/θ_i instead of Σ f_i",
    )
    agent_dual_growth: tuple[Growth, ...] = Field((), description="r of each agent; empty: dual_growth for all")

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

    def dual_steps(self, agent: int) -> Steps:
        """θ_i(t) = θ_i r^(t−1)."""
        common = self.eta if self.dual_step is None else self.dual_step
        first = self.agent_dual_step[agent] if self.agent_dual_step else common
        growth = self.agent_dual_growth[agent] if self.agent_dual_growth else self.dual_growth
        return lambda t: first * growth ** (t - 1)

    def theory(self, setting: Setting) -> list[Finding]:
        secret = Finding(
            "M-ADMM section 6.2: a secret η_i(t) hides a row",
            setting.features < 3,
            2.0 - setting.features,
            "noise does: each round leaves the row in a plane of two vectors known to whoever knows the others, and in "
            "three dimensions and more the planes of two rounds meet in its direction",
        )
        return [*super().theory(setting), secret]

    def check_theorem(self, agent: int, size: AgentSize, etas: Sequence[float]) -> None:
        """Algorithm 1: 2c1 < (m/C)(ρ/N + 2θV) at the dual step θ, and (which the proof uses and nobody says)
        η_i(t) >= θ. The theorem looks at one round at a time, so where θ varies that is θ_i(t)."""
        step = self.dual_steps(agent)
        for t, eta in enumerate(etas, 1):
            if eta < step(t):
                raise BudgetError(
                    f"agent {agent}'s penalty of round {t} is {eta:g}, and M-ADMM's theorem needs it at least as large "
                    f"as the dual step {step(t):g}; a smaller algorithm.dual_step would do"
                )
        self.check_rows(size, min(step(t) for t in range(1, len(etas) + 1)))


def several_steps(steps: Sequence[Sequence[float]]) -> Finding:
    """Theorem 3.1 has one θ; with several, Σ λ_i/θ_i stays zero instead of Σ λ_i, if the θ_i do not change."""
    apart = max(max(now) - min(now) for now in zip(*steps, strict=True))
    wide = max(map(max, steps)) - min(map(min, steps))
    consequence = (
        "they differ between agents, so the models agree on the minimiser of Σ f_i/θ_i, not of Σ f_i"
        if apart
        else "they are the same for all agents, so the duals still sum to zero and the fixed point is the optimum"
    )
    return Finding("M-ADMM Theorem 3.1: one θ for all agents and rounds", False, -wide, consequence)
