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

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from simnet.learning.row_objective import Objective
from simnet.methods.duals import Duals, Steps
from simnet.methods.method import AgentPlace, Finding, Setting
from simnet.methods.peer import OUTSIDE, Known, Peer, Proposal, Work, in_objective
from simnet.methods.scheduled import Scheduled, ScheduledPeer
from simnet.parts.fields import Growth, NonNegative
from simnet.privacy.budget import NoisePlan
from simnet.privacy.ledger import RECYCLED, Charge
from simnet.privacy.mechanisms import Bound
from simnet.privacy.noise_schedule import DataRound, RoundPlan, objective_rounds
from simnet.privacy.recovered import Candidate
from simnet.streams import Streams
from simnet.vectors import Parts, Square, Vector

_LARGEST_GAMMA = 1e9


class RAdmm(Scheduled):
    """R-ADMM: every other round recycles the gradient of the round before, at no privacy and no gradient."""

    colour: ClassVar[str] = "#CC79A7"
    data_every: ClassVar[int] = 2
    recycles: ClassVar[bool] = True
    growths: ClassVar[tuple[str, ...]] = (*Scheduled.growths, "penalty_growth")

    name: Literal["r-admm"]
    gamma: NonNegative = Field(0.2, description="γ, what holds an even round's step back beside the penalty")
    penalty_growth: Growth = Field(1.0, description="η(t) = η q1^(t−1), and γ(t) with it")

    def not_by_edges(self) -> str | None:
        return f"edge duals move in every round, and {self.name}'s rest in even ones"

    def perturbed_rounds(self, rounds: Sequence[DataRound], scale: float, bound: Bound) -> list[RoundPlan]:
        share = self.share_of_output
        return objective_rounds(rounds, "linear-gamma", self.noise, scale, self.tolerance, share, bound)

    def penalties(self, agent: int, rounds: int) -> list[float]:
        """η(t) = η q1^(t−1)."""
        return [self.eta * self.penalty_growth**t for t in range(rounds)]

    def dual_steps(self, agent: int) -> Steps:
        """η(t) in odd rounds; in even ones the duals rest."""
        return lambda t: self.eta * self.penalty_growth ** (t - 1) if t % 2 else 0.0

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        duals = self.keep_duals(objective.features, place, self.dual_steps(place.agent))
        penalties = self.penalties(place.agent, place.rounds)
        gammas = [self.gamma * self.penalty_growth**t for t in range(place.rounds)]
        return RAdmmPeer(objective, place, plan, streams, duals, penalties, gammas)

    def theory(self, setting: Setting) -> list[Finding]:
        steepest = self.steepest(setting.sizes[0])
        margins = recycling_margins(self.eta, self.gamma, setting.adjacency, steepest)
        advice = _enough_gamma(self.eta, setting.adjacency, steepest)
        found = [
            Finding(
                f"R-ADMM condition ({number})",
                margin > 0.0,
                margin,
                "sufficient for convergence, with L = μ = 2" + ("" if margin > 0.0 else f"; {advice}"),
            )
            for number, margin in zip((26, 27), margins, strict=True)
        ]
        return [*found, self.jacobian_finding(setting.sizes, [self.eta] * len(setting.sizes))]


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


def recycling_margins(eta: float, gamma: float, adjacency: Square, steepest: float) -> tuple[float, float]:
    """R-ADMM, conditions (26) and (27): the smallest eigenvalue of each left side minus its right side.

    The matrices are not symmetric; what counts is the quadratic form, so the symmetric part.
    """
    degrees = np.diag(adjacency.sum(axis=0))
    signless, laplacian = degrees + adjacency, degrees - adjacency
    held = 2.0 * eta * degrees + gamma * np.eye(len(adjacency))
    least = float(np.diag(held).min())
    share = eta * signless @ np.linalg.inv(held)
    square = steepest**2 * np.eye(len(adjacency))
    first = np.eye(len(adjacency)) + share - 2.0 / (least * eta) * square @ np.linalg.pinv(laplacian)
    second = eta * signless - 2.0 * share @ (eta * degrees) - 2.0 / least * square
    return _lowest(first), _lowest(second)


def _enough_gamma(eta: float, adjacency: Square, steepest: float) -> str:
    """From which γ on both conditions hold."""

    def both(gamma: float) -> bool:
        return min(recycling_margins(eta, gamma, adjacency, steepest)) > 0.0

    if not both(_LARGEST_GAMMA):
        return "no gamma is enough on a graph whose signless Laplacian is singular, as every bipartite one's is"
    low, high = 0.0, _LARGEST_GAMMA
    while high > 1.01 * low + 1e-6:
        middle = math.sqrt(max(low, 1e-6) * high)
        low, high = (low, middle) if both(middle) else (middle, high)
    return f"both hold from gamma = {high:.3g} on"


def _lowest(matrix: Square) -> float:
    return float(np.linalg.eigvalsh((matrix + matrix.T) / 2.0)[0])
