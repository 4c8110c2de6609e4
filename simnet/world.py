"""From a Scenario to the objects that run: data, graph, agents.

Nothing here decides anything: sections of the scenario become calls of the rooms below, each with its own random
stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

import networkx as nx
import numpy as np

from simnet.errors import DataError, ScenarioError
from simnet.learning import adult, files, generated, partition, prepare
from simnet.learning.datasets import Dataset, Matrix
from simnet.learning.losses import LOSSES
from simnet.learning.objective import LocalObjective
from simnet.methods.agent_size import Standing
from simnet.methods.dp_admm import HUB, DpAdmm
from simnet.methods.plans import Budgeting, budgeting
from simnet.reporting import Reporting, report, training
from simnet.scenario import Scenario
from simnet.scenario import data as data_section
from simnet.sim.gc_pause import resting
from simnet.streams import Streams
from simnet.wiring import models

DEFAULT_ROWS, DEFAULT_FEATURES, DEFAULT_LABEL_NOISE = 5000, 20, 0.1


@dataclass(frozen=True)
class World:
    """Everything about a scenario that does not change while it runs; one world can be simulated many times."""

    scenario: Scenario
    graph: nx.Graph[int]
    learning: Learning
    standings: list[Standing]
    budgeting: Budgeting
    objectives: list[LocalObjective]
    """Each agent's f_i on its own rows, which evaluation looks at."""
    training: list[LocalObjective]
    """What each agent computes with: another thing where rows or labels were reported."""
    reporting: Reporting | None = None

    @property
    def agents(self) -> int:
        return len(self.standings)


@resting()
def build(scenario: Scenario) -> World:
    """Load the data, draw the graph, calibrate the noise."""
    edges = graph(scenario)
    dealt = learning(scenario, edges.number_of_nodes())
    held, reporting = hold(scenario, edges, dealt.parts)
    standings = [Standing(part.rows, edges.degree[agent]) for agent, part in enumerate(held)]
    budget = budgeting(scenario, standings)
    objectives = dealt.objectives(scenario, budget.regulariser)
    trained = objectives if reporting is None else training(scenario, held, budget.regulariser)
    kept = replace(dealt, parts=Recovered(dealt.parts[0].name, objectives))
    return World(scenario, edges, kept, standings, budget, objectives, trained, reporting)


def hold(scenario: Scenario, edges: nx.Graph[int], parts: Sequence[Dataset]) -> tuple[list[Dataset], Reporting | None]:
    """The rows that each agent computes with, once those that travel have travelled, and how they did."""
    uplinks = {leaf: model for (leaf, hub), model in models(scenario, edges).items() if hub == HUB}
    return report(scenario, parts, scenario.network.access.read(scenario.find), uplinks)


@dataclass(frozen=True)
class Learning:
    """The data as the agents hold it: a training part each, and the common test set."""

    parts: Sequence[Dataset]
    test: Dataset
    public: Matrix | None = None
    """Features of rows that are neither trained nor tested on: a fused lasso takes its graph from them."""

    @property
    def features(self) -> int:
        return self.test.features

    @property
    def rows(self) -> list[int]:
        return [part.rows for part in self.parts]

    def objectives(self, scenario: Scenario, regulariser: float) -> list[LocalObjective]:
        """Each agent's f_i."""
        row_loss = LOSSES[scenario.algorithm.loss]
        weight = getattr(scenario.algorithm, "loss_weight", 1.0)
        return [LocalObjective(part.X, part.y, row_loss, regulariser, weight) for part in self.parts]


class Recovered(Sequence[Dataset]):
    """Parts that are computed from the objectives when they are asked for: no row is held twice."""

    def __init__(self, name: str, objectives: Sequence[LocalObjective]) -> None:
        self._name = name
        self._objectives = objectives

    def __len__(self) -> int:
        return len(self._objectives)

    @overload
    def __getitem__(self, place: int) -> Dataset: ...
    @overload
    def __getitem__(self, place: slice) -> Recovered: ...
    def __getitem__(self, place: int | slice) -> Dataset | Recovered:
        if isinstance(place, slice):
            return Recovered(self._name, self._objectives[place])
        return self._objectives[place].dataset(self._name)


def learning(scenario: Scenario, agents: int) -> Learning:
    """Load or generate the rows, split off the test set and what counts as public, and deal the rest to the agents."""
    section = scenario.data
    streams = Streams(scenario.seed)
    train, test = _train_and_test(scenario)
    public, test = _public_and_test(scenario, test)
    rng = streams.generator("partition")
    if agents > train.rows:
        raise ScenarioError(f"topology.agents = {agents}: more agents than the {train.rows} training rows")
    if section.partition == "even":
        parts = partition.even(train.rows, agents, rng)
    elif section.partition == "uneven":
        parts = partition.uneven(train.rows, agents, section.concentration, rng)
    else:
        parts = partition.skewed(train.y, agents, section.concentration, rng)
    return Learning([train.take(rows) for rows in parts], test, public)


def _public_and_test(scenario: Scenario, test: Dataset) -> tuple[Matrix | None, Dataset]:
    spec = scenario.algorithm
    if not isinstance(spec, DpAdmm) or spec.graph == "none":
        return None, test
    try:
        rng = Streams(scenario.seed if scenario.data.seed is None else scenario.data.seed).generator("public")
        public, rest = prepare.split(test, spec.graph_share, rng)
    except DataError:
        raise ScenarioError(
            f"algorithm.graph_share = {spec.graph_share:g}: the rows outside the training set ({test.rows}) cannot be "
            "shared between graph and test; leave more of them, or choose algorithm.graph = 'none'"
        ) from None
    return public.X, rest


def _train_and_test(scenario: Scenario) -> tuple[Dataset, Dataset]:
    section = scenario.data
    streams = Streams(scenario.seed if section.seed is None else section.seed)
    whole, test = _rows(scenario, streams.generator("data"))
    try:
        if test is not None and "train" not in section.model_fields_set:
            return prepare.prepare(whole, bias=section.bias), prepare.prepare(test, bias=section.bias, like=whole)
        return prepare.split(prepare.prepare(whole, bias=section.bias), section.train, streams.generator("split"))
    except DataError as error:
        raise ScenarioError(f"data.train = {section.train}: {error}") from None


def _rows(scenario: Scenario, rng: np.random.Generator) -> tuple[Dataset, Dataset | None]:
    """The rows of the source, and its test rows where it has a file of its own for them."""
    section = scenario.data
    if section.source == "adult":
        return adult.adult(), None
    if section.source in data_section.GENERATED:
        rows = section.rows or DEFAULT_ROWS
        if section.source == "synthetic":
            noise = DEFAULT_LABEL_NOISE if section.label_noise is None else section.label_noise
            return generated.synthetic(rows, section.features or DEFAULT_FEATURES, noise, rng), None
        return getattr(generated, section.source)(rows, rng), None
    try:
        path = files.named(section.source) or files.locate(str(scenario.find(section.source)))
        beside = files.test_file(path)
        whole = files.read(path, label=section.label, positive=section.positive)
        if beside is None:
            return whole, None
        return whole, files.read(beside, label=section.label, positive=section.positive, features=whole.features)
    except DataError as error:
        raise ScenarioError(f"data.source = {section.source!r}: {error}") from None


def graph(scenario: Scenario) -> nx.Graph[int]:
    """Who is whose neighbour."""
    return scenario.topology.draw(Streams(scenario.seed).generator("topology"), scenario.find)
