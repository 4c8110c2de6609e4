"""Single packets over the links: what a transport sends through.

Loss, corruption, duplication, order, queues
and lines are the link's (`Link.send`), the k-th packet of a link takes the k-th row of its streams. A link that is cut
carries nothing, a host that is down hears nothing, and what waits for the lines of a host that goes down never leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf
from typing import TYPE_CHECKING, ClassVar, TypeAlias, cast

import msgspec
from msgspec.structs import replace
from simpy.events import EventPriority

from simnet.network.link import Passage
from simnet.sim.carrier import PacketService, Then, Unsent
from simnet.sim.sim_events import ARRIVAL

if TYPE_CHECKING:
    from simnet.sim.engine import VirtualEngine

_Callbacks: TypeAlias = "tuple[Callable[[Packet], None], ...]"


class Packet(msgspec.Struct):
    """A packet on its way, and an event: the end of that way (as `simnet.sim.sim_events.Message`)."""

    callbacks: _Callbacks
    sender: int
    peer: int
    size: int
    passage: Passage
    then: Then
    unsent: Unsent | None
    copies: tuple[Packet, ...] = ()
    ok: ClassVar[bool] = True


class Packets(PacketService):
    """Carries packets over the links of an engine."""

    def __init__(self, engine: VirtualEngine) -> None:
        self._engine = engine
        self._post = cast(Callable[[Packet, EventPriority, float], None], engine.env.schedule)
        self._sent: dict[int, list[Packet]] = {}
        """What each agent has sent and may not have arrived, if something may break."""
        self._on_arrival, self._on_door, self._on_loss = (self._come_down,), (self._arrive,), (self._lose,)

    def room(self, sender: int, peer: int) -> int | None:
        return self._engine.links[sender][peer].transmitter.room

    def carry(self, sender: int, peer: int, size: int, then: Then, unsent: Unsent | None = None) -> Passage:
        engine, now = self._engine, self._engine.env.now
        passage = engine.links[sender][peer].send(now, size)
        lost = passage.fate != "delivered" or (bool(engine.cut) and (sender, peer) in engine.cut)
        packet = Packet(self._on_loss if lost else self._on_arrival, sender, peer, size, passage, then, unsent)
        if passage.fate == "overflowed":
            self._post(packet, ARRIVAL, 0.0)
            return passage
        self._post(packet, ARRIVAL, (passage.departs if lost else passage.arrives) - now)
        if passage.copies and not lost:
            packet.copies = tuple(replace(packet) for _ in passage.copies)
            for copy, time in zip(packet.copies, passage.copies, strict=True):
                self._post(copy, ARRIVAL, time - now)
        if engine.fragile:
            self._sent[sender] = [each for each in self._sent.get(sender, ()) if _ends(each) > now]
            self._sent[sender].append(packet)
        return passage

    def silence(self, agent: int) -> None:
        now = self._engine.env.now
        for packet in self._withdraw(agent, lambda packet: packet.passage.departs > now):
            if packet.unsent is not None:
                packet.unsent(_unsent(packet.passage, now))

    def sever(self, sender: int, peer: int) -> None:
        now = self._engine.env.now
        self._withdraw(sender, lambda packet: packet.peer == peer and packet.passage.starts <= now < _ends(packet))

    def _withdraw(self, sender: int, which: Callable[[Packet], bool]) -> list[Packet]:
        """Lose some of what an agent has sent; those packets."""
        sent = [packet for packet in self._sent.get(sender, ()) if packet.callbacks]
        found = [packet for packet in sent if which(packet)]
        self._sent[sender] = [packet for packet in sent if not which(packet)]
        for packet in found:
            for each in (packet, *packet.copies):
                each.callbacks = self._on_loss
        return found

    def _come_down(self, packet: Packet) -> None:
        """A packet has reached the receiver's access line."""
        engine = self._engine
        if not engine.down_lines or self._away(packet):
            self._arrive(packet)
            return
        done = engine.down_by(packet.sender, packet.peer, packet.size)
        packet.callbacks = self._on_door if done < inf else self._on_loss
        self._post(packet, ARRIVAL, done - engine.env.now if done < inf else 0.0)

    def _arrive(self, packet: Packet) -> None:
        """A packet is at its receiver's door."""
        packet.then(not packet.passage.corrupted and not self._away(packet))

    def _away(self, packet: Packet) -> bool:
        """Whether nothing gets through to the receiver now: it is down, or the way to it is cut."""
        engine = self._engine
        return engine.ports[packet.peer].down > 0 or (bool(engine.cut) and (packet.sender, packet.peer) in engine.cut)

    def _lose(self, packet: Packet) -> None:
        packet.then(False)


def _unsent(passage: Passage, now: float) -> int:
    """The bytes of a packet that have not left yet; its first and its last bit may leave together."""
    share = 1.0 if passage.starts >= now else (passage.departs - now) / (passage.departs - passage.starts)
    return ceil(passage.wire_bytes * share)


def _ends(packet: Packet) -> float:
    """When a packet is no longer on its link."""
    passage = packet.passage
    return passage.arrives if passage.fate == "delivered" else passage.departs
