"""From a Scenario to the objects that run: data, graph, noise, links, an engine, ports.

Nothing here decides anything: sections of the scenario become calls of the rooms below, each with its own random
stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import networkx as nx
import numpy as np

from simnet.agent.audience import Audience
from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.pacing import WorkTime
from simnet.agent.row_reports import Reporting, Reports, from_users, upload
from simnet.errors import BudgetError, ScenarioError
from simnet.learning.dataset import Dataset, row_bytes
from simnet.learning.dealing import DealtData, PartsOfObjectives, deal
from simnet.learning.evaluation import Scoreboard
from simnet.learning.row_objective import Objective
from simnet.learning.stacked_objectives import row_counts
from simnet.learning.yardsticks import Yardsticks, yardsticks
from simnet.methods.advice import Advice
from simnet.methods.method import AgentSize, Calibration
from simnet.network.codec import unsurvived
from simnet.network.delays import AlikeLinks, alike_links
from simnet.network.frame import HEADER_BYTES, Writer
from simnet.network.link import Link, connect, refuse_above_queue
from simnet.network.model import Ends, LinkModel, distinct, known_agents, link_models
from simnet.network.queueing import Transmitter
from simnet.network.underlay import PhysicalNetwork
from simnet.privacy.mechanisms import HUB
from simnet.privacy.noise_key import fingerprint, fresh_key, noise_root, read_key
from simnet.record.bus import Bus
from simnet.scenario import Network, Scenario
from simnet.scenario.extremes import within_numbers
from simnet.scenario.sizes import refuse_what_is_too_large
from simnet.sim.engine import VirtualEngine
from simnet.sim.memory import gc_paused
from simnet.sim.packet_carrier import PacketCarrier
from simnet.sim.radio import Radio, in_range
from simnet.sim.routed_packets import RoutedPackets
from simnet.sim.virtual_port import VirtualPort
from simnet.streams import Streams
from simnet.version import VERSION


@dataclass(frozen=True)
class World:
    """Everything about a scenario that does not change while it runs; one world can be simulated many times."""

    scenario: Scenario
    graph: nx.Graph[int]
    learning: DealtData
    sizes: list[AgentSize]
    calibration: Calibration
    objectives: Sequence[Objective]
    """Each agent's f_i on its own rows, which evaluation looks at."""
    training: Sequence[Objective]
    """What each agent computes with: another thing where rows or labels were reported."""
    streams: Streams
    reporting: Reporting | None = None
    noise_key: str | None = None
    """SHA-256 of the key that noise comes from; None if it comes from the seed."""

    @property
    def agents(self) -> int:
        return len(self.sizes)

    @property
    def length(self) -> int:
        """The length of a model."""
        return model_length(self.scenario, self.learning.test)

    def yardsticks(self) -> Yardsticks:
        """What a test error of this world is held against; computed from all rows, without noise."""
        return yardsticks(self.objectives, self.learning.test, self.scenario.learned)


@gc_paused()
def build(scenario: Scenario) -> World:
    """Load the data, draw the graph, calibrate the noise; what would be too large is refused before."""
    refuse_what_is_too_large(scenario)
    with within_numbers(scenario):
        return _build(scenario)


def _build(scenario: Scenario) -> World:
    edges = draw_graph(scenario)
    for observer in scenario.privacy.observers:
        known_agents(() if isinstance(observer, str) else observer, edges, "privacy.observers")
    dealt = deal_data(scenario, edges.number_of_nodes())
    streams, noise_key = draw_from(scenario, dealt.parts)
    held, reporting = hold(scenario, edges, dealt.parts, streams)
    refuse_what_never_passes(scenario, edges, model_length(scenario, dealt.test))
    refuse_what_gets_lost(scenario, edges)
    # Agents that are alike share one size.
    size_of = cache(partial(agent_size, scenario, held[0]))
    sizes = [size_of(rows, edges.degree[agent]) for agent, rows in enumerate(row_counts(held))]
    calibration = calibrate(scenario, sizes)
    own = own_objectives(scenario, dealt.parts, calibration.regulariser)
    trained = own if reporting is None else training(scenario, held, calibration.regulariser)
    kept = replace(dealt, parts=PartsOfObjectives(dealt.parts[0].name, own))
    return World(scenario, edges, kept, sizes, calibration, own, trained, streams, reporting, noise_key)


def draw_graph(scenario: Scenario) -> nx.Graph[int]:
    """Who is whose neighbour."""
    return scenario.topology.draw(Streams(scenario.seed).generator("topology"), scenario.find)


def deal_data(scenario: Scenario, agents: int) -> DealtData:
    """The rows of each agent, the test set, and the public rows that the method asks for."""
    share, labels = scenario.algorithm.public_share, scenario.learned.labels
    return deal(scenario.data, scenario.seed, scenario.find, agents, share, labels)


def model_length(scenario: Scenario, rows: Dataset) -> int:
    """The length of a model of such rows."""
    return scenario.learned.length(rows.features, rows.classes)


def agent_size(scenario: Scenario, like: Dataset, rows: int, degree: int) -> AgentSize:
    """What is public about an agent with so many rows like these. A task promises something of short rows only."""
    task, length = scenario.learned, model_length(scenario, like)
    if not scenario.data.bounds_rows:
        return AgentSize(rows, degree, length)
    return AgentSize(rows, degree, length, task.gradient_bound, task.smoothness)


def draw_from(scenario: Scenario, parts: Sequence[Dataset]) -> tuple[Streams, str | None]:
    """Every stream of a run, and the fingerprint of the key that its noise comes from."""
    privacy = scenario.privacy
    if privacy.noise == "seed":
        return Streams(scenario.seed, f"{scenario.seed}/{privacy.noise_name}" if privacy.noise_name else ""), None
    from simnet.privacy.secret_noise import SecretStreams  # here: few runs need a cipher

    key = fresh_key() if privacy.noise_key is None else read_key(scenario.find(privacy.noise_key))
    return SecretStreams(scenario.seed, secret=noise_root(key, identity(scenario, parts))), fingerprint(key)


def identity(scenario: Scenario, parts: Sequence[Dataset]) -> Iterator[bytes]:
    """What distinguishes a run from all others: the code, every setting, every file that it names, and every row."""
    yield VERSION.encode()
    yield json.dumps(scenario.resolved(), sort_keys=True).encode()
    for foreign in scenario.foreign():
        yield foreign.sha256.encode()
    for name in scenario.files():
        try:
            yield scenario.find(name).read_bytes()
        except OSError as error:
            raise ScenarioError(f"{name}: {error.strerror}") from None
    for part in parts:
        yield from row_bytes(part)


def hold(
    scenario: Scenario, edges: nx.Graph[int], parts: Sequence[Dataset], streams: Streams
) -> tuple[Sequence[Dataset], Reporting | None]:
    """The rows that each agent computes with, once those that travel have travelled, and how they did.

    A row that is lost on its way takes no part, so privacy is calibrated for the rows that arrived; how many they are
    is public.
    """
    method = scenario.algorithm
    if method.reports_from is None:
        return parts, None
    lines, access = models(scenario, edges), scenario.network.access.read(scenario.find)
    sent = [method.reported(agent, part, scenario.privacy, streams) for agent, part in enumerate(parts)]
    found: dict[int, Reports] = {}
    for agent, part in enumerate(sent):
        if method.reports_from == "users":
            found[agent] = from_users(access, streams, agent, part.rows, part.features + method.beside_rows)
        elif (agent, HUB) in lines:
            found[agent] = upload(lines[agent, HUB], streams, agent, HUB, part.rows, part.features)
    who = "server {}" if method.reports_from == "users" else "the hub from agent {}"
    arrived = [
        _arrived(who.format(agent), part, found[agent]) if agent in found else part for agent, part in enumerate(sent)
    ]
    return method.gathered(parts, arrived), Reporting([found.get(agent) for agent in range(len(parts))])


def _arrived(who: str, part: Dataset, reports: Reports) -> Dataset:
    if not reports.delivered:
        raise ScenarioError(f"network: not one of {part.rows} reports reaches {who}; less loss would do")
    return part if reports.delivered == part.rows else part.take(np.flatnonzero(reports.arrived))


def calibrate(scenario: Scenario, sizes: Sequence[AgentSize]) -> Calibration:
    """Every agent's noise."""
    privacy, method = scenario.privacy, scenario.algorithm
    method.refuse_growth(scenario.rounds)
    try:
        found = method.calibrate(privacy, sizes, scenario.rounds)
    except BudgetError as error:
        advice = Advice(method, privacy, sizes, scenario.rounds)
        raise ScenarioError(f"privacy.epsilon = {privacy.epsilon:g}: {advice.sentence(error)}") from None
    declared = found.declared
    if declared and privacy.calibration == "proven":
        raise ScenarioError(
            f"privacy.calibration = 'proven': {declared} is what {method.name} declares, and nothing proves it; "
            "'paper' goes by what the author of a method says"
        )
    if not scenario.data.bounds_rows and (short := found.of_short_rows):
        raise ScenarioError(
            f"data.scale = {scenario.data.scale!r}: {method.name} pays by {short}, whose price is for rows of norm at "
            "most 1; leave it out, or 'rows'"
        )
    telling = method.private_silences
    if telling and found.noisy:
        raise ScenarioError(
            f"algorithm.name = {method.name!r}: whether an agent is silent ({telling[0]}) depends on its data, and no "
            "charge pays for that, so its noise protects nothing"
        )
    return found


def own_objectives(scenario: Scenario, parts: Sequence[Dataset], regulariser: float) -> Sequence[Objective]:
    """Each agent's f_i on its own rows."""
    return scenario.learned.made_of_all(parts, regulariser, scenario.algorithm.weight)


def training(scenario: Scenario, held: Sequence[Dataset], regulariser: float) -> list[Objective]:
    """What each agent minimises over the rows that it computes with."""
    task, method, privacy = scenario.learned, scenario.algorithm, scenario.privacy
    return [method.training_objective(task, part, regulariser, privacy) for part in held]


def models(scenario: Scenario, edges: nx.Graph[int]) -> Mapping[Ends, LinkModel]:
    """What each direction of every link is like, overrides applied."""
    return link_models(scenario.network.link, scenario.network.override, edges, scenario.find)


def build_links(scenario: Scenario, edges: nx.Graph[int]) -> dict[int, dict[int, Link]]:
    """Both directions of every link, by sender and receiver."""
    network, streams = scenario.network, Streams(scenario.seed)
    lines = models(scenario, edges)
    return connect(
        edges, lines, streams, one_line_out=network.links_share_a_line, up=network.line.read(scenario.find).up
    )


def build_down_lines(scenario: Scenario, agents: int) -> dict[int, Transmitter]:
    """The line of each agent over which everything comes in; none where that takes no time."""
    down, streams = scenario.network.line.read(scenario.find).down, Streams(scenario.seed)
    return {} if down is None else {agent: down.transmitter(streams, f"{agent}/down") for agent in range(agents)}


def draw_underlay(scenario: Scenario, agents: int) -> PhysicalNetwork | None:
    """The physical network that carries the agents' packets, if there is one."""
    underlay = scenario.network.underlay
    return None if underlay is None else underlay.draw(agents, Streams(scenario.seed), scenario.find)


def models_in_use(built: World) -> Mapping[Ends, LinkModel]:
    """What each direction of every link is like that messages really pass: those of an underlay, if there is one."""
    physical = draw_underlay(built.scenario, built.agents)
    return models(built.scenario, built.graph) if physical is None else physical.models


def directions(edges: nx.Graph[int]) -> list[Ends]:
    """Both directions between all neighbours, by sender and receiver."""
    return [(agent, peer) for agent in sorted(edges) for peer in sorted(edges[agent])]


def refuse_what_never_passes(scenario: Scenario, edges: nx.Graph[int], features: int) -> None:
    """Refuse packets too small for a transport, and queues through which no value would ever get."""
    network, transport = scenario.network, scenario.network.transport
    size = HEADER_BYTES + len(build_writer(scenario, 0).letter(0, (np.zeros(features),)))
    physical = draw_underlay(scenario, len(edges))
    if physical is not None and not transport.repeats:
        physical.refuse_above_queues(directions(edges), size)
        return
    used = models(scenario, edges) if physical is None else physical.models_of(directions(edges))
    for model in distinct(used):
        place = {field: _said_in(network, model, field) for field in ("mtu", "queue")}
        transport.refuse_too_small(model, f"{place['mtu']}.mtu")
        packet = max(transport.packets(size, Transmitter(model, Streams(0), "").room))
        line = network.line.read(scenario.find)
        refuse_above_queue(model, line, packet, f"{place['queue']}.queue", repeated=transport.repeats)


def refuse_what_gets_lost(scenario: Scenario, edges: nx.Graph[int]) -> None:
    """Refuse a codec or method that needs every message where a link may lose one, or let one overtake another."""
    network = scenario.network
    if scenario.fragile is None or network.transport.repeats:
        return
    physical = draw_underlay(scenario, len(edges))
    used = models(scenario, edges) if physical is None else physical.models_of(directions(edges))
    for model in distinct(used):
        # An overtaken message is older than what its receiver knows, and ignored.
        field = model.loses or ("order" if model.overtakes and not network.pacing.meets else None)
        if field is not None:
            where = f"{_said_in(network, model, field)}.{field}"
            raise ScenarioError(f"{scenario.fragile}: {unsurvived(where)}")


def _said_in(network: Network, model: LinkModel, field: str) -> str:
    """The section that says this of a link."""
    if network.underlay is not None:
        return "network.underlay.link"
    if getattr(model, field) == getattr(network.link, field):
        return "network.link"
    return "network.override" if network.override else "topology.file"


def longest_value(scenario: Scenario, features: int) -> int:
    """The bytes of the longest frame that carries a value."""
    model, *company = vectors = [np.zeros(each) for each in scenario.algorithm.message_lengths(features)]
    writer = build_writer(scenario, 0)
    if scenario.algorithm.bundles:
        return HEADER_BYTES + len(writer.letter(0, tuple(vectors)))
    payload, _ = writer.model(model, lambda _: tuple(company))
    return HEADER_BYTES + len(payload)


def kinds_of_links(built: World) -> list[AlikeLinks]:
    """The links by how long a value is under way on them; slowest first."""
    network, size = built.scenario.network, longest_value(built.scenario, built.length)
    transport = network.transport
    if physical := draw_underlay(built.scenario, built.agents):
        packets = transport.packets(size, physical.cutter.room)
        paths = physical.alike_paths(directions(built.graph), packets, roomy=transport.repeats)
        return sorted(paths, key=lambda kind: -kind.median)
    channel = network.channel

    def air(model: LinkModel) -> float:
        return 0.0 if channel is None else sum(map(channel.seconds, channel.frames(size, model.overhead)))

    lines = network.line.read(built.scenario.find)
    found = alike_links(models(built.scenario, built.graph), lines, size, air, transport.packets)
    return sorted(found, key=lambda kind: -kind.median)


def late_news(built: World, kinds: Sequence[AlikeLinks]) -> str | None:
    """A sentence where most of what comes over a link is older than a round when it comes."""
    tick = built.scenario.network.pacing.tick
    if tick is None or not kinds or kinds[0].median <= tick:
        return None
    late = [kind for kind in kinds if kind.median > tick]
    some, all_links = (sum(len(kind.places) for kind in each) for each in (late, kinds))
    where = "all links" if some == all_links else f"{some:,} of {all_links:,} links"
    return f"the median delay on {where} exceeds the period of {tick:g} s (it is up to {kinds[0].median:.3g} s)"


def latencies_of_their_own(built: World) -> int:
    """How many links the file of the topology gives a latency, so that they do not have that of all links."""
    given: dict[Ends, dict[str, object]] = built.graph.graph.get("given", {})
    return sum(any("latency" in given.get(ends, ()) for ends in ((a, b), (b, a))) for a, b in built.graph.edges)


def unused_latency(built: World) -> list[str]:
    """A sentence where the scenario says how long a link takes, and no link takes that long."""
    said = "latency" in built.scenario.network.link.model_fields_set
    if not said or latencies_of_their_own(built) < built.graph.number_of_edges():
        return []
    return ["network.link.latency counts for no link: topology.file gives each a latency of its own"]


_LONG_PERIOD, _LONG_SECONDS = 1000.0, 10.0
"""A period of so many times the slowest delay, and of at least so many seconds, is taken for a forgotten unit."""


def long_period(built: World, kinds: Sequence[AlikeLinks]) -> list[str]:
    """A sentence where rounds last so much longer than messages that seconds were probably not meant."""
    tick = built.scenario.network.pacing.tick
    slowest = max((kind.median for kind in kinds), default=0.0)
    busy = built.scenario.network.channel is not None or slowest == 0.0
    if tick is None or busy or tick < max(_LONG_SECONDS, _LONG_PERIOD * slowest):
        return []
    return [
        f"network.pacing.period is {tick:g} s, and most values arrive within {slowest:.3g} s: write a unit, such as "
        f'"{tick:g} ms", if no seconds are meant'
    ]


def cautions(built: World) -> list[str]:
    """What a run will probably not show as its author wants it, one sentence each."""
    found, harm = peer_cautions(built) + unused_latency(built), built.scenario.algorithm.late_news
    tick = built.scenario.network.pacing.tick
    if tick is None or (harm is None and tick < _LONG_SECONDS):
        return found
    kinds = kinds_of_links(built)
    late = late_news(built, kinds)
    return [*found, *long_period(built, kinds), *([] if late is None or harm is None else [f"{late}: {harm}"])]


def peer_cautions(built: World) -> list[str]:
    """What to know about duals when some neighbours hear nothing: a sentence where that is too much for them."""
    peers, duals = built.scenario.network.peers, getattr(built.scenario.algorithm, "duals", "node")
    degrees = max(1, sum(size.degree for size in built.sizes))
    if peers is None or duals == "edge":
        return []
    missed = 1 - sum(min(size.degree, peers) for size in built.sizes) / degrees
    fate = {"node": "drift away for good", "healing": "may not settle"}[duals]
    if not missed or (duals == "healing" and missed < 0.5):
        return []
    return [
        f"with peers = {peers} neighbours miss {100 * missed:.3g} % of the releases, as if they were lost: "
        f'{duals} duals {fate}; duals = "edge" would do'
    ]


def build_engine(scenario: Scenario, edges: nx.Graph[int], bus: Bus, scoreboard: Scoreboard) -> VirtualEngine:
    """The engine with its links and its transport, still without agents."""
    shared = scenario.network.medium == "shared"
    built = VirtualEngine(build_links(scenario, edges), bus, scoreboard, len(edges), shared_medium=shared)
    built.fragile = bool(scenario.fault)
    built.down_lines = build_down_lines(scenario, len(edges))
    built.transport = scenario.network.transport.made(built)
    if scenario.network.channel is not None:
        lines = models(scenario, edges)
        if any(line.bandwidth for line in lines.values()):
            raise ScenarioError(
                "topology.file: a shared channel has its own bit rate, and this file gives its links one"
            )
        built.channel = Radio(
            built,
            scenario.network.channel,
            in_range(edges, scenario.network.channel.range),
            lambda sender, receiver: lines[sender, receiver].overhead,
            Streams(scenario.seed),
            shared=shared,
        )
    elif physical := draw_underlay(scenario, len(edges)):
        packets = built.packets = RoutedPackets(built, physical, directions(edges), Streams(scenario.seed))
        built.channel = PacketCarrier(built, packets) if built.transport is None else None
    return built


def build_port(
    scenario: Scenario,
    engine: VirtualEngine,
    streams: Streams,
    agent: int,
    neighbourhood: Neighbourhood,
    work: WorkTime,
) -> VirtualPort:
    """One agent's way to the outside."""
    network = scenario.network
    inbox, payloads = network.inbox.inbox(), Writer(streams, agent, network.coding)
    audience = Audience(neighbourhood.peers, network.peers, streams, agent)
    return VirtualPort(
        engine, agent, neighbourhood, payloads, work, scenario.rounds, inbox, network.recovery_time, audience
    )


def build_writer(scenario: Scenario, agent: int) -> Writer:
    """What makes an agent's payloads."""
    return Writer(Streams(scenario.seed), agent, scenario.network.coding)
