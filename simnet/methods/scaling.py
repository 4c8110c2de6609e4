"""Rows whose columns are scaled by what all agents have told of them: a part of a method that learns on such rows.

Before the first round of learning every agent tells, once and with noise, the mean of x∘x over its rows, each shortened
to norm r:

    v_i = (1/m) Σ u + N(0, s² I),       u = x∘x min(1, r/|x∘x|)
    S   = max(v, 0.3 s/√k)^(−1/2),      v the mean over the k agents that are known
    x   → Sx/|Sx|                       norm 1, whatever S is

Replacing one row moves the mean by at most √2 r/m, because u has no entry below 0 (docs/proofs.md, theorem 14). A row
of norm at most 1 is all that the proofs of what comes after ask for, and S was released: prices add.

Moments are flooded (`simnet.methods.flooding`), as signed roots: whole steps are finer there where moments are small.
An agent scales by those that it knows when the opening ends. Under loss two agents may know different ones and their
coordinates are then a little apart, by as much as one agent's moments move the mean of all. A model of the original
features is Sθ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, ClassVar, cast

import numpy as np
from pydantic import Field

from simnet.errors import ScenarioError
from simnet.learning.objective import LocalObjective
from simnet.learning.row_objective import Objective
from simnet.learning.scaled_rows import ScaledObjective, moments
from simnet.learning.task import NEEDED, Task
from simnet.methods.flooding import MOST_AGENTS, Flood, flood_lengths, flood_reaches
from simnet.methods.method import AgentPlace, AgentSize, Calibration, Finding, Method, Setting, Surroundings
from simnet.methods.peer import Known, Peer, Proposal, Told, Work
from simnet.parts.fields import Count, PositiveShare, Share, Switch
from simnet.privacy.budget import NoisePlan, Privacy
from simnet.privacy.ledger import BARE, RECYCLED, Charge
from simnet.privacy.moments_plan import MomentsPlan, beside, moments_noise
from simnet.privacy.ready_plans import mean_sensitivity
from simnet.privacy.recovered import Candidate
from simnet.privacy.sparse_vector import SparseVector
from simnet.streams import Streams
from simnet.vectors import Parts, Vector

FLOOR = 0.3
"""How much of their noise moments have at least."""
_LEAST = 1e-9
"""What moments have at least where there is no noise."""


class Scaled(Method):
    """What a method has that learns on scaled rows: class MyScaled(Scaled, Mine)."""

    public_silences: ClassVar[tuple[str, ...]] = ("told",)
    bundles: ClassVar[bool] = True
    begins_again: ClassVar[bool] = False
    linear_gaussian: ClassVar[bool] = False

    scaled: Switch = Field(True, description="whether columns are scaled by released moments; if not, rows stay")
    moment_rounds: Count = Field(
        2,
        description="rounds in which moments are told on before learning begins (at most half of all): at least as "
        "many as the longest path between two agents has links, and more where messages are lost",
    )
    moment_share: Share = Field(0.05, description="share of the budget that the moments have")
    moment_norm: PositiveShare = Field(0.35, description="r, the norm to which x∘x of a row is shortened")

    def opening(self, rounds: int) -> int:
        """How many of all rounds are not for learning."""
        if rounds < 2:
            raise ScenarioError("rounds: scaled columns need a round of their own before learning; 2 would do")
        return min(self.moment_rounds, rounds // 2)

    def misfit(self, around: Surroundings) -> str | None:
        return (Flood.misfit(around) if self.scaled else None) or super().misfit(around)

    def misfit_of_privacy(self, privacy: Privacy) -> str | None:
        if self.scaled and privacy.calibration == "paper":
            return "privacy.calibration: no paper has a price for scaled columns; choose proven"
        return super().misfit_of_privacy(privacy)

    def misfit_of_task(self, task: Task | None) -> str | None:
        if self.scaled and task is not None and "margins" not in task.offers:
            return f"task: scaled columns need {NEEDED['margins']}, and {task.word} has none"
        return super().misfit_of_task(task)

    def calibrate(self, privacy: Privacy, sizes: Sequence[AgentSize], rounds: int) -> Calibration:
        if not self.scaled:
            return super().calibrate(privacy, sizes, rounds)
        if type(self).peers is not Method.peers:
            raise ScenarioError(
                f"algorithm: {self.name} makes all agents at once, and columns are scaled for one by one"
            )
        if len(sizes) > MOST_AGENTS:
            raise ScenarioError(f"topology.agents: messages have room for the names of {MOST_AGENTS} agents")
        left = rounds - self.opening(rounds)
        found = {size: self._moments_and(privacy, size, left) for size in dict.fromkeys(sizes)}
        return Calibration([found[size] for size in sizes], getattr(self, "regulariser", 0.0), self.limit(privacy))

    def _moments_and(self, privacy: Privacy, size: AgentSize, rounds: int) -> NoisePlan:
        moments = moments_noise(privacy, moment_sensitivity(size.rows, self.moment_norm), self.moment_share)

        def plan(asked: Privacy) -> NoisePlan:
            (found,) = super(Scaled, self).calibrate(asked, [size], rounds).plans
            if found is None:
                raise ScenarioError(
                    f"algorithm: {self.name} adds no noise, and moments are told with some; scale no columns"
                )
            return found

        if privacy.calibration == "none" or self.names_its_noise:
            return MomentsPlan(moments, plan(privacy))
        return beside(privacy, moments, plan)

    def message_lengths(self, features: int) -> tuple[int, ...]:
        if not self.scaled:
            return super().message_lengths(features)
        return tuple(map(max, zip_longest(self.learner_lengths(features), flood_lengths(features), fillvalue=0)))

    def learner_lengths(self, features: int) -> tuple[int, ...]:
        """Those of the vectors in the longest message of the method that learns."""
        return super().message_lengths(features)

    @property
    def sends_models_only(self) -> bool:
        return not self.scaled and super().sends_models_only

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        if not self.scaled:
            return super().peer(plan, objective, place, streams)
        assert isinstance(plan, MomentsPlan)
        return ScaledPeer(self, plan, objective, place, streams)

    def learner(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        """The peer that learns once the rows are scaled."""
        later = replace(place, rounds=place.rounds - self.opening(place.rounds))
        return super().peer(plan, objective, later, streams)

    def theory(self, setting: Setting) -> list[Finding]:
        if not self.scaled:
            return super().theory(setting)
        opening = self.opening(setting.rounds)
        plans = [plan.then for plan in setting.calibration.plans if isinstance(plan, MomentsPlan)]
        later = replace(setting.calibration, plans=plans)
        found = flood_reaches("moments reach everybody", opening, setting)
        return [found, *super().theory(replace(setting, rounds=setting.rounds - opening, calibration=later))]

    def not_driven(self, victim: int, *, reports_heard: bool) -> str | None:
        return f"{self.name} does not say how a neighbour could drive its victim"


class SameStreams(Streams):
    """Streams that go on where they are: a learner is made twice, and no number that hid the moments hides more.

    Each that was begun is an attribute, so that a checkpoint brings it back as the same object as elsewhere.
    """

    def __init__(self, first: Streams) -> None:
        super().__init__(first.seed, first.noise, first.every)
        vars(self)["first"] = first

    def generator(self, role: str, name: object = "") -> np.random.Generator:
        begun, stream = vars(self), f"{role}/{name}"
        if stream not in begun:
            begun[stream] = begun["first"].generator(role, name)
        return cast(np.random.Generator, begun[stream])

    def visits(self, role: str, names: Iterable[object]) -> Iterator[np.random.Generator]:
        return cast(Streams, vars(self)["first"]).visits(role, names)


def moment_sensitivity(rows: int, norm: float) -> float:
    """How far one replaced row moves the mean of vectors without negative entries, of norm at most `norm`: √2 r/m."""
    return mean_sensitivity(rows, norm) / 2**0.5


class ScaledPeer(Peer):
    """An agent that tells its moments, hears of those of the others, and then learns on scaled rows.

    Until then `learner` has the rows as they are: it says what it accepts, and does nothing.
    """

    def __init__(
        self, method: Scaled, plan: MomentsPlan, objective: Objective, place: AgentPlace, streams: Streams
    ) -> None:
        super().__init__(objective.features)
        self.method, self.plan, self.objective, self.place = method, plan, objective, place
        self.streams = SameStreams(streams)
        self.learner = method.learner(plan.then, objective, place, self.streams)
        self.limits = self.learner.limits
        self.silences, self.private_silences = tuple(method.silences), method.private_silences
        self.opening = method.opening(place.rounds)
        self.flood = Flood(place.agent, place.degrees, place.agents, objective.features, self._longest)
        self.factors: Vector = np.ones(objective.features)
        self._round = 1

    @property
    def _longest(self) -> float:
        """Of roots of moments: an honest agent's squares add up to at most √p r and noise."""
        return 1e3 * math.sqrt((1.0 + self.plan.sigma) * self.objective.features)

    @property
    def rng(self) -> np.random.Generator:
        """Where its noise comes from; the learner goes on with it, and so does whatever draws beside it (a test)."""
        return cast(np.random.Generator, cast(Any, self.learner).rng)

    @rng.setter
    def rng(self, source: np.random.Generator) -> None:
        cast(Any, self.learner).rng = source

    @property
    def dual(self) -> Vector:
        return self.learner.dual

    def initial(self) -> Parts:
        return ()

    def accepts(self, round: int, parts: Parts) -> bool:
        if round <= self.opening:
            return self.flood.accepts(parts)
        found = tuple(len(part) for part in parts)
        told = bool(self.learner.initial())  # of letters of a flood nothing is known at first, and it looks itself
        if told and found != self.method.learner_lengths(self.objective.features)[: len(found)]:
            return False
        return self.learner.accepts(round - self.opening, parts)

    def propose(self, t: int) -> Proposal | Work:
        if t > self.opening:
            return self.learner.propose(t - self.opening)
        if t == 1:
            released = self.plan.moments.perturb(1, self._moments(), self.rng)
            return Proposal((released,), gradients=1, charges=self.price(1) or ())
        if not self.flood.busy(t, last=t == self.opening):
            return Proposal(None, skipped="told")
        return Proposal((self.theta,), charges=self.price(t) or ())

    def settled(self, *, accepted: bool) -> None:
        if self._round > self.opening:
            self.learner.settled(accepted=accepted)

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        return self.learner.accompany(t - self.opening, model, self._later(known))

    def letters(self, model: Vector, neighbours: Iterable[int]) -> Mapping[int, Parts] | None:
        if self._round > self.opening:
            return self.learner.letters(model, neighbours)
        if self._round == 1:
            self.flood.release(0, _roots(model))
        return self.flood.letters(self._round, neighbours)

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        self._round = t + 1
        if t > self.opening:
            self.learner.absorb(t - self.opening, sent, self._later(known))
            self.theta = self.factors * self.learner.theta
            return
        if t == 1 and sent is not None:
            self.flood.release(0, _roots(sent[0]))
        self.flood.hear(known, until=self.opening)
        if t == self.opening:
            self._begin()

    def own_model(self, t: int, sent: Parts | None, known: Sequence[Known]) -> Told | None:
        if t <= self.opening:
            return None
        found = self.learner.own_model(t - self.opening, sent, self._later(known))
        return None if found is None else self._unscaled(found)

    def model_heard(self, value: Known) -> Vector | None:
        shifted = self._shifted(value)
        found = None if shifted is None else self.learner.model_heard(shifted)
        return None if found is None else self.factors * found

    def known_models(self) -> Mapping[int, Told]:
        return {origin: self._unscaled(told) for origin, told in self.learner.known_models().items()}

    def _unscaled(self, told: Told) -> Told:
        """For the original features, and with the round of the run."""
        return Told(told.round + self.opening, self.factors * told.model)

    def _moments(self) -> Vector:
        return moments(self.objective.dataset(""), self.method.moment_norm)

    def _begin(self) -> None:
        """Scale the rows by what is known of all agents' moments."""
        roots = [self.flood.newest[origin][1] for origin in sorted(self.flood.newest)]
        found = np.sum([root * np.abs(root) for root in roots], axis=0) / max(1, len(roots))
        floor = max(FLOOR * self.plan.sigma / max(1, len(roots)) ** 0.5, _LEAST)
        self.factors = 1.0 / np.sqrt(np.maximum(found, floor)) if roots else self.factors
        rng, base = self.rng, cast(LocalObjective, self.objective)
        scaled = ScaledObjective(base, self.factors)
        self.learner = self.method.learner(self.plan.then, scaled, self.place, self.streams)
        self.rng = rng

    def _later(self, known: Sequence[Known]) -> list[Known]:
        """What is known of the neighbours as the learner counts its rounds."""
        return [self._shifted(value) or Known(value.peer, 0, self.learner.initial()) for value in known]

    def _shifted(self, value: Known | None) -> Known | None:
        if value is None or value.round <= self.opening:
            return None
        return Known(value.peer, value.round - self.opening, value.parts, self._shifted(value.before))

    # What an auditor asks.

    @property
    def noise_source(self) -> np.random.Generator | None:
        return self.learner.noise_source

    @property
    def sparse_vector(self) -> SparseVector | None:
        return self.learner.sparse_vector

    def asks(self, t: int) -> bool:
        return t > self.opening and self.learner.asks(t - self.opening)

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        if t > self.opening:
            return self.learner.noise_of(t - self.opening, released, self._later(known))
        return self.plan.moments.noise_in(1, self._moments(), released) if t == 1 else None

    def price(self, t: int) -> tuple[Charge, ...] | None:
        if t > self.opening:
            return self.learner.price(t - self.opening)
        paid = self.plan.moments.charge(1)
        return (paid if t == 1 or paid is BARE else RECYCLED,)

    def recycled(self, t: int) -> Vector | None:
        if t > self.opening:
            return self.learner.recycled(t - self.opening)
        return None if t == 1 else self.theta

    def question(self, released: Vector | None) -> float | None:
        return self.learner.question(released)


def _roots(values: Vector) -> Vector:
    return np.sign(values) * np.sqrt(np.abs(values))
