"""Carries messages over an underlay as they are, packet by packet.

A message is cut into packets at its sender. It is delivered when all of them have arrived. If one is lost or dropped,
the message is lost or overflowed at that moment, and the others go on: nobody tells the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simnet.record import events
from simnet.sim.carrier import MessageCarrier
from simnet.sim.routed_packets import End, RoutedPackets

if TYPE_CHECKING:
    from simnet.network.frame import Frame
    from simnet.sim.engine import VirtualEngine
    from simnet.sim.sim_events import Message


class PacketCarrier(MessageCarrier):
    """Carries an engine's messages, each packet once."""

    def __init__(self, engine: VirtualEngine, packets: RoutedPackets) -> None:
        self._engine, self._packets = engine, packets

    def carry(self, frame: Frame, messages: Sequence[Message]) -> None:
        engine, now = self._engine, self._engine.env.now
        weights = list(self._packets.network.cutter.weights(frame.size))
        offered = sum(weights)
        for message in messages:
            engine.launched()
            delivery = _Delivery(engine, message, len(weights))
            refused = 0
            for weight in weights:
                refused += self._packets.send(frame.sender, message.peer, weight, delivery.told).refused_bytes
            engine.bus.sent(now, frame.kind.label, [message], [offered - refused], [offered])
            if refused:
                delivery.told("overflowed", 0)
            elif engine.is_cut(message):
                delivery.told("unreachable", 0)


class _Delivery:
    """A message whose packets are on their way."""

    __slots__ = ("_engine", "_message", "_missing")

    def __init__(self, engine: VirtualEngine, message: Message, packets: int) -> None:
        self._engine, self._message = engine, message
        self._missing = packets
        """packets that have not arrived; 0 once the message has met its fate"""

    def told(self, end: End, unsent: int) -> None:
        """One packet has come to its end: the last to arrive, or the first that does not, decides for the message."""
        if not self._missing:
            return
        engine, message = self._engine, self._message
        if end in ("delivered", "corrupted"):
            message.corrupted |= end == "corrupted"
            self._missing -= 1
            if not self._missing:
                (arrive,) = message.callbacks
                arrive(message)
            return
        self._missing = 0
        where = (message.frame.sender, message.frame.round, message.peer, message.number)
        if end == "overflowed":
            engine.emit(events.MessageOverflowed(*where))
        elif end == "unreachable":
            engine.emit(events.MessageUnreachable(*where))
        else:
            engine.bus.lost(engine.now, message, "sender-down" if end == "sender-down" else None, unsent)
        engine.landed()
