"""From a scenario's network to the objects that carry messages: links, pacing, work times.

Nothing here decides anything: sections become calls of the rooms below, each with its own random stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import dist, inf

import networkx as nx

from simnet.agent import pacing as paces
from simnet.agent.neighbourhood import Neighbourhood
from simnet.errors import ScenarioError
from simnet.network.draws import one_by_one, uniform
from simnet.network.fates import Luck
from simnet.network.link import Link
from simnet.network.model import Ends, LinkModel, known_agents, known_link
from simnet.network.payload import Writer
from simnet.network.transmitter import Transmitter
from simnet.record.bus import Bus
from simnet.scenario import Scenario
from simnet.scenario import fault_sections as broken
from simnet.scenario import network as sections
from simnet.sim.engine import VirtualEngine
from simnet.sim.faults import Fault, Span, alternating
from simnet.sim.reliable import Reliable
from simnet.sim.scoreboard import Scoreboard
from simnet.sim.virtual_port import VirtualPort
from simnet.streams import Streams

RECOVERY = 1.0
"""Seconds that an agent which lost its state waits for answers, unless the scenario says otherwise."""


def links(scenario: Scenario, edges: nx.Graph[int]) -> dict[int, dict[int, Link]]:
    """Both directions of every link, by sender and receiver, overrides applied.

    With a shared uplink all links of an agent leave through one transmitter, which is like the one to its first
    neighbour; on a shared medium it is the only one there is. A transmitter that takes no time remembers nothing, so
    links that are alike share one: a large network has a million of them.
    """
    streams = Streams(scenario.seed)
    models = link_models(scenario, edges)
    lines: dict[int, Transmitter] = {}
    if scenario.network.uplink != "independent" or scenario.network.medium != "unicast":
        lines = {
            agent: Transmitter(models[agent, min(edges[agent])], streams, str(agent)) for agent in edges if edges[agent]
        }
    idle = {id(model): model for model in models.values() if model.bandwidth is None}
    instant = {which: Transmitter(model, streams, "") for which, model in idle.items()}
    lucks: dict[int, Luck | None] = {}
    found: dict[int, dict[int, Link]] = {agent: {} for agent in edges}
    # Sender by sender: what is used together lies together.
    for sender, receiver in [(agent, peer) for agent in edges for peer in sorted(edges[agent])]:
        model = models[sender, receiver]
        line = lines.get(sender) or instant.get(id(model))
        luck = lucks.get(id(model))
        if luck is None or luck.full:
            luck = lucks[id(model)] = Luck.on(model, streams)
        found[sender][receiver] = Link(model, streams, f"{sender}>{receiver}", line, luck)
    return found


def link_models(scenario: Scenario, edges: nx.Graph[int]) -> dict[Ends, LinkModel]:
    """What each direction of every link is like, overrides applied."""
    # One record for all that are alike: a large network has a million links.
    common = scenario.network.link.read(scenario.find)
    models = {ends: common for a, b in edges.edges for ends in ((a, b), (b, a))}
    for index, override in enumerate(scenario.network.override):
        where = f"network.override.{index}"
        changed: dict[int, LinkModel] = {}
        for ends in override.places(edges, where):
            before = models[ends]
            if id(before) not in changed:
                changed[id(before)] = override.on(before, where).read(scenario.find)
            models[ends] = changed[id(before)]
    for ends, model in models.items():
        if model.latency.needs_length:
            models[ends] = model.over(_length(edges, ends))
    return models


def work_times(scenario: Scenario, agent: int) -> Callable[[int], float]:
    """How long an agent's local work takes, from the gradients that it needed."""
    time, each = scenario.compute.time.read(scenario.find), scenario.compute.per_gradient
    value = time.constant
    if value is not None:
        return (lambda gradients: value + each * gradients) if each else (lambda gradients: value)
    rng = Streams(scenario.seed).generator("compute", agent)
    return lambda gradients: float(time.draw(rng, 1)[0]) + each * gradients


def pacing(scenario: Scenario, agent: int = 0) -> paces.Pacing:
    """The rule by which an agent's rounds end."""
    rule = scenario.network.pacing
    if isinstance(rule, sections.Barrier):
        return paces.Barrier(rule.patience, rule.notices)
    if isinstance(rule, sections.Quorum):
        return paces.Quorum(rule.quorum, rule.max_staleness, rule.patience, rule.notices)
    if isinstance(rule, sections.Free):
        return paces.Free(rule.notices)
    if isinstance(rule, sections.Deadline):
        streams = Streams(scenario.seed)
        skew = rule.skew * (2 * streams.generator("skew", agent).random() - 1) if rule.skew else 0.0
        late = one_by_one(streams, "jitter", str(agent), uniform) if rule.jitter else None
        return paces.Deadline(rule.period * (1 + skew), rule.notices, rule.jitter, late)
    return paces.Ideal()


def writer(scenario: Scenario, agent: int) -> Writer:
    """What makes an agent's payloads."""
    return Writer(Streams(scenario.seed), agent, scenario.network.codec, scenario.network.topk)


def _length(edges: nx.Graph[int], ends: Ends) -> float:
    here, there = (edges.nodes[end].get("position") for end in ends)
    if here is None or there is None:
        raise ScenarioError(
            "network.link.latency.kind = 'distance': needs a topology with positions, such as geometric"
        )
    return dist(here, there)


def engine(scenario: Scenario, edges: nx.Graph[int], bus: Bus, scoreboard: Scoreboard) -> VirtualEngine:
    """The engine with its links and its transport, still without agents."""
    shared = scenario.network.medium == "shared"
    built = VirtualEngine(links(scenario, edges), bus, scoreboard, len(edges), shared_medium=shared)
    rule = scenario.network.transport
    if isinstance(rule, sections.Reliable):
        built.transport = Reliable(built, rule.timeout, rule.backoff, rule.attempts)
    return built


def port(scenario: Scenario, engine: VirtualEngine, agent: int, neighbourhood: Neighbourhood) -> VirtualPort:
    """One agent's way to the outside."""
    inbox = scenario.network.inbox.inbox()
    make, work = writer(scenario, agent), work_times(scenario, agent)
    recovery = scenario.network.recovery or RECOVERY
    return VirtualPort(engine, agent, neighbourhood, make, work, scenario.rounds, inbox, recovery)


def faults(scenario: Scenario, edges: nx.Graph[int]) -> list[Fault]:
    """What breaks, with the times at which it does."""
    found: list[Fault] = []
    for index, fault in enumerate(scenario.fault):
        where = f"fault.{index}"
        if isinstance(fault, broken.Churn):
            known_agents(fault.agents, edges, f"{where}.agents")
            for agent in fault.agents or sorted(edges):
                rng = Streams(scenario.seed).generator("faults", f"{index}/{agent}")
                spans = alternating(rng, fault.up, fault.down)
                found.append(Fault("crash", spans, (agent,), lost=fault.state == "lost"))
            continue
        spans = _spans(scenario, index, fault)
        if isinstance(fault, broken.Crash):
            known_agents([fault.agent], edges, f"{where}.agent")
            found.append(Fault("crash", spans, (fault.agent,), lost=fault.state == "lost"))
        elif isinstance(fault, broken.Straggler):
            known_agents([fault.agent], edges, f"{where}.agent")
            found.append(Fault("straggler", spans, (fault.agent,), factor=fault.factor))
        elif isinstance(fault, broken.LinkDown):
            a, b = fault.link
            known_link(a, b, edges, f"{where}.link")
            found.append(Fault("link-down", spans, cut=((a, b), (b, a))))
        else:
            known_agents(fault.agents, edges, f"{where}.agents")
            side = frozenset(fault.agents)
            cut = [ends for a, b in edges.edges if (a in side) != (b in side) for ends in ((a, b), (b, a))]
            found.append(Fault("partition", spans, tuple(sorted(side)), tuple(cut)))
    return found


def _spans(
    scenario: Scenario, index: int, fault: broken.Crash | broken.LinkDown | broken.Partition | broken.Straggler
) -> Iterator[Span]:
    if fault.at is not None:
        return iter([(fault.at, inf if fault.duration is None else fault.at + fault.duration)])
    assert fault.every is not None
    assert fault.duration is not None
    return alternating(Streams(scenario.seed).generator("faults", index), fault.every, fault.duration)
