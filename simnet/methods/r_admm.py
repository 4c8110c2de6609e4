"""R-ADMM: Zhang, Khalili, Liu, "Recycled ADMM: Improve Privacy and Accuracy with Less Computation" (Allerton 2018).

Odd rounds are ADMM with a random linear term n·θ, equations (12), (13) and (28). Even rounds do not touch the data:
they step along the gradient that the round before has made public, equation (29), and leave the dual alone:

    θ(2k) = θ(2k−1) − [ḡ + 2λ_i + η Σ_j (θ_i − θ_j)]/(2ηV + γ)
    ḡ = −2λ_i(2k−2) − η Σ_j (2θ_i(2k−1) − θ_i(2k−2) − θ_j(2k−2))

ḡ is what the stationarity of round 2k−1 says that gradient and noise add up to. It is computed from what was released:
the gradient at an inexact solution differs from it by something that nobody has paid for.

With the linear term ℓ of a local problem, ℓ = 2λ − η Σ_j (θ_i + θ_j), this is ḡ = −ℓ(2k−2) − 2ηV θ(2k−1), and the
bracket is ḡ + ℓ(2k−1) + 2ηV θ(2k−1).

The same authors' later MR-ADMM (IEEE TIFS 2020, doi 10.1109/TIFS.2019.2947867) lets each node choose its own penalty
in every round. Here η becomes η_i(t) in both kinds of rounds, as it does in M-ADMM, and one dual step θ for all is left
(`agent_eta`, `agent_growth`, `dual_step`). That follows from the two earlier papers; the text of the later one was not
compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from simnet.learning.row_objective import Objective
from simnet.methods.duals import Duals, Steps
from simnet.methods.method import AgentPlace, Finding, Setting
from simnet.methods.peer import OUTSIDE, Known, Peer, Proposal, Work, in_objective
from simnet.methods.scheduled import OwnPenalties, ScheduledPeer
from simnet.methods.theorems import best_recycling, enough_gamma, recycling_margins
from simnet.parts.fields import Growth, NonNegative, Positive
from simnet.privacy.budget import NoisePlan
from simnet.privacy.ledger import RECYCLED, Charge
from simnet.privacy.mechanisms import Bound
from simnet.privacy.noise_schedule import DataRound, RoundPlan, objective_rounds
from simnet.privacy.recovered import Candidate
from simnet.streams import Streams
from simnet.vectors import Parts, Square, Vector


class RAdmm(OwnPenalties):
    """R-ADMM: every other round recycles the gradient of the round before, at no privacy and no gradient."""

    colour: ClassVar[str] = "#CC79A7"
    data_every: ClassVar[int] = 2
    recycles: ClassVar[bool] = True

    name: Literal["r-admm"]
    gamma: NonNegative = Field(0.2, description="γ, what holds an even round's step back beside the penalty")
    penalty_growth: Growth = Field(1.0, description="q1: η(t) = η q1^(t−1), and γ(t) with it")
    dual_step: Positive | None = Field(
        None, description="θ, the step of the dual update in odd rounds; default: that of eta and penalty_growth"
    )
    agent_eta: tuple[Positive, ...] | None = Field(None, description="η_i(1) of each agent; default: eta for all")
    agent_growth: tuple[Growth, ...] | None = Field(
        None, description="q1 of each agent, of η_i and of γ_i; default: penalty_growth for all"
    )

    def not_by_edges(self) -> str | None:
        return f"edge duals move in every round, and {self.name}'s rest in even ones"

    def perturbed_rounds(self, rounds: Sequence[DataRound], scale: float, bound: Bound) -> list[RoundPlan]:
        share = self.share_of_output
        return objective_rounds(rounds, "linear-gamma", self.noise, scale, self.tolerance, share, bound)

    def dual_steps(self, agent: int) -> Steps:
        """θ or η(t) in odd rounds, the same for all agents; in even ones the duals rest."""

        def step(t: int) -> float:
            if t % 2 == 0:
                return 0.0
            return self.dual_step or self.eta * self.penalty_growth ** (t - 1)

        return step

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        duals = self.keep_duals(objective.features, place, self.dual_steps(place.agent))
        penalties = self.penalties(place.agent, place.rounds)
        gammas = [self.gamma * self.growth(place.agent) ** t for t in range(place.rounds)]
        return RAdmmPeer(objective, place, plan, streams, duals, penalties, gammas)

    def theory(self, setting: Setting) -> list[Finding]:
        rounds = range(1, setting.rounds + 1)
        etas = [self.penalties(agent, setting.rounds) for agent in range(len(setting.sizes))]
        rows = self.jacobian_finding(setting.sizes, [min(own[::2]) for own in etas])
        if len({tuple(own) for own in etas}) > 1 or self.dual_step is not None:
            return [own_penalties(etas, [self.dual_steps(0)(t) for t in rounds]), rows]
        # Growth makes the conditions easier and decay harder: what counts is the round with the least penalty.
        least = min(1.0, self.penalty_growth ** (setting.rounds - 1))
        at = self.eta * least, self.gamma * least, setting.adjacency, self.steepest(setting.sizes[0])
        return [*convergence(*at), rows]


class RAdmmPeer(ScheduledPeer):
    """Algorithm 2 for one agent; without noise, Algorithm 1. The algorithms' lines have no numbers, so by equation:

    equation (28)  `solution = yield from self.minimiser(linear + noise)`
    equation (13)  duals.NodeDuals: `self._dual = self._dual + (self._step(t) / 2) * (self._degree * model - total)`
    equation (29)  `self._recycled = -self.duals.linear(self.theta, eta) - 2 * eta * self.degree * sent[0]`
    equation (29)  `slope = gradient + self.linear() + quadratic * self.theta`
    """

    recycles: ClassVar[bool] = True

    def __init__(
        self,
        objective: Objective,
        place: AgentPlace,
        plan: NoisePlan | None,
        streams: Streams,
        duals: Duals,
        penalties: Sequence[float],
        gammas: Sequence[float],
    ) -> None:
        super().__init__(objective, place, plan, streams, duals, penalties)
        self.gammas = gammas
        self._recycled: Vector = np.zeros(objective.features)

    def propose(self, t: int) -> Proposal | Work:
        return self._solve(t) if t % 2 else self._step(t, self._recycled)

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        if t % 2 and sent is not None:
            eta = self.penalties[t - 1]
            self._recycled = -self.duals.linear(self.theta, eta) - 2 * eta * self.degree * sent[0]
        super().absorb(t, sent, known)

    def forget(self) -> None:
        """After a crash there is nothing to recycle: the next even round only averages with the neighbours."""
        super().forget()
        self._recycled = np.zeros(self.objective.features)

    def _solve(self, t: int) -> Work:
        plan = self.schedule.rounds[(t - 1) // 2]
        noise, output = self.schedule.draw(plan, self.rng, self.objective.features)
        self.begin(t, plan)
        linear = self.linear()
        if self.outside(linear):
            return OUTSIDE
        solution = yield from self.minimiser(linear + noise)
        release = self.schedule.on_grid(plan, solution.theta + output)
        return Proposal((release,), solution.gradients, solution.gradient_norm, (plan.charge,))

    def _step(self, t: int, gradient: Vector, gradients: int = 0) -> Proposal:
        self.eta = self.penalties[t - 1]
        quadratic = 2 * self.eta * self.degree
        slope = gradient + self.linear() + quadratic * self.theta
        return Proposal((self.theta - slope / (quadratic + self.gammas[t - 1]),), gradients, 0.0, (RECYCLED,))

    def noise_drawn(self, t: int, released: Vector) -> Candidate | None:
        if t % 2 == 0:
            return None
        plan = self.schedule.rounds[(t - 1) // 2]
        kind, small = self.schedule.noise, (plan.output_sigma, plan.tolerance)
        return in_objective(self.subproblem(self.penalties[t - 1]), released, 1.0, kind, plan.scale, *small)

    def price(self, t: int) -> tuple[Charge, ...] | None:
        return (self.schedule.rounds[(t - 1) // 2].charge if t % 2 else RECYCLED,)

    def recycled(self, t: int) -> Vector | None:
        if t % 2:
            return None
        release = self._step(t, self._recycled).release
        assert release is not None
        return release[0]

    def step_by_data(self, t: int) -> Proposal:
        return self._step(t, self.objective.gradient(self.theta), 1)

    def gradient_distance(self, t: int, released: Vector) -> float:
        """From the ḡ with which an even round came to where it is."""
        problem = self.subproblem(self.penalties[t - 1])
        step = (self.theta - released) * (problem.quadratic + self.gammas[t - 1])
        direction = step - problem.linear - problem.quadratic * self.theta
        return float(np.linalg.norm(direction - self.objective.gradient(self.theta)))


CONVERGES = "by the paper, whose proof has a gap, a run converges under"


def convergence(eta: float, gamma: float, adjacency: Square, steepest: float) -> list[Finding]:
    """Theorem III.1: (24) and (25) for the best L and μ, and (26) and (27), which are the same for L = μ = 2.

    Step (35) of its proof is wrong (docs/errata.md, 20); no run that breaks the theorem is known.
    """
    weight, mu, *general = best_recycling(eta, gamma, adjacency, steepest)
    special = recycling_margins(eta, gamma, adjacency, steepest)
    enough = enough_gamma(eta, adjacency, steepest)
    advice = (
        "no gamma is enough on a graph whose signless Laplacian is singular, as every bipartite one's is"
        if enough is None
        else f"both hold from gamma = {enough:.3g} on"
    )
    chosen = f"{CONVERGES} (24) and (25); of the L and μ tried, L = {weight:.3g} and μ = {mu:.3g} serve best"
    told = f"{CONVERGES} (26) and (27), where L = μ = 2"
    return [
        Finding(f"R-ADMM condition ({number})", margin > 0.0, margin, sentence)
        for number, margin, sentence in (
            (24, general[0], chosen),
            (25, general[1], chosen),
            *(
                (n, margin, told if margin > 0.0 else f"{told}; {advice}")
                for n, margin in zip((26, 27), special, strict=True)
            ),
        )
    ]


def own_penalties(etas: Sequence[Sequence[float]], steps: Sequence[float]) -> Finding:
    """The theorem has one η for all, which is the dual step as well."""
    apart = max(abs(eta - step) for own in etas for eta, step in zip(own[::2], steps[::2], strict=True))
    return Finding(
        "R-ADMM Theorem III.1: one η for all agents, which is the dual step",
        False,
        -apart,
        "no condition for convergence is known here; where it converges, the models agree on the optimum, since the "
        "dual steps are the same for all",
    )
