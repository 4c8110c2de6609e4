"""One agent's port in real time, under asyncio: the same agent program, over whatever carries its frames.

The port decides in which order things happen. Its memory makes them last, so that a crash takes nothing back:

    a frame comes in     remembered as delivered, then heard; its sender may forget it once it is safe
                         (or remembered as refused, and not heard, if its values may not be used)
    a round's frames     noted as sent, all of the round remembered and made safe, and only then handed on
    a round ends         its result and the whole state are remembered

An agent that was killed begins again at the round after its last whole one. If that round's frames may have left
already, `RepeatedRound` has them and what was noted before them. The program computes the round once more from the same
state and the same random streams; nothing is noted twice, and the very same frames leave again.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.pacing import WorkTime
from simnet.agent.port import ages
from simnet.errors import FrameError, LiveError
from simnet.learning.evaluation import State
from simnet.live.recovery import JournalMemory
from simnet.live.shim import Carrier, Clock, Numbering
from simnet.methods.peer import Known, Peer, Proposal, alone
from simnet.network import frame
from simnet.network.frame import Writer
from simnet.network.link import Passage
from simnet.privacy.secret_noise import Absorbed
from simnet.record import events
from simnet.vectors import Parts, Vector

_BINDING = (events.PrivacySpent, events.SvtTested, events.ReleaseMade)
"""What a repeated round must repeat to the letter."""
_MOST_COPIES = 8
"""A frame comes again after a neighbour's restart. More copies than these are refused, so that nobody can make the
record grow without end."""


@dataclass
class RepeatedRound:
    """The round that a crash interrupted after its frames were made safe."""

    round: int
    noted: deque[events.Event]
    """what was noted of it before"""
    frames: Mapping[int, bytes]
    passages: Mapping[int, Passage]
    """of those frames whose fate is not on the record yet"""
    later: list[tuple[int, bytes]] = field(default_factory=list)
    """frames of neighbours that came in after the round's own had been made safe"""


@dataclass(eq=False)
class LivePort:
    """What an agent program sees of the live engine.

    `work_time` is how long local work should take; None lets it take what it takes. `known` are the rounds of each
    neighbour of which a message has come in. `absorbed` is what an agent's own noise depends on. `lengths` are those of
    the vectors in a message that the method says itself; with `bundles` there may be fewer, and shorter ones.
    """

    agent: int
    clock: Clock
    neighbourhood: Neighbourhood
    writer: Writer
    memory: JournalMemory
    carrier: Carrier
    numbering: Numbering
    rounds: int
    features: int
    work_time: WorkTime | None
    known: dict[int, set[int]]
    replay: RepeatedRound | None = None
    absorbed: Absorbed | None = None
    lengths: tuple[int, ...] = ()
    bundles: bool = False

    def __post_init__(self) -> None:
        self.neighbours: Sequence[int] = self.neighbourhood.peers
        self._copies: Counter[tuple[int, int]] = Counter()
        self._waiting: tuple[asyncio.Future[None], Callable[[], bool]] | None = None
        self._resumed = self.now

    @property
    def now(self) -> float:
        return self.clock.now

    def emit(self, event: events.Event) -> None:
        if self.replay is not None and self.replay.noted:
            noted = self.replay.noted.popleft()
            if isinstance(noted, events.RoundTimeout) and type(noted) is not type(event) and self.replay.noted:
                # What came too late the first time is there already the second time.
                noted = self.replay.noted.popleft()
            if type(noted) is not type(event) or (isinstance(event, _BINDING) and noted != event):
                raise LiveError(
                    f"agent {self.agent} cannot repeat round {self.replay.round} as it was before the crash "
                    f"({event.kind} differs): go on with the version and the machine that made the checkpoint"
                )
            return
        self.memory.event(self.now, event)

    async def work(self, peer: Peer, round: int) -> Proposal:
        proposal = alone(peer.propose(round))
        # The program has done the work already, since it last waited. Only what is left of the time passes here.
        left = 0.0 if self.work_time is None else self._resumed + self.work_time(proposal) - self.now
        await asyncio.sleep(max(0.0, left))
        self._resumed = self.now
        return proposal

    def encode(self, model: Vector, accompany: Callable[[Vector], Parts]) -> tuple[bytes, Parts]:
        return self.writer.model(model, accompany)

    def seal(self, peer: int, parts: Parts) -> bytes:
        return self.writer.letter(peer, parts)

    def audience(self, round: int) -> Sequence[int]:
        return self.neighbours

    def broadcast(self, round: int, payload: bytes) -> None:
        self._send(round, frame.Kind.VALUE, dict.fromkeys(self.neighbours, payload))

    def post(self, round: int, payloads: Mapping[int, bytes]) -> None:
        self._send(round, frame.Kind.VALUE, payloads)

    def notify(self, round: int) -> None:
        self._send(round, frame.Kind.NOTICE, dict.fromkeys(self.neighbours, b""))

    def _send(self, round: int, kind: frame.Kind, payloads: Mapping[int, bytes]) -> None:
        codec = self.writer.codec if kind is frame.Kind.VALUE else 0
        frames = {
            peer: frame.encode(kind, sender=self.agent, round=round, codec=codec, payload=payload)
            for peer, payload in payloads.items()
        }
        if self.replay is not None:
            self._send_again(self.replay, frames)
            return
        now = self.now
        passages = self.carrier.offer(now, {peer: len(raw) for peer, raw in frames.items()})
        for peer, payload in payloads.items():
            # What shares one transmission has its bytes counted once.
            passage = passages[peer]
            size = (len(payload), passage.wire_bytes, passage.offered_bytes) if passage.packets else (0, 0, 0)
            number = self.numbering(self.agent, peer, round)
            sent = events.MessageSent(self.agent, round, peer, number, kind.label, *size)
            self.memory.event(now, sent)
        self.memory.sending(round, frames)
        self.carrier.launch(round, frames, passages)

    def _send_again(self, replay: RepeatedRound, frames: Mapping[int, bytes]) -> None:
        if dict(replay.frames) != frames:
            raise LiveError(
                f"agent {self.agent} cannot repeat round {replay.round} as it was before the crash (its message "
                "differs): go on with the version and the machine that made the checkpoint"
            )
        self.carrier.launch(replay.round, {peer: frames[peer] for peer in replay.passages}, replay.passages)
        self.replay = None
        for peer, raw in replay.later:
            self.hear(peer, raw)

    async def until(self, ready: Callable[[], bool], deadline: float | None) -> bool:
        in_time = ready()
        if not in_time:
            signal: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting = (signal, ready)
            await asyncio.wait([signal], timeout=None if deadline is None else max(0.0, deadline - self.now))
            self._waiting = None
            in_time = signal.done()
        self._resumed = self.now
        return in_time

    def alarm(self, time: float) -> Awaitable[object]:
        return asyncio.ensure_future(asyncio.sleep(max(0.0, time - self.now)))

    async def rendezvous(self) -> None:
        raise LiveError("network.pacing.kind = 'ideal': no real agent knows that all the others have finished a round")

    def relapsed(self) -> bool:
        return False

    async def ask(self, round: int) -> list[Known]:
        raise LiveError("a live agent goes on from its checkpoint and has nothing to ask its neighbours")

    def used(self, round: int, known: Sequence[Known]) -> None:
        for value, age in zip(known, ages(round, known), strict=True):
            self.emit(events.ValueUsed(self.agent, round, value.peer, age))
        if self.absorbed is not None:
            self.absorbed.add(_bytes_of(round, known))

    def finished(self, round: int, peer: Peer, outputs: Sequence[Vector]) -> None:
        self.replay = None
        self.memory.finished(round, State(peer.theta, peer.dual, outputs))

    def receive(self, peer: int, raw: bytes) -> None:
        """A neighbour's frame has come in; a FrameError if it cannot be used."""
        round, parts = self._opened(raw)
        number = self.numbering(peer, self.agent, round)
        if round in self.known[peer]:
            self._copies[peer, round] += 1
            if self._copies[peer, round] > _MOST_COPIES:
                raise FrameError(f"round {round} has come in {self._copies[peer, round]} times before")
            self.memory.event(self.now, events.MessageDuplicated(self.agent, round, peer, number))
            return
        self.known[peer].add(round)
        if parts is not None and not self.neighbourhood.admits(round, parts):
            self.memory.event(self.now, events.MessageRefused(self.agent, round, peer, number))
            return
        self.memory.heard(self.now, events.MessageDelivered(self.agent, round, peer, number), raw)
        if self.replay is not None:
            self.replay.later.append((peer, raw))
        else:
            self._hear(peer, round, parts)

    def hear(self, peer: int, raw: bytes) -> None:
        """Take in a frame that is remembered already."""
        self._hear(peer, *self._opened(raw))

    def _hear(self, peer: int, round: int, parts: Parts | None) -> None:
        self.neighbourhood.hear(peer, round, parts)
        if self._waiting is not None:
            signal, ready = self._waiting
            if not signal.done() and ready():
                signal.set_result(None)

    def _opened(self, raw: bytes) -> tuple[int, Parts | None]:
        """The round that a frame is about and what it says of it, if it has a place in this run."""
        found = frame.decode(raw)
        if found.kind not in (frame.Kind.VALUE, frame.Kind.NOTICE) or not 0 < found.round <= self.rounds:
            raise FrameError(f"a {found.kind.label} of round {found.round} has no place in this run")
        if found.kind is frame.Kind.NOTICE:
            if found.payload:
                raise FrameError("a notice says nothing, this one has a payload")
            return found.round, None
        if found.codec != self.writer.codec:
            raise FrameError(f"a payload in codec {found.codec}, this run has {self.writer.codec}")
        parts = self.writer.decode(found.payload, max(self.features, *self.lengths, 0))
        # A model, perhaps with what belongs to it entry by entry, perhaps with one number besides.
        lengths, full = [len(part) for part in parts], self.features
        exact = lengths in ([full], [full, 1], [full, full], [full, full, 1], [*self.lengths])
        if not exact and not (self.bundles and len(lengths) <= len(self.lengths)):
            raise FrameError(f"parts of {lengths} entries are no message about a model of {full}")
        return found.round, parts


def _bytes_of(round: int, known: Sequence[Known]) -> Iterator[bytes]:
    """What a round takes in, value by value, with those that nobody had used before they were replaced."""
    yield b"%d" % round
    for last in known:
        value: Known | None = last
        while value is not None:
            yield b"%d %d" % (value.peer, value.round)
            yield from (part.tobytes() for part in value.parts)
            value = value.before
