"""From a Scenario to the objects that run: data, graph, agents, links.

Nothing here decides anything: sections of the scenario become calls of the rooms below, each with its own random
stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import networkx as nx
import numpy as np

from simnet.agents import pacing as paces
from simnet.algorithms.plans import Budgeting, budgeting
from simnet.algorithms.standing import Standing
from simnet.errors import DataError, ScenarioError
from simnet.learning import adult, files, generated, partition, prepare
from simnet.learning.datasets import Dataset
from simnet.learning.losses import LOSSES
from simnet.learning.objective import LocalObjective
from simnet.network import latency, loss, topology
from simnet.network.link import Link
from simnet.network.model import LinkModel
from simnet.network.queueing import Queue
from simnet.scenario import Scenario
from simnet.scenario import data as data_section
from simnet.scenario import network as section
from simnet.streams import Streams

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

    @property
    def agents(self) -> int:
        return len(self.standings)


def build(scenario: Scenario) -> World:
    """Load the data, draw the graph, calibrate the noise."""
    edges = graph(scenario)
    dealt = learning(scenario, edges.number_of_nodes())
    standings = [Standing(rows, edges.degree[agent]) for agent, rows in enumerate(dealt.rows)]
    budget = budgeting(scenario, standings)
    return World(scenario, edges, dealt, standings, budget, dealt.objectives(scenario, budget.regulariser))


@dataclass(frozen=True)
class Learning:
    """The data as the agents hold it: a training part each, and the common test set."""

    parts: list[Dataset]
    test: Dataset

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


def learning(scenario: Scenario, agents: int) -> Learning:
    """Load or generate the rows, split off the test set, and deal the rest to the agents."""
    section = scenario.data
    streams = Streams(scenario.seed)
    train, test = _train_and_test(scenario)
    rng = streams.generator("partition")
    if agents > train.rows:
        raise ScenarioError(f"topology.agents = {agents}: more agents than the {train.rows} training rows")
    if section.partition == "even":
        parts = partition.even(train.rows, agents, rng)
    elif section.partition == "uneven":
        parts = partition.uneven(train.rows, agents, section.concentration, rng)
    else:
        parts = partition.skewed(train.y, agents, section.concentration, rng)
    return Learning([train.take(rows) for rows in parts], test)


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
    shape = scenario.topology.model_dump(exclude={"kind", "agents"})
    if "file" in shape:
        shape["file"] = scenario.find(shape["file"])
    agents = getattr(scenario.topology, "agents", None)
    rng = Streams(scenario.seed).generator("topology")
    return topology.build(scenario.topology.kind, agents, rng, **shape)


def links(scenario: Scenario, edges: nx.Graph[int]) -> dict[tuple[int, int], Link]:
    """Both directions of every link, overrides applied."""
    streams = Streams(scenario.seed)
    exceptions = dict(_exceptions(scenario, edges))
    built: dict[tuple[int, int], Link] = {}
    common = link_model(scenario.network.link)
    for a, b in edges.edges:
        for ends in ((a, b), (b, a)):
            model = link_model(exceptions[ends]) if ends in exceptions else common
            built[ends] = Link(model, streams, f"{ends[0]}>{ends[1]}")
    return built


def _exceptions(scenario: Scenario, edges: nx.Graph[int]) -> Iterator[tuple[tuple[int, int], section.Link]]:
    changed: dict[tuple[int, int], section.Link] = {}
    for index, override in enumerate(scenario.network.override):
        new = override.model_dump(include={"latency", "bandwidth", "queue", "loss"}, exclude_none=True)
        for ends in _places(override, edges, f"network.override.{index}"):
            before = changed.get(ends, scenario.network.link)
            changed[ends] = section.Link.model_validate(before.model_dump() | new)
    yield from changed.items()


def _places(override: section.Override, edges: nx.Graph[int], where: str) -> list[tuple[int, int]]:
    """The directions that an override is about."""
    if override.agent is not None:
        if override.agent not in edges:
            raise ScenarioError(f"{where}.agent = {override.agent}: there is no such agent")
        return [ends for peer in edges[override.agent] for ends in ((override.agent, peer), (peer, override.agent))]
    if override.link is not None:
        a, b = override.link
        field, found = "link", [(a, b), (b, a)]
    else:
        assert override.source is not None
        assert override.target is not None
        a, b = override.source, override.target
        field, found = "from", [(a, b)]
    if not edges.has_edge(a, b):
        raise ScenarioError(f"{where}.{field}: agents {a} and {b} share no link in this topology")
    return found


def link_model(link: section.Link) -> LinkModel:
    """A link's section as the network's own record."""
    return LinkModel(
        latency=duration(link.latency),
        loss=loss.Bernoulli(link.loss.p) if isinstance(link.loss, section.Bernoulli) else loss.NoLoss(),
        bandwidth=link.bandwidth,
        queue=Queue(link.queue),
        order="free",
    )


def duration(time: section.Duration) -> latency.Latency:
    """A time's section as a distribution."""
    fields = time.model_dump(exclude={"kind"})
    kinds = {"constant": latency.Constant, "uniform": latency.Uniform, "lognormal": latency.Lognormal}
    return kinds[time.kind](**fields)


def work_times(scenario: Scenario, agent: int) -> Callable[[int], float]:
    """How long an agent's local work takes, round by round."""
    time = duration(scenario.compute.time)
    if isinstance(time, latency.Constant):
        return lambda gradients: time.value
    rng = Streams(scenario.seed).generator("compute", agent)
    return lambda gradients: float(time.draw(rng, 1)[0])


def pacing(scenario: Scenario) -> paces.Pacing:
    """The rule by which rounds end."""
    rule = scenario.network.pacing
    if isinstance(rule, section.Barrier):
        return paces.Barrier(rule.patience, rule.notices)
    if isinstance(rule, section.Deadline):
        return paces.Deadline(rule.period, rule.notices)
    return paces.Ideal()
