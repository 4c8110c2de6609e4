"""The reliable transport: a byte stream per direction of a link, in an engine.

The streams themselves are in `simnet.sim.stream_sender` and `simnet.sim.stream_receiver`. Here is what joins them to an
engine: messages are cut into segments and handed over in order, packets are sent through `engine.carry_packet`, and
everything goes on the record.

Crashes.    While its host is down a stream waits; its timer goes on after the restart. With `state = "lost"` the
            sender forgets what it has not seen acknowledged, and such messages are lost (`sender-down`); a receiver
            forgets what came after a gap, and gets it again. A host that is gone for good has no memory either.
An inbox    takes whole messages in. What it has no room for waits in the transport and is not lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Literal

from simnet.network.frame import Frame
from simnet.record import events
from simnet.sim.retransmission_timer import HostLine
from simnet.sim.stream_receiver import StreamReceiver
from simnet.sim.stream_sender import Block, Parcel, Segment, StreamSender

if TYPE_CHECKING:
    from simnet.sim.engine import VirtualEngine
    from simnet.sim.sim_events import Message
    from simnet.sim.transport import Acknowledged

HEADER = 24
"""Bytes that the transport adds to every packet: TCP's 20, and 12 of timestamps, less the 8 of UDP, which are in the
link's `overhead` already."""
_BLOCK, _BLOCKS, _OPTION = 8, 3, 4
"""Bytes of a selectively acknowledged block, how many there are at most, and bytes for having any (RFC 2018)."""
_EARLY = 1e-9
"""Seconds by which a timer may be early, by rounding."""


def cut(size: int, room: int | None) -> list[int]:
    """The segments of a message of `size` bytes, where a packet has room for so many, the transport's header included.

    >>> cut(100, 64), cut(100, None)
    ([40, 40, 20], [100])
    """
    most = size if room is None else room - HEADER
    full = (size - 1) // most
    return [most] * full + [size - full * most]


class _Untold:
    """What has been sent in one direction and is in no event yet."""

    __slots__ = ("acknowledgements", "offered", "segments", "unsent", "wire")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.segments = self.acknowledgements = self.wire = self.offered = self.unsent = 0

    def add(self, wire: int, offered: int) -> None:
        self.wire += wire
        self.offered += offered

    def take_back(self, size: int) -> None:
        """So many bytes never left, because the host went down."""
        self.unsent += size


class Reliable:
    """The reliable transport of all agents: one connection per direction of a link, made when it is first used."""

    def __init__(self, engine: VirtualEngine, rule: Acknowledged) -> None:
        self.engine, self.rule = engine, rule
        self._connections: dict[tuple[int, int], _Connection] = {}
        self._untold: dict[tuple[int, int], _Untold] = {}
        self._hosts: dict[int, HostLine] = {}

    def carry(self, frame: Frame, messages: Sequence[Message]) -> None:
        """See messages with this frame through, each to its receiver."""
        for message in messages:
            ends = frame.sender, message.peer
            connection = self._connections.get(ends)
            if connection is None:
                host = self._hosts.setdefault(frame.sender, HostLine())
                connection = self._connections[ends] = _Connection(self, *ends, host)
            connection.hand_over(message)

    def untold(self, agent: int, peer: int) -> _Untold:
        """What an agent has sent to another and is in no event yet."""
        return self._untold.setdefault((agent, peer), _Untold())

    def tell(self) -> None:
        """Put on the record what has been sent since this was last told."""
        for (agent, peer), found in self._untold.items():
            if found.offered or found.unsent:
                counts = (found.segments, found.acknowledgements, found.wire, found.offered, found.unsent)
                self.engine.emit(events.PacketsSent(agent, peer, *counts))
                found.clear()

    def forget(self, agent: int) -> None:
        """An agent has lost its memory."""
        for peer in self.engine.links[agent]:
            if (connection := self._connections.get((agent, peer))) is not None:
                connection.forget()
            if (connection := self._connections.get((peer, agent))) is not None:
                connection.reneged()


class _Connection:
    """One direction of a link: a stream, its timers, and its packets on the record."""

    __slots__ = (
        *("_answering", "_at_once", "_back", "_due", "_ends", "_engine", "_handed", "_host", "_in", "_most", "_out"),
        *("_room", "_rule", "_there", "_wake"),
    )

    def __init__(self, transport: Reliable, sender: int, peer: int, host: HostLine) -> None:
        self._engine, self._rule = transport.engine, transport.rule
        self._ends = sender, peer
        self._there, self._back = transport.untold(sender, peer), transport.untold(peer, sender)
        self._host = host
        self._out = StreamSender(self._rule, host, self._transmit, self._give_up)
        self._in = StreamReceiver()
        self._room, room = self._engine.packet_room(sender, peer), self._engine.packet_room(peer, sender)
        self._most = _BLOCKS if room is None else max(0, min(_BLOCKS, (room - HEADER - _OPTION) // _BLOCK))
        self._handed: Segment | None = None
        """The first segment of a message that is being handed over."""
        self._at_once = 0, 0
        """Bytes of it that left and that were offered."""
        self._wake = inf
        """When the engine wakes the sender next."""
        self._due = -inf
        """When an acknowledgement is due at the latest."""
        self._answering = False
        """Whether the engine will wake the receiver."""

    def hand_over(self, message: Message) -> None:
        """Send a message after all others."""
        engine, frame = self._engine, message.frame
        parcel, sizes = Parcel(message), cut(frame.size, self._room)
        segments = [Segment(parcel, size, last=place == len(sizes)) for place, size in enumerate(sizes, 1)]
        self._handed, self._at_once = segments[0], (0, 0)
        engine.launched()
        self._out.offer(engine.now, segments)
        self._handed = None
        engine.emit(events.MessageSent(*_where(message), frame.kind.label, len(frame.payload), *self._at_once))
        self._run()

    def _transmit(self, segment: Segment) -> float:
        """Send a segment, now; when its last bit leaves the host."""
        engine, base = self._engine, self._out.base
        then = partial(self._arrived, segment, engine.now, base)
        passage = engine.carry_packet(*self._ends, HEADER + segment.size, then, self._there.take_back)
        sizes = passage.wire_bytes, passage.offered_bytes
        if segment.attempts > 1:
            engine.emit(events.MessageRetransmitted(*_where(segment.parcel.message), segment.attempts, *sizes))
        elif segment is self._handed:
            self._at_once = sizes
        else:
            self._there.add(*sizes)
            self._there.segments += passage.wire_bytes > 0
        if passage.departs < inf:
            self._host.slowest = max(self._host.slowest, passage.departs - engine.now)
        return passage.departs

    def _arrived(self, segment: Segment, sent: float, base: int, arrived: bool) -> None:
        """The way of a segment is over."""
        if not arrived:
            return
        known, ready = self._in.take(segment, sent, base)
        if known and segment.parcel.arrived:
            message = segment.parcel.message
            frame = message.frame
            self._engine.emit(events.MessageDuplicated(message.peer, frame.round, frame.sender, message.number))
        if self._in.urgent:
            self._answer()
        elif self._in.unacknowledged == 1:
            self._due = self._engine.now + self._rule.longest_ack_delay
            self._wait_to_answer()
        for each in ready:
            if each.last and not each.parcel.over:
                self._hand_up(each.parcel)

    def _hand_up(self, parcel: Parcel) -> None:
        """A message is whole, and in order."""
        engine, message = self._engine, parcel.message
        parcel.over = parcel.arrived = True
        inbox = engine.ports[message.peer].inbox
        if inbox is None:
            self._take_in(message)
        else:
            engine.at(inbox.admit(engine.now, always=True), lambda: self._take_in(message))

    def _take_in(self, message: Message) -> None:
        engine = self._engine
        port = engine.ports[message.peer]
        if port.down:
            engine.emit(events.MessageUnreachable(*_where(message)))
        else:
            engine.hand_over(message)
        engine.landed()

    def _answer(self) -> None:
        """Acknowledge, now."""
        sender, peer = self._ends
        upto, blocks, echo = self._in.acknowledgement(self._most)
        size = HEADER + (_OPTION + _BLOCK * len(blocks) if blocks else 0)
        then = partial(self._acknowledged, upto, blocks, echo)
        passage = self._engine.carry_packet(peer, sender, size, then, self._back.take_back)
        self._back.add(passage.wire_bytes, passage.offered_bytes)
        self._back.acknowledgements += passage.wire_bytes > 0

    def _wait_to_answer(self) -> None:
        if not self._answering:
            self._answering = True
            self._engine.at(self._due, self._answer_late)

    def _answer_late(self) -> None:
        """No second segment has come in time, unless there was an acknowledgement since."""
        self._answering = False
        if not self._in.unacknowledged or self._engine.ports[self._ends[1]].down:
            return
        if self._due <= self._engine.now + _EARLY:
            self._answer()
        else:
            self._wait_to_answer()

    def _acknowledged(self, upto: int, blocks: Sequence[Block], echo: float, arrived: bool) -> None:
        if arrived:
            self._out.acknowledge(self._engine.now, upto, blocks, echo)
            self._run()

    def _run(self) -> None:
        """See to it that the engine wakes the sender in time."""
        if self._out.deadline < self._wake:
            self._wake = self._out.deadline
            self._engine.at(self._wake, self._expire)

    def _expire(self) -> None:
        engine, out = self._engine, self._out
        if engine.now + _EARLY < self._wake:
            return
        self._wake = inf
        if engine.ports[self._ends[0]].down and out.outstanding:
            self._wake = engine.now + out.timer.seconds
            engine.at(self._wake, self._expire)
            return
        if out.deadline <= engine.now + _EARLY:
            out.expire(engine.now)
        self._run()

    def _give_up(self, parcel: Parcel) -> None:
        self._lose(parcel, "given-up")

    def _lose(self, parcel: Parcel, reason: Literal["given-up", "sender-down"]) -> None:
        """Its sender cares no more for a message; its receiver may have it nevertheless."""
        if not parcel.over:
            parcel.over = True
            self._engine.bus.lost(self._engine.now, parcel.message, reason)
            self._engine.landed()

    def forget(self) -> None:
        """The sender has lost its memory."""
        for parcel in self._out.abandon():
            self._lose(parcel, "sender-down")

    def reneged(self) -> None:
        """The receiver has lost its memory."""
        self._in.forget()
        self._out.reneged()


def _where(message: Message) -> tuple[int, int, int, int]:
    return message.frame.sender, message.frame.round, message.peer, message.number
