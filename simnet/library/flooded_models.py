"""Few models, each told to everybody: the fewest releases that (ε, δ) can be spent on.

    z = 0
    T times: θ_i = argmin (1/m) Σ l(y θ·x) + (ρ/2)|θ − z|² + b·θ + output noise,    b ~ N(0, σ² I)
             flood θ_i;  z = the mean of all θ_i that are known

z is a function of releases, so each of the T solves is one objective perturbation with a public linear term −ρz and
curvature ρ, and prices add (docs/proofs.md, theorem 15). T = 1 is the one-shot average. Rows have scaled columns
(`Scaled`) unless the scenario says otherwise.

Under loss an agent goes on with the mean over those that it knows; where an agent's newest model has not arrived, its
one before counts. The rounds of a run are shared out among the T solves, so that there is time to tell models on, and
again where one was lost: a solve needs at least as many rounds as the longest path between two agents has links.

ρ. By default 2.8 T^0.7/(m ε^0.8): the share κ = c1/(mρ) of one row in the curvature, not ρ, is what stays alike where
agents have more or fewer rows. The three numbers were found on Adult with c = 0.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from simnet.extend import (
    BARE,
    MOST_VERSIONS,
    OUTSIDE,
    RECYCLED,
    AdmmPeer,
    AgentPlace,
    AgentSize,
    Candidate,
    Charge,
    Count,
    Facts,
    Field,
    Finding,
    Flood,
    Known,
    LocalProblem,
    Method,
    NoisePlan,
    Objective,
    Parts,
    Peer,
    PerturbationPlan,
    Positive,
    Privacy,
    Proposal,
    Scaled,
    Setting,
    Streams,
    Surroundings,
    Told,
    Vector,
    Work,
    flood_lengths,
    flood_reaches,
    model_validator,
    objective_plan,
)

LONGEST_PULL = 1.0
"""How long ρz is at most: honest models are a thousand times shorter than 1/ρ."""


class FloodedModels(Method):
    """What both methods have, on rows as they are."""

    needs: ClassVar[frozenset[str]] = frozenset({"margins"})
    public_silences: ClassVar[tuple[str, ...]] = ("told",)
    bundles: ClassVar[bool] = True
    floods: ClassVar[bool] = True

    penalty: Positive | None = Field(
        None, description="ρ, the weight of ½|θ − z|²; default: 2.8 T^0.7/(m ε^0.8), which was found on Adult"
    )
    tolerance: Positive | None = Field(
        None, description="β, the gradient norm at which a local solve may stop; default: chosen by the calibration"
    )

    @property
    def releases(self) -> int:
        """T."""
        return 1

    def rho(self, privacy: Privacy, rows: int) -> float:
        """ρ of an agent with so many rows."""
        return self.penalty or 2.8 * self.releases**0.7 / (rows * privacy.epsilon**0.8)

    def misfit(self, around: Surroundings) -> str | None:
        return Flood.misfit(around) or super().misfit(around)

    def message_lengths(self, features: int) -> tuple[int, ...]:
        return flood_lengths(features)

    @property
    def sends_models_only(self) -> bool:
        return False

    def plan(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan:
        lipschitz, smoothness = size.constants
        problem = LocalProblem(
            size.rows,
            self.rho(privacy, size.rows),
            lipschitz=lipschitz,
            smoothness=smoothness,
            features=size.features,
            linear=LONGEST_PULL,
        )
        return objective_plan(privacy, min(self.releases, rounds), problem, self.tolerance)

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        assert isinstance(plan, PerturbationPlan)
        return FloodedPeer(self, plan, objective, place, streams)

    def theory(self, setting: Setting) -> list[Finding]:
        rounds = max(1, setting.rounds // min(self.releases, setting.rounds))
        return [flood_reaches("a model reaches everybody", rounds, setting)]

    def problem_facts(self, sizes: Sequence[AgentSize], regulariser: float) -> Facts:
        return {"solves": self.releases, "ρ": self.penalty or "2.8 T^0.7/(m ε^0.8)"}


class OneShot(Scaled, FloodedModels):
    """One model per agent, learned once on scaled columns and told to everybody; what counts is the mean."""

    colour: ClassVar[str] = "#661100"
    planned: ClassVar[bool] = True

    name: Literal["one-shot"]


class ProxRounds(Scaled, FloodedModels):
    """A few models per agent on scaled columns, each told to everybody and learned near the mean of those before."""

    colour: ClassVar[str] = "#999933"
    planned: ClassVar[bool] = True

    name: Literal["prox-rounds"]
    solves: Count = Field(2, description="T, how many models an agent releases (fewer where there are fewer rounds)")

    @model_validator(mode="after")
    def _few_enough(self) -> ProxRounds:
        if self.solves > MOST_VERSIONS:
            raise ValueError(f"solves: at most {MOST_VERSIONS}, which is what messages have room for")
        return self

    @property
    def releases(self) -> int:
        return self.solves


class FloodedPeer(AdmmPeer):
    """One agent of either method: θ is the mean of the models that it knows."""

    silences = ("told",)

    def __init__(
        self,
        method: FloodedModels,
        plan: PerturbationPlan,
        objective: Objective,
        place: AgentPlace,
        streams: Streams,
    ) -> None:
        # The quadratic term of ADMM with one neighbour and η = ρ/2 is (ρ/2)|θ|².
        super().__init__(objective, degree=1, eta=plan.curvature / 2, tolerance=plan.stop, domain=plan.domain)
        self.plan = plan
        self.rng = streams.generator("noise", place.agent)
        self.rounds = place.rounds
        self.solves = min(method.releases, place.rounds)
        longest = plan.domain / plan.curvature  # so that |ρz| is at most the domain
        self.limits = (longest,) * 2
        self.flood = Flood(place.agent, place.degrees, place.agents, objective.features, longest)
        self.round = 1

    def version(self, t: int) -> int:
        """Which model is being told in round t, counted from 1."""
        return min((t - 1) // (self.rounds // self.solves), self.solves - 1) + 1

    def solving(self, t: int) -> bool:
        """Whether round t is the first of its model."""
        return t == 1 or self.version(t) > self.version(t - 1)

    @property
    def pull(self) -> Vector:
        """The linear term of (ρ/2)|θ − z|²."""
        return -self.plan.curvature * self.theta

    def initial(self) -> Parts:
        return ()

    def accepts(self, round: int, parts: Parts) -> bool:
        return self.flood.accepts(parts)

    def propose(self, t: int) -> Work:
        if self.solving(t):
            return (yield from self._solved())
        if not self.flood.busy(t, last=t == self.rounds or self.solving(t + 1)):
            return Proposal(None, skipped="told")
        return Proposal((self.theta,), charges=self.price(t))

    def _solved(self) -> Work:
        b1, b2 = self.plan.draw(self.rng, self.objective.features)
        if self.outside(self.pull):
            return OUTSIDE
        solution = yield from self.minimiser(self.pull + b1)
        released = self.plan.finished(solution.theta, b2)
        return Proposal((released,), solution.gradients, solution.gradient_norm, (self.plan.release,))

    def letters(self, model: Vector, neighbours: Iterable[int]) -> Mapping[int, Parts]:
        if self.solving(self.round):
            self.flood.release(self.version(self.round), model)
        return self.flood.letters(self.round, neighbours)

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        self.round = t + 1
        if self.solving(t) and sent is not None:
            self.flood.release(self.version(t), sent[0])
        self.flood.hear(known)
        self.theta = self.flood.mean

    def own_model(self, t: int, sent: Parts | None, known: Sequence[Known]) -> Told | None:
        return None if sent is None or not self.solving(t) else self.told(*self.flood.newest[self.flood.agent])

    def model_heard(self, value: Known) -> Vector | None:
        """A letter tells models of many; this neighbour's own may have come by another way."""
        return self.flood.newest[value.peer][1] if value.peer in self.flood.newest else None

    def known_models(self) -> Mapping[int, Told]:
        return {origin: self.told(*newest) for origin, newest in self.flood.newest.items()}

    def told(self, version: int, model: Vector) -> Told:
        """A model with the round in which its origin solved for it."""
        return Told((version - 1) * (self.rounds // self.solves) + 1, model)

    @property
    def noise_source(self) -> np.random.Generator:
        return self.rng

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        return self.noise_in(self.plan, self.pull, released) if self.solving(t) else None

    def price(self, t: int) -> tuple[Charge, ...]:
        return (self.plan.release if self.solving(t) or self.plan.release is BARE else RECYCLED,)

    def recycled(self, t: int) -> Vector | None:
        return None if self.solving(t) else self.theta
