"""From a scenario's network to the objects that carry messages: links, an engine, ports.

Nothing here decides anything: sections become calls of the rooms below, each with its own random stream.
"""

from __future__ import annotations

import networkx as nx

from simnet.agent.compute import WorkTime
from simnet.agent.neighbourhood import Neighbourhood
from simnet.learning.evaluation import Scoreboard
from simnet.network.fates import Luck
from simnet.network.link import Link
from simnet.network.model import Ends, LinkModel, link_models
from simnet.network.payload import Writer
from simnet.network.transmitter import Transmitter
from simnet.record.bus import Bus
from simnet.scenario import Scenario
from simnet.sim.engine import VirtualEngine
from simnet.sim.virtual_port import VirtualPort
from simnet.streams import Streams


def models(scenario: Scenario, edges: nx.Graph[int]) -> dict[Ends, LinkModel]:
    """What each direction of every link is like, overrides applied."""
    return link_models(scenario.network.link, scenario.network.override, edges, scenario.find)


def links(scenario: Scenario, edges: nx.Graph[int]) -> dict[int, dict[int, Link]]:
    """Both directions of every link, by sender and receiver.

    With a shared uplink all links of an agent leave through one transmitter, which is like the one to its first
    neighbour; on a shared medium it is the only one there is. A transmitter that takes no time remembers nothing, so
    links that are alike share one: a large network has a million of them.
    """
    streams = Streams(scenario.seed)
    like = models(scenario, edges)
    lines: dict[int, Transmitter] = {}
    if scenario.network.one_line_out:
        lines = {
            agent: Transmitter(like[agent, min(edges[agent])], streams, str(agent)) for agent in edges if edges[agent]
        }
    idle = {id(model): model for model in like.values() if model.bandwidth is None}
    instant = {which: Transmitter(model, streams, "") for which, model in idle.items()}
    lucks: dict[int, Luck | None] = {}
    found: dict[int, dict[int, Link]] = {agent: {} for agent in edges}
    # Sender by sender: what is used together lies together.
    for sender, receiver in [(agent, peer) for agent in edges for peer in sorted(edges[agent])]:
        model = like[sender, receiver]
        line = lines.get(sender) or instant.get(id(model))
        luck = lucks.get(id(model))
        if luck is None or luck.full:
            luck = lucks[id(model)] = Luck.on(model, streams)
        found[sender][receiver] = Link(model, streams, f"{sender}>{receiver}", line, luck)
    return found


def writer(scenario: Scenario, agent: int) -> Writer:
    """What makes an agent's payloads."""
    return Writer(Streams(scenario.seed), agent, scenario.network.codec, scenario.network.topk)


def engine(scenario: Scenario, edges: nx.Graph[int], bus: Bus, scoreboard: Scoreboard) -> VirtualEngine:
    """The engine with its links and its transport, still without agents."""
    shared = scenario.network.medium == "shared"
    built = VirtualEngine(links(scenario, edges), bus, scoreboard, len(edges), shared_medium=shared)
    built.transport = scenario.network.transport.made(built)
    return built


def port(
    scenario: Scenario, engine: VirtualEngine, agent: int, neighbourhood: Neighbourhood, work: WorkTime
) -> VirtualPort:
    """One agent's way to the outside."""
    network = scenario.network
    inbox, payloads = network.inbox.inbox(), writer(scenario, agent)
    return VirtualPort(engine, agent, neighbourhood, payloads, work, scenario.rounds, inbox, network.recovery_time)
