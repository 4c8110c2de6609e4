"""From a Scenario to the objects that run: data, graph, agents.

Nothing here decides anything: sections of the scenario become calls of the rooms below, each with its own random
stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import networkx as nx

from simnet.learning.dataset import Dataset
from simnet.learning.dealing import DealtData, PartsOfObjectives, deal, objectives
from simnet.learning.losses import LOSSES
from simnet.learning.objective import LocalObjective
from simnet.methods.agent_size import Standing
from simnet.methods.dp_admm import HUB, DpAdmm
from simnet.methods.plans import Budgeting, budgeting
from simnet.reporting import Reporting, report, training
from simnet.scenario import Scenario
from simnet.sim.gc_pause import resting
from simnet.streams import Streams
from simnet.wiring import models


@dataclass(frozen=True)
class World:
    """Everything about a scenario that does not change while it runs; one world can be simulated many times."""

    scenario: Scenario
    graph: nx.Graph[int]
    learning: DealtData
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
    dealt = deal_data(scenario, edges.number_of_nodes())
    held, reporting = hold(scenario, edges, dealt.parts)
    standings = [Standing(part.rows, edges.degree[agent]) for agent, part in enumerate(held)]
    budget = budgeting(scenario, standings)
    own = own_objectives(scenario, dealt.parts, budget.regulariser)
    trained = own if reporting is None else training(scenario, held, budget.regulariser)
    kept = replace(dealt, parts=PartsOfObjectives(dealt.parts[0].name, own))
    return World(scenario, edges, kept, standings, budget, own, trained, reporting)


def hold(scenario: Scenario, edges: nx.Graph[int], parts: Sequence[Dataset]) -> tuple[list[Dataset], Reporting | None]:
    """The rows that each agent computes with, once those that travel have travelled, and how they did."""
    uplinks = {leaf: model for (leaf, hub), model in models(scenario, edges).items() if hub == HUB}
    return report(scenario, parts, scenario.network.access.read(scenario.find), uplinks)


def deal_data(scenario: Scenario, agents: int) -> DealtData:
    """The rows of each agent, the test set, and the public rows that the method asks for."""
    spec = scenario.algorithm
    public_share = spec.graph_share if isinstance(spec, DpAdmm) and spec.graph != "none" else None
    return deal(scenario.data, scenario.seed, scenario.find, agents, public_share)


def own_objectives(scenario: Scenario, parts: Sequence[Dataset], regulariser: float) -> list[LocalObjective]:
    """Each agent's f_i on its own rows."""
    spec = scenario.algorithm
    return objectives(parts, LOSSES[spec.loss], regulariser, getattr(spec, "loss_weight", 1.0))


def graph(scenario: Scenario) -> nx.Graph[int]:
    """Who is whose neighbour."""
    return scenario.topology.draw(Streams(scenario.seed).generator("topology"), scenario.find)
