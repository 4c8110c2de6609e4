"""Two worlds that differ in one row of one agent, and who lives in them: honest agents, a liar, an adversary, shadows.

The first world holds the canary's first row, the second world its second one, in place of one of the victim's own rows.
Everything else is the same: data, graph, network, and every random stream but those of the privacy noise.

docs/audit.md says what the two rows of each canary do to the gradient.

Mostly the row is where it belongs: there is one path to whoever computes with it. The leaves of a trusted hub upload
their rows: there is one path too, but whoever hears the upload knows everything. PDML's users flip labels: there are
two paths, and the eavesdropper, unless it hears the report, weighs both. The reports of all *other* users are the same
in every run and known to it: what is proven holds for any of them, so their users may as well tell.

Shadows are what the eavesdropper has instead of agents: they do what the method prescribes, with the data of one
hypothesis, and never see a noise draw of the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import networkx as nx
import numpy as np
import scipy.sparse as sp

from simnet.audit.lies import LIES, Lie, who
from simnet.audit.section import Audit
from simnet.build import World, build, hold, own_objectives, training
from simnet.errors import ScenarioError
from simnet.learning.dataset import Matrix, bound_rows
from simnet.learning.dealing import DealtData
from simnet.learning.row_objective import Objective
from simnet.methods.method import Calibration
from simnet.methods.peer import Peer
from simnet.scenario import Scenario
from simnet.simulate import first_event
from simnet.streams import Streams
from simnet.vectors import Vector

Report = tuple[bytes, float]
"""A row as it travels: its features, and its label."""
_WITNESSES = 8
SINE = 0.3
"""s of the adversarial pair; c = √(1 − s²)."""


@dataclass(frozen=True, eq=False)
class RowPath:
    """How a row travels: the probability, its report if there is one, and what every agent then computes with."""

    probability: float
    report: Report | None
    training: Sequence[Objective]


def row_paths(world: World, plan: Audit) -> tuple[RowPath, ...]:
    """All paths in a world that holds one of the two rows; where labels are flipped, the unflipped one comes first."""
    scenario, part = world.scenario, world.learning.parts[plan.victim]
    row = part.X[[plan.row]].tobytes() if isinstance(part.X, np.ndarray) else part.X[[plan.row]].toarray().tobytes()
    label = float(part.y[plan.row])
    held, reporting = hold(scenario, world.graph, world.learning.parts, world.streams)
    if reporting is None:
        return (RowPath(1.0, None, world.objectives),)
    reports = reporting.reports[plan.victim]
    if reports is not None and not reports.arrived[plan.row]:
        raise ScenarioError(f"audit.row = {plan.row}: its report is lost on the way, so it takes no part; name another")
    regulariser, flipped = world.calibration.regulariser, scenario.algorithm.flip_probability(scenario.privacy)
    if reports is None or not flipped:
        computed = training(scenario, held, regulariser)
        return (RowPath(1.0, None if reports is None else (row, label), computed),)
    place = int(np.count_nonzero(reports.arrived[: plan.row]))
    found = []
    for probability, told in ((1.0 - flipped, label), (flipped, -label)):
        y = held[plan.victim].y.copy()
        y[place] = told
        mine = training(scenario, [replace(held[plan.victim], y=y)], regulariser)
        every = [*world.training[: plan.victim], *mine, *world.training[plan.victim + 1 :]]
        found.append(RowPath(probability, (row, told), every))
    return tuple(path for path in found if path.probability > 0.0)


@dataclass(frozen=True)
class Pair:
    """The two worlds, honest ones: the lie is told by the peers that `peers` makes.

    `paths` are how the row may have come to its `holder` in either world; `public` are the features that are nobody's.
    """

    plan: Audit
    worlds: tuple[World, World]
    paths: tuple[tuple[RowPath, ...], tuple[RowPath, ...]]
    public: Matrix | None

    @property
    def holder(self) -> int:
        """Who computes with the row: the victim, or the hub that it trusts."""
        return holder(self.worlds[0], self.plan)

    @property
    def adversary(self) -> int | None:
        """The victim's neighbour that drives it, if one does."""
        return neighbour(self.worlds[0], self.plan.victim) if self.plan.canary in _DRIVEN else None

    @property
    def witnesses(self) -> list[int]:
        """The agents, nearest first, whose noise the auditor compares with the holder's; none that drives it."""
        graph = self.worlds[0].graph
        near = list(nx.single_source_shortest_path_length(graph, self.holder))
        return [agent for agent in near if agent not in (self.holder, self.adversary)][:_WITNESSES]

    @property
    def lie(self) -> Lie:
        """What the holder of the row does in place of what it should; nothing if it is honest."""
        return Lie("nothing") if self.plan.lie is None else LIES[self.plan.lie]

    @cached_property
    def clean_models(self) -> tuple[list[Vector], list[Vector]]:
        """All agents' models without noise in either world, where a method perturbs them once."""
        first, second = ([shadow.clean for shadow in self.shadows(side)] for side in (0, 1))
        return first, second

    def path(self, side: int, noise_seed: int) -> RowPath:
        """How the row travels in one run of one world."""
        every = self.paths[side]
        flipped = self.lie.flips * (1.0 - every[0].probability)
        draw = Streams(noise_seed).generator("labels", self.plan.victim).random()
        return every[-1] if draw < flipped else every[0]

    def peers(self, side: int, noise_seed: int) -> list[Peer]:
        """All agents of one world, their privacy noise drawn from streams of their own seed."""
        world, liar = self.worlds[side], self.holder
        plans = list(world.calibration.plans)
        plans[liar] = self.lie.plan(plans[liar])
        calibration = replace(world.calibration, plans=plans)
        made = self._made(world, calibration, self.path(side, noise_seed), noise_seed)
        made[liar] = self.lie.peer(made[liar], Streams(noise_seed), neighbour(world, liar))
        return self._driven(world, made)

    def shadows(self, side: int, path: int = 0, noise_seed: int | None = None) -> list[Peer]:
        """Honest agents of one world, for an eavesdropper that wants to retrace their steps.

        Who names the run is told what an agent draws once and what protects nothing (PDML's tilt).
        """
        world = self.worlds[side]
        seed = world.scenario.seed if noise_seed is None else noise_seed
        made = self._made(world, world.calibration, self.paths[side][path], seed)
        return self._driven(world, made)

    def _made(self, world: World, calibration: Calibration, path: RowPath, seed: int) -> list[Peer]:
        method, rounds = world.scenario.algorithm, world.scenario.rounds
        return method.peers(
            calibration, path.training, world.sizes, rounds, Streams(seed), self.public, _neighbours(world)
        )

    def _driven(self, world: World, made: list[Peer]) -> list[Peer]:
        """The same agents, with the adversary in its place."""
        if self.adversary is not None:
            victim, method = self.plan.victim, world.scenario.algorithm
            honest, degree = made[self.adversary], world.sizes[victim].degree
            made[self.adversary] = method.driver(honest, victim, degree, self._places())
        return made

    def _places(self) -> list[Vector]:
        """Where the adversary drives the victim, round by round."""
        away = np.zeros(self.worlds[0].length)
        away[1] = -self.plan.drive
        places = {
            "adversarial": [away],
            "alternating": [away, -away],
            "absorber": [np.full_like(away, self.plan.drive)],
        }
        return places[self.plan.canary]


_DRIVEN = ("adversarial", "alternating", "absorber")
"""The canaries with a hostile neighbour."""


def neighbour(world: World, agent: int) -> int:
    """One of an agent's neighbours; the agent itself if it has none."""
    return int(min(world.graph[agent], default=agent))


def pair(scenario: Scenario, plan: Audit) -> Pair:
    """Build both worlds; a plan that makes no sense for them is refused."""
    world = build(scenario)
    _check_places(world, plan)
    _check_evidence(world, plan)
    first, second = (_with_row(world, plan, *row) for row in _rows(world, plan))
    return Pair(plan, (first, second), (row_paths(first, plan), row_paths(second, plan)), world.learning.public)


def _check_evidence(world: World, plan: Audit) -> None:
    spec, found = world.scenario.algorithm, world.calibration.plans[plan.victim]
    if plan.evidence == "tests":
        test = None if found is None else found.test
        if test is None:
            raise ScenarioError(f"audit.evidence = 'tests': {spec.name} has no test, only {who('has_test')} has")
        if test.cap != 1:
            raise ScenarioError(
                f"audit.evidence = 'tests': algorithm.max_releases = {test.cap} must be 1, because the "
                "questions after a release depend on the model that was released"
            )


def _check_places(world: World, plan: Audit) -> None:
    if plan.victim >= world.agents:
        raise ScenarioError(f"audit.victim = {plan.victim}: there are {world.agents} agents, counted from 0")
    held = world.learning.rows[plan.victim]
    if plan.row >= held:
        raise ScenarioError(f"audit.row = {plan.row}: agent {plan.victim} holds {held} rows, counted from 0")
    for a, b in plan.links:
        if not world.graph.has_edge(a, b):
            raise ScenarioError(f"audit.links: agents {a} and {b} share no link in this topology")
    if plan.links and not any(holder(world, plan) in link for link in plan.links):
        raise ScenarioError(f"audit.links: no link of agent {holder(world, plan)}, which has the row, is overheard")
    if plan.lie is not None and LIES[plan.lie].flips < 1.0 and not world.scenario.algorithm.flips_labels:
        raise ScenarioError(f"audit.lie = '{plan.lie}': only {who('flips_labels')} flips labels")
    _check_observer(world, plan)
    if plan.canary in _DRIVEN:
        _check_adversary(world, plan)


def _check_observer(world: World, plan: Audit) -> None:
    if not plan.observer:
        if plan.lie is not None and LIES[plan.lie].exposed is not None:
            raise ScenarioError(f"audit.lie = '{plan.lie}': it is about ε against one observer; name audit.observer")
        return
    if not world.scenario.algorithm.linear_gaussian:
        raise ScenarioError(
            f"audit.observer: only {who('linear_gaussian')} has an ε of its own against an agent; leave it out"
        )
    if not world.calibration.noisy:
        raise ScenarioError("audit.observer: without noise there is no ε; choose privacy.calibration = 'proven'")
    if not first_event(world).linear_gaussian:
        raise ScenarioError(
            "audit.observer: its ε is for numbers that are sent whole at times that tell nothing; choose "
            "network.codec = 'float64', and fixed times (network.pacing.send_at) where work takes time by its gradients"
        )
    if plan.observer[-1] >= world.agents:
        raise ScenarioError(f"audit.observer = {plan.observer[-1]}: there are {world.agents} agents, counted from 0")
    if plan.victim in plan.observer:
        raise ScenarioError(f"audit.observer = {plan.victim}: that is the victim, which knows its own row")
    if plan.links:
        raise ScenarioError("audit.links: an observer sees the messages to itself; leave links or audit.observer out")


def _check_adversary(world: World, plan: Audit) -> None:
    spec = world.scenario.algorithm
    if world.length < 2:
        raise ScenarioError(f"audit.canary = '{plan.canary}': it needs data with at least two features")
    if not world.graph[plan.victim]:
        raise ScenarioError(f"audit.canary = '{plan.canary}': the victim, agent {plan.victim}, has no neighbour")
    if reason := spec.not_driven(plan.victim, reports_heard=plan.evidence == "all"):
        raise ScenarioError(f"audit.canary = '{plan.canary}': {reason}")


def holder(world: World, plan: Audit) -> int:
    """Who computes with the row in question: its owner, or the hub that it was entrusted to."""
    return world.scenario.algorithm.holder(plan.victim)


def _rows(world: World, plan: Audit) -> tuple[tuple[Vector, float], tuple[Vector, float]]:
    """The canary: two rows with their labels."""
    features = world.learning.features
    if plan.canary == "label-flip":
        part = world.learning.parts[plan.victim]
        held = part.X[[plan.row]]
        row = held.toarray()[0] if isinstance(held, sp.csr_array) else held[0]
        label = float(part.y[plan.row])
        return (row, label), (row, part.other_label(label))
    first = np.zeros(features)
    if plan.canary in ("worst-case", "absorber"):
        first[0] = 1.0
        first = _bounded(first)
        return (first, 1.0), (first, world.learning.test.other_label(1.0))
    first[:2] = math.sqrt(1.0 - SINE**2), SINE
    first = _bounded(first)
    second = first.copy()
    second[0] = -first[0]
    return (first, 1.0), (second, 1.0)


def _bounded(row: Vector) -> Vector:
    """The row with a norm of at most 1 in floating point too, as every other row has."""
    bounded = bound_rows(row[np.newaxis, :])
    assert isinstance(bounded, np.ndarray)
    return np.array(bounded[0], dtype=np.float64)


def _with_row(world: World, plan: Audit, row: Vector, label: float) -> World:
    """The world with the victim's row replaced; what only the evaluation looks at is cut down, because nobody will."""
    parts = list(world.learning.parts)
    held = parts[plan.victim]
    X = held.X.toarray() if isinstance(held.X, sp.csr_array) else held.X.copy()
    y = held.y.copy()
    X[plan.row], y[plan.row] = row, label
    parts[plan.victim] = replace(held, X=sp.csr_array(X) if isinstance(held.X, sp.csr_array) else X, y=y)
    learning = DealtData(parts, world.learning.test.take(np.arange(1)))
    objectives = list(world.objectives)
    changed = own_objectives(world.scenario, [parts[plan.victim]], world.calibration.regulariser)
    objectives[plan.victim] = changed[0]
    return replace(world, learning=learning, objectives=objectives)


def _neighbours(world: World) -> list[list[int]]:
    return [sorted(world.graph[agent]) for agent in world.graph]
