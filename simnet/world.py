"""From a Scenario to the objects that run: data, graph, agents.

Nothing here decides anything: sections of the scenario become calls of the rooms below, each with its own random
stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import networkx as nx

from simnet.errors import BudgetError, ScenarioError
from simnet.learning.dataset import Dataset
from simnet.learning.dealing import DealtData, PartsOfObjectives, deal
from simnet.learning.objective import LocalObjective
from simnet.methods.method import AgentSize, Calibration
from simnet.privacy.mechanisms import HUB
from simnet.reporting import Reporting, report
from simnet.scenario import Scenario
from simnet.sim.gc_pause import gc_paused
from simnet.streams import Streams
from simnet.wiring import models


@dataclass(frozen=True)
class World:
    """Everything about a scenario that does not change while it runs; one world can be simulated many times."""

    scenario: Scenario
    graph: nx.Graph[int]
    learning: DealtData
    sizes: list[AgentSize]
    calibration: Calibration
    objectives: list[LocalObjective]
    """Each agent's f_i on its own rows, which evaluation looks at."""
    training: list[LocalObjective]
    """What each agent computes with: another thing where rows or labels were reported."""
    reporting: Reporting | None = None

    @property
    def agents(self) -> int:
        return len(self.sizes)


@gc_paused()
def build(scenario: Scenario) -> World:
    """Load the data, draw the graph, calibrate the noise."""
    edges = graph(scenario)
    dealt = deal_data(scenario, edges.number_of_nodes())
    held, reporting = hold(scenario, edges, dealt.parts)
    sizes = [AgentSize(part.rows, edges.degree[agent]) for agent, part in enumerate(held)]
    calibration = calibrate(scenario, sizes)
    own = own_objectives(scenario, dealt.parts, calibration.regulariser)
    trained = own if reporting is None else training(scenario, held, calibration.regulariser)
    kept = replace(dealt, parts=PartsOfObjectives(dealt.parts[0].name, own))
    return World(scenario, edges, kept, sizes, calibration, own, trained, reporting)


def calibrate(scenario: Scenario, sizes: Sequence[AgentSize]) -> Calibration:
    """Every agent's noise."""
    try:
        return scenario.algorithm.calibrate(scenario.privacy, sizes, scenario.rounds)
    except BudgetError as error:
        raise ScenarioError(f"privacy.epsilon = {scenario.privacy.epsilon:g}: {error}") from None


def training(scenario: Scenario, held: Sequence[Dataset], regulariser: float) -> list[LocalObjective]:
    """What each agent minimises over the rows that it computes with."""
    return [scenario.algorithm.training_objective(part, regulariser, scenario.privacy) for part in held]


def hold(scenario: Scenario, edges: nx.Graph[int], parts: Sequence[Dataset]) -> tuple[list[Dataset], Reporting | None]:
    """The rows that each agent computes with, once those that travel have travelled, and how they did."""
    uplinks = {leaf: model for (leaf, hub), model in models(scenario, edges).items() if hub == HUB}
    return report(scenario, parts, scenario.network.access.read(scenario.find), uplinks)


def deal_data(scenario: Scenario, agents: int) -> DealtData:
    """The rows of each agent, the test set, and the public rows that the method asks for."""
    return deal(scenario.data, scenario.seed, scenario.find, agents, scenario.algorithm.public_share)


def own_objectives(scenario: Scenario, parts: Sequence[Dataset], regulariser: float) -> list[LocalObjective]:
    """Each agent's f_i on its own rows."""
    return [scenario.algorithm.objective(part, regulariser) for part in parts]


def graph(scenario: Scenario) -> nx.Graph[int]:
    """Who is whose neighbour."""
    return scenario.topology.draw(Streams(scenario.seed).generator("topology"), scenario.find)
