"""A method as a user would write it: descent by noisy gradients with gossip averaging, by a ready plan alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from simnet import Scenario
from simnet.learning.objective import LOSSES, LocalObjective
from simnet.methods.method import AgentPlace, AgentSize, Method
from simnet.methods.peer import Known, Peer, Proposal
from simnet.parts.fields import Positive
from simnet.privacy.budget import NoisePlan, Privacy
from simnet.privacy.ledger import RECYCLED, Charge
from simnet.privacy.ready_plans import ReadyPlan, gaussian_plan, laplace_plan, mean_sensitivity
from simnet.privacy.recovered import Candidate
from simnet.streams import Streams
from simnet.vectors import Parts, Vector


def running(scenario: Scenario, method: Method) -> Scenario:
    """The scenario with a method that is in no table."""
    return scenario.model_copy(update={"algorithm": method})


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
        assert isinstance(plan, ReadyPlan)
        paid = {
            "plan": None,
            "nothing": (),
            "recycled": (RECYCLED,),
            "trusted-upload": (Charge.of("trusted-upload", {}),),
            "declared": (Charge.of("declared-pure", {"epsilon": 0.01}),),
        }[self.charges]
        return NoisyDescentPeer(plan, objective, self.step, streams.generator("noise", place.agent), paid)


class NoisyDescentPeer(Peer):
    """One agent."""

    def __init__(self, plan, objective, step, rng: np.random.Generator, paid) -> None:
        super().__init__(objective.features)
        self.plan, self.objective, self.step, self.rng, self.paid = plan, objective, step, rng, paid
        self.mean: Vector = np.zeros(objective.features)
        self.limits = (plan.limit,)

    def propose(self, t: int) -> Proposal:
        noisy = self.plan.perturb(t, self.objective.loss_gradient(self.mean), self.rng)
        charges = (self.plan.charge(t),) if self.paid is None else self.paid
        return Proposal((self.mean - self.step * noisy,), 1, 0.0, charges)

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        self.theta = self.theta if sent is None else sent[0]
        self.mean = np.mean([self.theta, *(value.parts[0] for value in known)], axis=0)

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        return self.plan.noise_in(t, self.objective.loss_gradient(self.mean), (self.mean - released) / self.step)

    @property
    def noise_source(self) -> np.random.Generator | None:
        return self.rng

    def price(self, t: int) -> tuple[Charge, ...] | None:
        return (self.plan.charge(t),)
