"""`simnet live`: a scenario with every agent a process of this machine, and the agents' journals as one record.

The record has the events of all agents in one order, evaluated, with messages numbered through. Events are ordered by
time, then by agent. Agents of different machines have different clocks, so a message may seem to arrive before it is
sent. Its arrival, and all that its receiver did after it, then waits for the sending and takes its time. So causes come
before effects, whatever the clocks say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path
from secrets import token_hex

import msgspec
from msgspec.msgpack import decode

from simnet.build import World, build
from simnet.diagnostics import tell
from simnet.errors import LiveError, ScenarioError
from simnet.learning.evaluation import State
from simnet.live import certificates, chain, socket_bytes
from simnet.live.agent_folder import AgentFolder
from simnet.live.chain import ChainLink, HeldHead
from simnet.live.fleet import Fleet
from simnet.live.journal import RecordKind, RoundResult, Start, Timed, event_of, read, start_of
from simnet.record import events
from simnet.record.atomic import temporary_folder
from simnet.record.bus import Bus
from simnet.record.folder import slug
from simnet.scenario import Network, Scenario
from simnet.sim.engine import evaluation_done
from simnet.simulate import Progress, Result, first_event, keep, scoreboard

_MESSAGES = (events.MessageSent, *events.ARRIVALS, events.MessageLost, events.MessageOverflowed)


def run(
    scenario: Scenario,
    out: str | Path | None = None,
    *,
    shim: bool = True,
    tls: bool = True,
    progress: Progress | None = None,
    watch: Callable[[Fleet], None] | None = None,
) -> Result:
    """Run a scenario live on this machine's loopback, one process per agent.

    Args:
        scenario: what to run.
        out: where run folders go; None keeps everything in memory.
        shim: whether messages and local work take the times, and meet the losses, that the scenario gives them.
        tls: whether the agents speak mutual TLS, under an authority made for this run.
        progress: told after every round that all agents have finished.
        watch: given the fleet before it starts.
    """
    check(scenario, shim=shim)
    world = build(scenario)

    def happen(bus: Bus) -> None:
        # The agents' states go when the run is over: what is worth keeping of them is in the record.
        with temporary_folder("what the agents keep") as place:
            keys = None
            if tls:
                keys = place / "certificates"
                certificates.init(keys, range(world.agents))
            fleet = Fleet(world, place, f"{slug(scenario.name)}-{token_hex(8)}", keys, shim)
            if watch is not None:
                watch(fleet)
            fleet.run_all(progress)
            merge(world, fleet.folders, bus)

    return keep(world, out, happen)


def merged(folders: list[Path], scenario: Scenario, out: str | Path | None = None) -> Result:
    """The journals of agents that ran anywhere as one run's record."""
    world = build(scenario)
    return keep(world, out, lambda bus: merge(world, folders, bus))


def check(scenario: Scenario, *, shim: bool) -> None:
    """Refuse what no live agent can do."""
    if reason := _misfit(scenario, shim):
        raise ScenarioError(reason)


def _misfit(scenario: Scenario, shim: bool) -> str | None:
    network = scenario.network
    if network.pacing.meets:
        return (
            "network.pacing.kind = 'ideal': no real agent knows that all the others have finished a round; "
            "live needs barrier, deadline, quorum or free"
        )
    if scenario.until is not None:
        return "until: only simulated time can end a run; live agents finish their rounds, so leave it out"
    if scenario.privacy.noise != "seed":
        return "privacy.noise: live agents draw noise of their own, each from its own secret; leave it at 'seed'"
    if scenario.fault:
        return "fault: live agents break for real; leave the faults out, and kill a process to see one"
    if network.peers is not None:
        return "network.peers: a live agent speaks to all its neighbours in every round; leave it out"
    if not (network.codec.survives_loss or network.pacing.aligned):
        return "network.codec: it needs every message, and live only barrier pacing lets none be dropped; use that"
    return scenario.algorithm.misfit_of_live() or (_misfit_of_shim(network) if shim else None)


def _misfit_of_shim(network: Network) -> str | None:
    """What the shim, which makes sockets as slow as the scenario's links, cannot do."""
    if network.transport.repeats:
        return (
            "network.transport.kind = 'reliable': the shim sends each message once, and TCP repeats on its own; "
            "use datagram, or --no-shim"
        )
    if network.channel is not None:
        return "network.channel: live agents send over sockets, and share no radio channel; leave it out, or --no-shim"
    if network.underlay is not None:
        return "network.underlay: live agents send over sockets, and no shim routes packets; leave it out, or --no-shim"
    if network.inbox.service:
        return "network.inbox.service: a live agent takes in what arrives as fast as it can; leave it out, or --no-shim"
    if network.line.down is not None:
        return "network.line.down: a live agent hears what arrives at once; leave it out, or --no-shim"
    return None


@dataclass(frozen=True)
class JournalContent:
    """What one agent's journal tells."""

    start: Start
    events: list[Timed]
    results: Mapping[int, State]
    """what counts of the agent at the end of each round"""
    links: list[ChainLink]
    held: list[HeldHead]


def content(path: Path) -> JournalContent:
    """Read the journal in an agent's folder."""
    start: Start | None = None
    told: list[Timed] = []
    results: dict[int, State] = {}
    links: list[ChainLink] = []
    held: list[HeldHead] = []
    for kind, body in read(AgentFolder(path).journal):
        if kind is RecordKind.START:
            start = start_of((kind, body))
        elif kind is RecordKind.RESULT:
            result = decode(body, type=RoundResult)
            results[result.round] = result.state
        elif kind is RecordKind.LINK:
            links.append(decode(body, type=ChainLink))
        elif kind is RecordKind.HELD:
            held.append(decode(body, type=HeldHead))
        elif (found := event_of(kind, body)) is not None:
            told.append(found)
    if start is None:
        raise LiveError(f"{path}: the agent that kept this journal had not begun")
    return JournalContent(start, told, results, links, held)


def merge(world: World, folders: Sequence[Path], bus: Bus) -> None:
    """Put the whole run on a bus, if nothing in it was released twice."""
    contents = [content(path) for path in folders]
    journals = _one_run(world, contents)
    chain.verify(
        [[event for _, event in each.events] for each in journals],
        [each.links for each in journals],
        [each.held for each in journals],
    )
    board = scoreboard(world)
    begin = min(each.start.epoch for each in journals)
    streams = [[(t + each.start.epoch - begin, event) for t, event in _ended(each, world)] for each in journals]
    numbers: dict[tuple[int, int], int] = {}
    now = 0.0
    own = all(AgentFolder(path).has_secret for path in folders)
    bus.emit(now, first_event(world, live=True, own=own))
    for now, found in in_order(streams):
        event = found
        if isinstance(event, _MESSAGES):
            number = numbers.setdefault((events.sender(event), event.message), len(numbers) + 1)
            event = msgspec.structs.replace(event, message=number)
        bus.emit(now, event)
        if isinstance(event, events.DualUpdated):
            for figures in board.note(event.agent, event.round, journals[event.agent].results[event.round]):
                bus.emit(now, evaluation_done(figures))
    for agent, last in enumerate(board.last_round):
        if last < world.scenario.rounds:
            for figures in board.excuse(agent):
                bus.emit(now, evaluation_done(figures))
    for path, journal in zip(folders, contents, strict=True):
        if (carried := socket_bytes.noted(path)) is not None:
            counts = (carried.sent, carried.received, carried.segments, carried.headers)
            bus.emit(now, events.SocketsCounted(journal.start.agent, *counts))
    bus.emit(now, events.RunFinished(board.last_round, "", ""))
    tell("journals merged", scenario=world.scenario.name, agents=len(journals))


def in_order(streams: Sequence[Sequence[Timed]]) -> Iterator[Timed]:
    """The events of all agents, by time and then by agent; no arrival before its sending."""
    places = [0] * len(streams)
    heads = [(stream[0][0], agent) for agent, stream in enumerate(streams) if stream]
    heapify(heads)
    sent: set[tuple[int, int]] = set()
    held: dict[tuple[int, int], list[tuple[float, int]]] = {}
    now = 0.0
    while heads:
        t, agent = heappop(heads)
        event = streams[agent][places[agent]][1]
        if isinstance(event, events.ARRIVALS) and (event.peer, event.message) not in sent:
            held.setdefault((event.peer, event.message), []).append((t, agent))
            continue
        now = max(now, t)
        yield now, event
        places[agent] += 1
        if places[agent] < len(streams[agent]):
            heappush(heads, (streams[agent][places[agent]][0], agent))
        if isinstance(event, events.MessageSent):
            sent.add((agent, event.message))
            for head in held.pop((agent, event.message), ()):
                heappush(heads, head)
    if held:
        sender, _ = next(iter(held))
        raise LiveError(f"messages of agent {sender} have arrived that it never sent: its journal is not of this run")


def _one_run(world: World, journals: list[JournalContent]) -> list[JournalContent]:
    """The journals in the order of the agents, if there is one of each and all are of one run."""
    by_agent = {each.start.agent: each for each in journals}
    missing = sorted(set(range(world.agents)) - set(by_agent))
    if missing or len(journals) != world.agents:
        what = f"agent {missing[0]}'s journal is missing" if missing else "an agent's journal is there twice"
        raise LiveError(f"{what}: give the folders of all {world.agents} agents, each once")
    runs = sorted({each.start.run for each in journals})
    if len(runs) > 1:
        raise LiveError(
            f"the journals are of different runs, {runs[0]!r} and {runs[1]!r}: they make no record together"
        )
    return [by_agent[agent] for agent in range(world.agents)]


def _ended(journal: JournalContent, world: World) -> list[Timed]:
    """An agent's events; one that never came to its end has crashed for good."""
    told = journal.events
    finished = sum(isinstance(event, events.DualUpdated) for _, event in told)
    if finished == world.scenario.rounds:
        return told
    return [*told, (told[-1][0] if told else 0.0, events.FaultBegan("crash", journal.start.agent))]
