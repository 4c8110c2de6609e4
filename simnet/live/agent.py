"""One live agent: its life from the start, or a restart, to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msgspec.msgpack import encode

from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.program import PROGRAMS
from simnet.agent.recollection import Recollection
from simnet.build import World, build_links, build_writer, identity
from simnet.diagnostics import tell
from simnet.errors import FrameError, LiveError
from simnet.live import certificates, checkpoint, socket_bytes
from simnet.live.agent_folder import AgentFolder
from simnet.live.chain import Chain
from simnet.live.channel import Channel
from simnet.live.envelope import Greeting
from simnet.live.journal import Journal, RecordKind, Start, event_body, read
from simnet.live.live_port import LivePort, RepeatedRound
from simnet.live.machine import HERE, Machine
from simnet.live.recovery import JournalMemory, Past, recover
from simnet.live.shim import Carrier, Clock, Numbering, Shim, round_of
from simnet.methods.peer import Proposal
from simnet.network.link import Passage
from simnet.privacy.ledger import Charge
from simnet.privacy.secret_noise import Absorbed, secret_streams
from simnet.record import events
from simnet.simulate import peers_of
from simnet.streams import Streams
from simnet.version import VERSION

Address = tuple[str, int]

_UNEASY = 10.0
"""Seconds after which an agent says for whom it waits."""


@dataclass(frozen=True)
class Placement:
    """An agent's place in a deployment."""

    agent: int
    folder: Path
    """where it keeps its journal; its own alone"""
    run: str
    """the deployment's or run's name: agents of others are not listened to"""
    listen: Address
    peers: Mapping[int, Address]
    certificates: Path | None = None
    """where its certificate is; None speaks without TLS, on loopback only"""
    shim: bool = True
    """whether messages and local work take the times, and meet the losses, that the scenario gives them"""
    own_noise: bool = False
    """whether noise comes from a secret of the agent's own, not from the scenario's seed, which everybody knows"""
    without: frozenset[int] = frozenset()
    """neighbours that are gone for good: an agent that is restarted does not wait to hear what they hold of it"""


class Supervisor(Protocol):
    """Who looks after an agent: says when all begin, and when it may leave."""

    async def epoch(self) -> float:
        """The Unix time at which the run begins; asked when all neighbours can be reached."""

    def round_finished(self, round: int) -> None:
        """The agent has finished a round."""

    def waits_for(self, peers: Sequence[int]) -> None:
        """The agent lets nothing out before these neighbours have greeted it, and they have not for a while."""

    def refused(self, peer: int | None, reason: str) -> None:
        """Something that came over the wire was not let in."""

    async def until_dismissed(self, agent: LiveAgent) -> None:
        """Returns when an agent that has finished its last round may leave."""


async def serve(world: World, placement: Placement, supervisor: Supervisor, machine: Machine = HERE) -> None:
    """Run an agent from where its folder says that it stopped, until its supervisor lets it go."""
    folder = AgentFolder(placement.folder, machine)
    with folder.occupied():
        folder.keep_scenario(world.scenario.to_toml(), list(world.scenario.foreign()))
        past = recover(read(folder.journal, machine)) if machine.exists(folder.journal) else None
        folder.refuse_to_forget(empty=past is None)
        if past is not None and (past.start.agent, past.start.run) != (placement.agent, placement.run):
            whose = f"agent {past.start.agent} of {past.start.run!r}"
            raise LiveError(f"{placement.folder} holds the state of {whose}: choose another folder")
        number = folder.incarnation()
        tell("agent started", agent=placement.agent, incarnation=number)
        book = Journal(folder.journal, machine)
        if past is None:
            book.rewrite([])  # the very first record may have been torn
        agent = LiveAgent(world, placement, supervisor, folder, book, number)
        try:
            await agent.live(past)
        finally:
            try:
                await agent.channel.close()
            finally:
                book.close()
                agent.note_sockets()
            if agent.failure is not None:
                raise agent.failure


class LiveAgent:
    """An agent's objects, new or brought back to where they were; inside a running event loop."""

    def __init__(
        self,
        world: World,
        placement: Placement,
        supervisor: Supervisor,
        folder: AgentFolder,
        journal: Journal,
        incarnation: int,
    ) -> None:
        scenario, me = world.scenario, placement.agent
        self._world, self._placement, self._supervisor = world, placement, supervisor
        self._folder, self._journal = folder, journal
        self._absorbed = Absorbed()
        noise = None
        if placement.own_noise:
            self._absorbed.add(identity(scenario, [world.learning.parts[me]]))
            noise = secret_streams(folder.secret(), self._absorbed)
        self._peer = peers_of(world, noise)[me]
        streams = Streams(scenario.seed)
        self._pacing = scenario.pacing.for_agent(streams, me)
        self._numbering = Numbering({agent: sorted(world.graph[agent]) for agent in world.graph})
        neighbours = self._numbering.neighbours[me]
        self.neighbourhood = Neighbourhood(
            neighbours, self._peer.initial(), aligned=self._pacing.aligned, admits=self._peer.accepts
        )
        self._recollection = Recollection(scenario.output)
        self._writer = build_writer(scenario, me)
        compute, rows = scenario.compute.read(scenario.find), world.sizes[me].rows
        self._work = compute.for_agent(streams, me, rows) if placement.shim else None
        self._ledger = world.calibration.ledger(scenario.privacy.delta)
        self._chain = Chain(me)
        self._unreached = set(neighbours) - placement.without
        self._reached = asyncio.Event()
        if not self._unreached:
            self._reached.set()
        self.channel = Channel(
            me,
            placement.listen,
            {peer: placement.peers[peer] for peer in neighbours},
            None if placement.certificates is None else certificates.load(placement.certificates, me),
            placement.run,
            incarnation,
            self._receive,
            supervisor.refused,
            self._on_state,
            self._overflowed,
            greeting=self._chain.greeting,
            on_greeting=self._greeted,
            machine=folder.machine,
        )
        self.memory = JournalMemory(
            journal,
            self._checkpoint,
            lambda: self.channel.seen,
            self.channel.confirm,
            self._round_finished,
            self._chain,
        )
        self._incarnation = incarnation
        self._clock: Clock
        self._port: LivePort | None = None
        self._early: dict[tuple[int, int], tuple[bytes, bytes]] = {}
        self._task = asyncio.current_task()
        self.failure: BaseException | None = None
        """What made the agent stop, if a timer raised it and not the program."""
        self.carrier: Carrier

    async def live(self, past: Past | None) -> None:
        """Begin, or go on; run to the last round; stay until dismissed."""
        scenario = self._world.scenario
        if past is None:
            await self.channel.start()
            await self._meet_all()
            await self._begin(await self._supervisor.epoch())
        else:
            self._go_on(past)
            tell("restarted from its journal", agent=self._placement.agent, round=past.finished + 1)
            await self.channel.start()
            if past.finished + (past.sending is not None) < scenario.rounds:
                await self._meet_all()
        assert self._port is not None
        await PROGRAMS[self._peer.role](
            self._peer,
            self._port,
            self._pacing,
            self.neighbourhood,
            self._ledger,
            scenario.rounds,
            private=scenario.log.private,
            recollection=self._recollection,
            first=1 if past is None else past.finished + 1,
        )
        self.memory.save()
        tell("agent finished", agent=self._placement.agent, rounds=scenario.rounds)
        await self._supervisor.until_dismissed(self)

    async def _meet_all(self) -> None:
        """Wait until every neighbour has said what it holds of this agent: before that, nothing new may leave."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_UNEASY):
                await self._reached.wait()
                return
        self._supervisor.waits_for(sorted(self._unreached))
        await self._reached.wait()

    async def _begin(self, epoch: float) -> None:
        start = Start(self._placement.agent, self._placement.run, VERSION, epoch)
        self._journal.add(RecordKind.START, encode(start))
        self._journal.sync()
        self._folder.begin()
        await asyncio.sleep(max(0.0, epoch - self._folder.machine.now()))
        tell("first round begins", agent=self._placement.agent)
        self._equip(Clock(epoch, machine=self._folder.machine))
        self._port = self._open({peer: set() for peer in self.neighbourhood.peers})
        for (peer, _), (raw, head) in self._early.items():
            try:
                self._receive(peer, raw, head)
            except FrameError:
                self._supervisor.refused(peer, "unusable")

    def _go_on(self, past: Past) -> None:
        """Bring everything to where the journal ends."""
        self._chain.restore(past.links, past.held, past.finished)
        clock, me = Clock(past.start.epoch, past.last, self._folder.machine), self._placement.agent
        began = event_body(past.last, events.FaultBegan("crash", me))
        ended = event_body(clock.now, events.FaultEnded("crash", me))
        self._journal.rewrite([*past.records, (RecordKind.EVENT, began), (RecordKind.EVENT, ended)])
        self._folder.begin()  # not sooner: a process that was killed may not have made its first record safe
        unsent: dict[int, tuple[bytes, ...]] = {}
        if past.checkpoint is not None:
            unsent = checkpoint.restore(past.checkpoint, self._objects(), self._fixed(), self._modules)["unsent"]
        for _, spent in past.settled:
            if isinstance(spent, events.PrivacySpent):
                self._ledger.spend(Charge.of(spent.mechanism, spent.parameters, spent.spent_on, spent.times))
        self._pacing.resume(past.finished)
        if self._work is not None:
            for _ in range(past.finished):
                self._work(Proposal(None))  # brings its random stream to where it was
        self._equip(clock)
        passages = self._send_unacknowledged(past, unsent)
        known: dict[int, set[int]] = {peer: set() for peer in self.neighbourhood.peers}
        for _, event in past.events:
            if isinstance(event, events.MessageDelivered | events.MessageRefused):
                known[event.peer].add(event.round)
        replay = None
        if past.sending is not None:
            replay = RepeatedRound(past.sending.round, past.noted, past.sending.frames, passages, past.later)
        self._port = self._open(known, replay)
        for peer, raw in past.heard:
            self._port.hear(peer, raw)

    def _send_unacknowledged(self, past: Past, unsent: Mapping[int, tuple[bytes, ...]]) -> dict[int, Passage]:
        """Send again what may not have arrived; return the passages of what the interrupted round has yet to send.

        The links alone decide which messages are lost, and they draw the same again. Of the others, those that no
        neighbour had acknowledged are sent again. A neighbour that has one already knows it by sender and round.
        """
        me = self._placement.agent
        fated = {
            event.message
            for _, event in past.events
            if isinstance(event, events.MessageLost | events.MessageOverflowed) and event.agent == me
        }
        passages = self.carrier.recall(past.events)
        open_ = {
            (round, peer): passage
            for (round, peer), passage in passages.items()
            if self._numbering(me, peer, round) not in fated
        }
        now = 0 if past.sending is None else past.sending.round
        for peer, frames in unsent.items():
            for raw in frames:
                round = round_of(raw)
                if (round, peer) in open_:
                    self.carrier.launch(round, {peer: raw}, {peer: passages[round, peer]})
        for (round, peer), passage in open_.items():
            if round != now and (passage.fate != "delivered" or passage.corrupted):
                self.carrier.launch(round, {peer: b""}, {peer: passage})
        return {peer: passage for (round, peer), passage in open_.items() if round == now}

    def _equip(self, clock: Clock) -> None:
        """Set the clock, and what takes frames to the channel."""
        self._clock = clock
        if not self._placement.shim:
            self.carrier = Carrier(self._send)
            return
        me, scenario = self._placement.agent, self._world.scenario
        links = build_links(scenario, self._world.graph)[me]
        shared = scenario.network.medium == "shared"
        self.carrier = Shim(self._send, me, links, clock, self._numbering, self._note, self._fail, shared)

    def _open(self, known: dict[int, set[int]], replay: RepeatedRound | None = None) -> LivePort:
        return LivePort(
            self._placement.agent,
            self._clock,
            self.neighbourhood,
            self._writer,
            self.memory,
            self.carrier,
            self._numbering,
            self._world.scenario.rounds,
            self._world.length,
            self._work,
            known,
            replay,
            self._absorbed if self._placement.own_noise else None,
            self._world.scenario.algorithm.message_lengths(self._world.length),
            self._world.scenario.algorithm.bundles,
        )

    def note_sockets(self) -> None:
        """Keep what the sockets have carried so far."""
        socket_bytes.note(self._placement.folder, self._incarnation, self.channel.sockets.total)

    def _round_finished(self, round: int) -> None:
        self.note_sockets()
        self._supervisor.round_finished(round)

    def _objects(self) -> dict[str, object]:
        return {
            "peer": self._peer,
            "neighbourhood": self.neighbourhood,
            "recollection": self._recollection,
            "writer": self._writer,
            "absorbed": self._absorbed,
        }

    def _fixed(self) -> dict[str, object]:
        me = self._placement.agent
        world, scenario = self._world, self._world.scenario
        fixed = {"objective": world.training[me], "plan": world.calibration.plans[me]}
        return fixed | {"method": scenario.algorithm, "codec": scenario.network.codec, "outputs": scenario.output}

    def _checkpoint(self) -> bytes:
        pending, waiting = self.channel.pending, self.carrier.waiting
        unsent = {peer: pending.get(peer, ()) + waiting.get(peer, ()) for peer in self.neighbourhood.peers}
        return checkpoint.save(self._objects() | {"unsent": unsent}, self._fixed(), self._modules)

    @property
    def _modules(self) -> frozenset[str]:
        return frozenset(part.module for part in self._world.scenario.foreign())

    def _send(self, peer: int, raw: bytes) -> None:
        self.channel.send(peer, raw, self._chain.heads[round_of(raw)])

    def _receive(self, peer: int, raw: bytes, head: bytes) -> None:
        if not 0 < (round := round_of(raw)) <= self._world.scenario.rounds:
            raise FrameError(f"round {round} has no place in this run")
        if self._port is None:
            # A neighbour may have begun a little sooner. It sends one frame per round, and no more are kept.
            if self._early.setdefault((peer, round), (raw, head)) != (raw, head):
                raise FrameError(f"another frame of round {round} has come in before")
        else:
            self.memory.hold(peer, round, head)
            self._port.receive(peer, raw)

    def _greeted(self, peer: int, said: Greeting) -> None:
        if said.incarnation > self._incarnation:
            self._folder.outnumbered(said.incarnation)
            raise LiveError(
                f"agent {self._placement.agent}: agent {peer} has met a later process of this agent (number "
                f"{said.incarnation}, this is {self._incarnation}). If it still runs, leave it alone. If not, the "
                "state folder was put back: start the agent again, and it will find out whether it may go on"
            )
        self._chain.compare(peer, said)

    def _overflowed(self, peer: int, raw: bytes) -> None:
        me, round = self._placement.agent, round_of(raw)
        self._note(events.MessageOverflowed(me, round, peer, self._numbering(me, peer, round)))

    def _fail(self, error: BaseException) -> None:
        self.failure = self.failure or error
        if self._task is not None:
            self._task.cancel()

    def _note(self, event: events.Event) -> None:
        self.memory.event(self._clock.now, event)

    def _on_state(self, peer: int, up: bool) -> None:
        if up:
            self._unreached.discard(peer)
            if not self._unreached:
                self._reached.set()
