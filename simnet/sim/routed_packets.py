"""Single packets over an underlay, hop by hop: what messages and transports are sent through.

The rules. A packet goes over the links of its route: it waits in the queue of the link, is put on the line bit by bit,
and travels. It enters the next queue when its last bit has arrived (store and forward). A physical link is a `Link`
whose messages are packets; each direction has a line of its own. Its streams are those of a link named underlay/A>B.
Agents at one node hear each other at once; their bytes count as sent, and use no physical link.

A packet is one event per hop: its arrival at the next node, or at a link that loses it, the departure of its last bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, cast

import msgspec
from simpy.events import EventPriority

from simnet.network.link import Link, Passage
from simnet.network.model import Ends
from simnet.network.underlay import PhysicalNetwork, one_packet
from simnet.record import events
from simnet.sim.carrier import PacketService, Then, Unsent
from simnet.sim.sim_events import ARRIVAL
from simnet.streams import Streams

if TYPE_CHECKING:
    from simnet.sim.engine import VirtualEngine

End = Literal["delivered", "corrupted", "lost", "overflowed", "unreachable", "sender-down"]
"""What becomes of a packet."""
Told = Callable[[End, int], None]
"""Called at a packet's end with what has become of it, and with how many bytes of it never left its host."""


class PhysicalLine:
    """One direction of a physical link, and what it has done so far."""

    __slots__ = ("busy", "bytes", "dropped", "latest", "link", "lost", "packets")

    def __init__(self, link: Link) -> None:
        self.link = link
        self.packets = self.bytes = self.dropped = self.lost = 0
        self.busy = 0.0
        """seconds that the packets which it took need on the line"""
        self.latest = 0.0
        """when the last of them has left"""

    def take(self, now: float, weight: int) -> Passage:
        """What becomes of a packet that comes now."""
        passage = self.link.send(now, weight)
        if passage.fate == "overflowed":
            self.dropped += 1
            return passage
        self.packets += 1
        self.bytes += weight
        self.busy += passage.departs - passage.starts
        self.latest = passage.departs
        if passage.fate == "lost":
            self.lost += 1
        return passage

    def give_back(self, weight: int, *, lost: bool) -> None:
        """A packet that it took never came; its time on the line stays reserved."""
        self.packets -= 1
        self.bytes -= weight
        self.lost -= lost

    def utilisation(self, now: float) -> float:
        """The share of the time until now for which the line was busy."""
        # What the line still has to do is done without a pause.
        return max(0.0, self.busy - max(0.0, self.latest - now)) / now if now else 0.0


Callbacks: TypeAlias = "tuple[Callable[[RoutedPacket], None], ...]"


class RoutedPacket(msgspec.Struct, eq=False):
    """A packet on its way, and an event as `Message` is one: its arrival at the next node."""

    callbacks: Callbacks
    route: tuple[PhysicalLine, ...]
    weight: int
    """bytes on the wire"""
    peer: int
    then: Told
    hop: int = 0
    """links that have taken it"""
    starts: float = 0.0
    """its first bit leaves its host"""
    departs: float = 0.0
    """its last bit leaves its host"""
    corrupted: bool = False
    ok: ClassVar[bool] = True


class RoutedPackets(PacketService):
    """Carries packets over the links of a physical network."""

    def __init__(
        self, engine: VirtualEngine, network: PhysicalNetwork, neighbours: list[Ends], streams: Streams
    ) -> None:
        self._engine, self.network, self._neighbours = engine, network, neighbours
        self._lines = {
            ends: PhysicalLine(Link(one_packet(model), streams, f"underlay/{network.name(ends)}"))
            for ends, model in sorted(network.models.items())
        }
        self._routes: dict[Ends, tuple[PhysicalLine, ...]] = {}
        # A packet is not a `simpy.Event`, but all that SimPy's queue asks of one.
        self._post = cast(Callable[[RoutedPacket, EventPriority, float], None], engine.env.schedule)
        self._on_node: Callbacks = (self._at_node,)
        self._on_loss: Callbacks = (self._lose,)
        self._outbox: dict[int, list[RoutedPacket]] = {}
        """Packets under way by their senders; kept only if something may break."""

    def room(self, sender: int, peer: int) -> int | None:
        return self.network.cutter.room

    def carry(self, sender: int, peer: int, size: int, then: Then, unsent: Unsent | None = None) -> Passage:
        engine = self._engine
        cut = (sender, peer) in engine.cut

        def told(end: End, left_behind: int) -> None:
            if left_behind and unsent is not None:
                unsent(left_behind)
            then(end == "delivered" and not cut and not self._away(sender, peer))

        passage = self.send(sender, peer, self.network.cutter.on_wire(size), told)
        if passage.fate == "overflowed":
            engine.at(engine.now, lambda: told("overflowed", 0))
        return passage

    def _away(self, sender: int, peer: int) -> bool:
        """Whether nothing gets through to the receiver now: it is down, or the way to it is cut."""
        engine = self._engine
        return (sender, peer) in engine.cut or (peer in engine.ports and engine.ports[peer].down > 0)

    def send(self, sender: int, peer: int, weight: int, then: Told) -> Passage:
        """Hand a packet to the first link of its route; `then` is not told of a link that has no room for it."""
        now = self._engine.env.now
        packet = RoutedPacket(self._on_node, self.route(sender, peer), weight, peer, then)
        if packet.route:
            passage = self._onward(packet)
        else:
            passage = Passage("delivered", now, now, now, 1, weight)
            self._post(packet, ARRIVAL, 0.0)
        packet.starts, packet.departs = passage.starts, passage.departs
        if self._engine.fragile and passage.fate != "overflowed":
            flying = [each for each in self._outbox.get(sender, ()) if each.callbacks]
            self._outbox[sender] = [*flying, packet]
        return passage

    def route(self, sender: int, peer: int) -> tuple[PhysicalLine, ...]:
        """The lines from one agent to another."""
        found = self._routes.get((sender, peer))
        if found is None:
            found = tuple(self._lines[ends] for ends in self.network.route(sender, peer))
            self._routes[sender, peer] = found
        return found

    def _onward(self, packet: RoutedPacket) -> Passage:
        """Hand a packet to the next link of its route."""
        now = self._engine.env.now
        passage = packet.route[packet.hop].take(now, packet.weight)
        packet.hop += 1
        if passage.fate == "delivered":
            packet.callbacks = self._on_node
            packet.corrupted |= passage.corrupted
            self._post(packet, ARRIVAL, passage.arrives - now)
        elif passage.fate == "lost":
            packet.callbacks = self._on_loss
            self._post(packet, ARRIVAL, passage.departs - now)
        return passage

    def _at_node(self, packet: RoutedPacket) -> None:
        """A packet's last bit has arrived at a node."""
        if packet.hop == len(packet.route):
            packet.then("corrupted" if packet.corrupted else "delivered", 0)
        elif self._onward(packet).fate == "overflowed":
            packet.then("overflowed", 0)

    def _lose(self, packet: RoutedPacket) -> None:
        packet.then("lost", 0)

    def silence(self, agent: int) -> None:
        """What waits for a first link, or is on its line, dies. The line keeps the time that it had for it."""
        now = self._engine.env.now
        unsent: Counter[Told] = Counter()
        for packet in self._outbox.get(agent, ()):
            if packet.callbacks and packet.departs > now:
                packet.route[0].give_back(packet.weight, lost=packet.callbacks is self._on_loss)
                packet.callbacks = ()
                unsent[packet.then] += packet.weight
        for told, size in unsent.items():
            told("sender-down", size)

    def sever(self, sender: int, peer: int) -> None:
        now = self._engine.env.now
        for packet in self._outbox.get(sender, ()):
            if packet.callbacks and packet.peer == peer and packet.starts <= now:
                packet.callbacks = ()
                packet.then("unreachable", 0)

    def close(self) -> None:
        """Tell what each physical link did that had anything to do."""
        now, shared = self._engine.now, self.network.shared_by(self._neighbours)
        for ends, line in self._lines.items():
            if line.packets or line.dropped:
                bandwidth = line.link.transmitter.bandwidth
                self._engine.emit(
                    events.UnderlayLink(
                        link=self.network.name(ends),
                        packets=line.packets,
                        bytes=line.bytes,
                        utilisation=round(line.utilisation(now), 9),
                        dropped=line.dropped,
                        lost=line.lost,
                        shared_by=shared[ends],
                        bandwidth=None if bandwidth == inf else bandwidth,
                    )
                )
