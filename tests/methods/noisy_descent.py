"""Methods as a user would write them: descent by noisy gradients with averaging, by ready plans alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from simnet import Scenario
from simnet.learning.objective import LOSSES, LocalObjective, Subproblem
from simnet.learning.solver import Problem, Solver
from simnet.methods.method import AgentPlace, AgentSize, Method
from simnet.methods.peer import OUTSIDE, Known, Peer, PrivatePeer, Proposal, Test, Work, in_objective, within
from simnet.parts.fields import Positive
from simnet.privacy.budget import NoisePlan, Privacy
from simnet.privacy.ledger import RECYCLED, Charge
from simnet.privacy.objective_perturbation import PerturbationPlan
from simnet.privacy.problem import LocalProblem
from simnet.privacy.ready_plans import (
    gaussian_plan,
    laplace_plan,
    mean_sensitivity,
    objective_plan,
    sampled_plan,
    threshold_test,
)
from simnet.privacy.recovered import Candidate
from simnet.streams import Streams
from simnet.vectors import Parts, Vector

CHARGES = {
    "nothing": (),
    "recycled": (RECYCLED,),
    "trusted-upload": (Charge.of("trusted-upload", {}),),
    "declared": (Charge.of("declared-pure", {"epsilon": 0.01}),),
}
"""What a method may say that it pays, instead of what its plan says."""


def running(scenario: Scenario, method: Method) -> Scenario:
    """The scenario with a method that is in no table, named as a user would name it if that is possible."""
    if type(method).__name__ not in globals():
        return scenario.model_copy(update={"algorithm": method})
    fields = method.model_dump(exclude_unset=True, exclude={"name"})
    return scenario.with_(algorithm={"name": f"{__name__}:{type(method).__name__}"} | fields)


class NoisyDescent(Method):
    """Descent by noisy gradients; agents average what they hear."""

    noise_amounts: ClassVar[tuple[str, ...]] = ("sigma",)

    name: Literal["noisy-descent"] = "noisy-descent"
    step: Positive = Field(0.5, description="length of a step")
    sigma: Positive | None = Field(None, description="σ of the noise")
    noise: Literal["gaussian", "laplace"] = Field("gaussian", description="kind of noise")
    charges: Literal["plan", "nothing", "recycled", "trusted-upload", "declared"] = Field(
        "plan", description="what it pays"
    )
    loss: Literal["logistic", "smoothed-hinge"] = Field("logistic", description="loss of one row")

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan | None:
        moves = mean_sensitivity(size.rows, LOSSES[self.loss].lipschitz)
        if self.noise == "laplace":
            return laplace_plan(privacy, rounds, moves * size.features**0.5)
        return gaussian_plan(privacy, rounds, moves, sigma=self.sigma)

    def peer(self, plan: NoisePlan | None, objective: LocalObjective, place: AgentPlace, streams: Streams) -> Peer:
        peer = NoisyDescentPeer(plan, objective, self.step, place, streams)
        peer.says = CHARGES.get(self.charges)
        return peer


class NoisyDescentPeer(PrivatePeer):
    """One agent."""

    says: tuple[Charge, ...] | None = None

    def __init__(self, plan, objective, step, place, streams) -> None:
        super().__init__(objective.features, plan, streams.generator("noise", place.agent))
        self.objective, self.step = objective, step
        self.mean: Vector = np.zeros(objective.features)

    def propose(self, t: int) -> Proposal:
        noisy = self.plan.perturb(t, self.objective.loss_gradient(self.mean), self.rng)
        charges = self.charges(t) if self.says is None else self.says
        return Proposal((self.mean - self.step * noisy,), 1, 0.0, charges)

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        self.theta = self.theta if sent is None else sent[0]
        self.mean = np.mean([self.theta, *(value.parts[0] for value in known)], axis=0)

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        return self.plan.noise_in(t, self.objective.loss_gradient(self.mean), (self.mean - released) / self.step)


class SampledDescent(NoisyDescent):
    """The same with a tenth of the rows in each round."""

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan | None:
        return sampled_plan(privacy, rounds, LOSSES[self.loss].lipschitz / size.rows, 0.1)

    def peer(self, plan: NoisePlan | None, objective: LocalObjective, place: AgentPlace, streams: Streams) -> Peer:
        return SampledDescentPeer(plan, objective, self.step, place, streams)


class SampledDescentPeer(NoisyDescentPeer):
    """One agent."""

    def gradients(self) -> Vector:
        """What each row would add: its gradient over m."""
        rows = self.objective.dataset("own")
        folded = rows.X * rows.y[:, None]
        return folded * (self.objective.loss.slope(folded @ self.mean) / self.objective.rows)[:, None]

    def propose(self, t: int) -> Proposal:
        rows = self.plan.sample(self.rng, self.objective.rows)
        noisy = self.plan.perturb(t, self.gradients()[rows].sum(axis=0), self.rng)
        return Proposal((self.mean - self.step / self.plan.rate * noisy,), 1, 0.0, self.charges(t))

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        return self.plan.noise_among(t, self.gradients(), (self.mean - released) * self.plan.rate / self.step)


class GatedDescent(NoisyDescent):
    """The same, where a test lets five rounds pass in which the mean loss is at least 0.3."""

    has_test: ClassVar[bool] = True

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan | None:
        test = threshold_test(privacy, 2.0 / size.rows, 0.3, 5, share=0.5)
        return gaussian_plan(privacy, rounds, mean_sensitivity(size.rows, LOSSES[self.loss].lipschitz), test=test)

    def peer(self, plan: NoisePlan | None, objective: LocalObjective, place: AgentPlace, streams: Streams) -> Peer:
        return GatedDescentPeer(plan, objective, self.step, place, streams)


class GatedDescentPeer(NoisyDescentPeer):
    """One agent."""

    def propose(self, t: int) -> Proposal:
        if self.test.exhausted:
            return Proposal(None, 0, 0.0, skipped="exhausted")
        query = self.objective.mean_loss(self.mean, ceiling=2.0)
        test = Test(self.test.test(query), query)
        if not test.passed:
            return Proposal(None, 1, 0.0, self.charges(t, released=False), test, "test")
        noisy = self.plan.perturb(t, self.objective.loss_gradient(self.mean), self.rng)
        return Proposal((self.mean - self.step * noisy,), 1, 0.0, self.charges(t), test)


class PerturbedSolve(NoisyDescent):
    """Each agent minimises its own objective near the mean of what it hears, perturbed."""

    curvature: Positive = Field(0.5, description="weight of the distance to the mean")

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan | None:
        loss = LOSSES[self.loss]
        problem = LocalProblem(
            size.rows, self.curvature, lipschitz=loss.lipschitz, smoothness=loss.smoothness, features=size.features
        )
        return objective_plan(privacy, rounds, problem)

    def peer(self, plan: NoisePlan | None, objective: LocalObjective, place: AgentPlace, streams: Streams) -> Peer:
        return PerturbedSolvePeer(plan, objective, self.curvature, streams.generator("noise", place.agent))


class PerturbedSolvePeer(Peer):
    """One agent."""

    def __init__(self, plan: PerturbationPlan, objective: LocalObjective, curvature: float, rng) -> None:
        super().__init__(objective.features)
        self.plan, self.objective, self.curvature, self.rng = plan, objective, curvature, rng
        self.mean: Vector = np.zeros(objective.features)
        self.solver = Solver(objective)

    def propose(self, t: int) -> Proposal | Work:
        b1, b2 = self.plan.draw(self.rng, self.objective.features)
        linear = -self.curvature * self.mean
        if not within((linear,), (self.plan.domain,)):
            return OUTSIDE
        found = yield Problem(self.solver, linear + b1, self.curvature, self.theta, self.plan.stop)
        return Proposal((self.plan.finished(found.theta, b2),), found.gradients, 0.0, (self.plan.release,))

    absorb = NoisyDescentPeer.absorb
    noise_source = PrivatePeer.noise_source

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        problem = Subproblem(self.objective, -self.curvature * self.mean, self.curvature)
        plan = self.plan
        return in_objective(problem, released, 1.0, "gaussian", plan.sigma1, plan.sigma2, plan.tolerance)

    def price(self, t: int) -> tuple[Charge, ...] | None:
        return (self.plan.release,)
