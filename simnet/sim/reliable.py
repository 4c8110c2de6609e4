"""Reliable transport: acknowledgement, repetition with growing pauses, giving up.

The receiver acknowledges every copy that arrives, by a message of its own that is not acknowledged. A message has one
fate all the same: delivered when it first arrives, lost when its sender gives up before that; what arrives later still
comes too late to count.
"""

from __future__ import annotations

from simnet.network import frame
from simnet.network.wire import Passage
from simnet.record import events
from simnet.sim.engine import VirtualEngine
from simnet.sim.flight import Flight
from simnet.sim.sim_events import at


class _Pending:
    """A message that its sender has not seen acknowledged."""

    __slots__ = ("acknowledged", "attempt", "delivered", "flight", "given_up")

    def __init__(self, flight: Flight) -> None:
        self.flight = flight
        self.attempt = 1
        self.acknowledged = self.delivered = self.given_up = False


class Reliable:
    """The transport of all agents: pauses of `timeout`·`backoff`^k, at most `attempts` transmissions."""

    def __init__(self, engine: VirtualEngine, timeout: float, backoff: float, attempts: int) -> None:
        self._engine = engine
        self._timeout = timeout
        self._backoff = backoff
        self._attempts = attempts
        self._pending: dict[tuple[int, int, int], _Pending] = {}

    def begin(self, flight: Flight, passage: Passage) -> None:
        """See a new message through, whose first transmission is this passage."""
        pending = self._pending[flight.sender, flight.peer, flight.round] = _Pending(flight)
        self._transmit(pending, passage)

    def acknowledged(self, sender: int, peer: int, round: int) -> None:
        """An acknowledgement of `sender`'s message has come back from `peer`."""
        if pending := self._pending.pop((sender, peer, round), None):
            pending.acknowledged = True

    def _transmit(self, pending: _Pending, passage: Passage) -> None:
        engine, flight = self._engine, pending.flight
        if passage.fate == "delivered" and not engine.is_cut(flight):
            for time in (passage.arrives, *passage.copies):
                copy = Flight(flight.cargo, flight.peer, 0, lambda copy: self._arrive(pending, copy))
                copy.corrupted = passage.corrupted
                engine.fly(copy, time)
        pause = self._timeout * self._backoff ** (pending.attempt - 1)
        at(engine.env, engine.env.now + pause, lambda: self._expire(pending))

    def _arrive(self, pending: _Pending, copy: Flight) -> None:
        engine, flight = self._engine, pending.flight
        port = engine.ports[flight.peer]
        if port.down or engine.is_cut(flight):
            return
        if port.inbox is not None and not copy.taken:
            done = port.inbox.admit(engine.env.now)
            copy.taken = True
            if done < float("inf"):
                engine.fly(copy, done)
            return
        if copy.corrupted:
            engine.refused(flight)
            return
        if pending.given_up:
            return
        if pending.delivered:
            engine.emit(events.MessageDuplicated(flight.peer, flight.round, flight.sender, flight.message))
        else:
            pending.delivered = True
            engine.delivered(flight)
            port.receive(flight.cargo)
        engine.send(flight.peer, (flight.sender,), flight.round, frame.Kind.ACK, b"")
        engine.meeting.hold()

    def _expire(self, pending: _Pending) -> None:
        engine, flight = self._engine, pending.flight
        if pending.acknowledged:
            return
        if pending.attempt >= self._attempts:
            self._pending.pop((flight.sender, flight.peer, flight.round), None)
            if not pending.delivered:
                pending.given_up = True
                engine.in_flight -= 1
                engine.emit(events.MessageLost(flight.sender, flight.round, flight.peer, flight.message, "given-up"))
                engine.meeting.hold()
            return
        pending.attempt += 1
        if engine.ports[flight.sender].down:
            at(engine.env, engine.env.now + self._timeout, lambda: self._expire(pending))
            return
        passage = engine.links[flight.sender][flight.peer].offer(engine.env.now, flight.cargo.size)
        size = passage.wire_bytes or flight.cargo.size
        engine.emit(
            events.MessageRetransmitted(flight.sender, flight.round, flight.peer, flight.message, pending.attempt, size)
        )
        self._transmit(pending, passage)
