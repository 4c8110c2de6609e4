"""[network.transport]: what happens to a lost message."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from simnet.network.frame import Kind
from simnet.network.link import Passage
from simnet.parts.fields import Count, Number, PositiveSeconds
from simnet.parts.part import OneOf, Part, bare_word, table
from simnet.record import events

if TYPE_CHECKING:
    from simnet.sim.engine import VirtualEngine
    from simnet.sim.sim_events import Message


class TransportKind(Part):
    """How a message is seen through."""

    repeats: ClassVar[bool] = False
    """Whether a message is sent again until its receiver has acknowledged it."""

    def leaves_out(self, round_trip: float) -> str | None:
        """What a real transport would do and this one does not, where a value and its answer take so many seconds."""
        return None

    def made(self, engine: VirtualEngine) -> Reliable | None:
        """The transport of all agents of an engine; None if messages are left to themselves."""
        return None


class Datagram(TransportKind):
    """Sent once, never acknowledged."""

    kind: Literal["datagram"]


class Acknowledged(TransportKind):
    """Acknowledged, and sent again until it is, with pauses that double, a number of times at most."""

    kind: Literal["reliable"]
    timeout: PositiveSeconds = Field(0.2, description="pause before the first repetition")
    backoff: Annotated[float, BeforeValidator(Number("a number of at least 1", 1))] = Field(
        2.0, description="each pause is so many times the one before"
    )
    attempts: Count = Field(8, description="transmissions after which the sender gives up")
    repeats: ClassVar[bool] = True

    def leaves_out(self, round_trip: float) -> str | None:
        if self.timeout > round_trip:
            return None
        return (
            f"the timeout of {self.timeout:g} s is below the median round trip of {round_trip:.3g} s: messages are "
            "repeated that were not lost"
        )

    def made(self, engine: VirtualEngine) -> Reliable:
        return Reliable(engine, self)


TRANSPORTS = table(Datagram, Acknowledged)
AnyTransport = Annotated[TransportKind, OneOf(TRANSPORTS, bare_word)]


@dataclass(slots=True, eq=False)
class _Pending:
    """A message that its sender has not seen acknowledged."""

    message: Message
    attempt: int = 1
    acknowledged: bool = False
    delivered: bool = False
    given_up: bool = False


class Reliable:
    """The reliable transport of all agents: pauses of `timeout`·`backoff`^k, at most `attempts` transmissions.

    The receiver acknowledges every copy that arrives, by a message of its own that is not acknowledged. A message has
    one fate all the same: delivered when it first arrives, lost when its sender gives up before that. What arrives even
    later comes too late to count.
    """

    def __init__(self, engine: VirtualEngine, rule: Acknowledged) -> None:
        self._engine = engine
        self._rule = rule
        self._pending: dict[tuple[int, int, int], _Pending] = {}

    def begin(self, message: Message, passage: Passage) -> None:
        """See a new message through, whose first transmission is this passage."""
        frame = message.frame
        pending = self._pending[frame.sender, message.peer, frame.round] = _Pending(message)
        self._engine.launched()
        self._transmit(pending, passage)

    def acknowledged(self, sender: int, peer: int, round: int) -> None:
        """An acknowledgement of `sender`'s message has come back from `peer`."""
        if pending := self._pending.pop((sender, peer, round), None):
            pending.acknowledged = True

    def _transmit(self, pending: _Pending, passage: Passage) -> None:
        engine = self._engine
        if passage.fate == "delivered" and not engine.is_cut(pending.message):
            for time in (passage.arrives, *passage.copies):
                engine.at(time, lambda: self._come_down(pending, passage.corrupted))
        pause = self._rule.timeout * self._rule.backoff ** (pending.attempt - 1)
        engine.at(engine.now + pause, lambda: self._expire(pending))

    def _come_down(self, pending: _Pending, corrupted: bool) -> None:
        """A transmission has reached its receiver's access line."""
        engine, frame = self._engine, pending.message.frame
        done = engine.down_by(frame.sender, pending.message.peer, frame.size)
        if done == engine.now:
            self._arrive(pending, corrupted)
        elif done < inf:
            engine.at(done, lambda: self._arrive(pending, corrupted))

    def _arrive(self, pending: _Pending, corrupted: bool) -> None:
        """A transmission is at its receiver's door, which may have a queue."""
        engine, message = self._engine, pending.message
        inbox = engine.ports[message.peer].inbox
        if inbox is None or engine.is_unreachable(message):
            self._take_in(pending, corrupted)
            return
        done = inbox.admit(engine.now)
        if done < inf:
            engine.at(done, lambda: self._take_in(pending, corrupted))

    def _take_in(self, pending: _Pending, corrupted: bool) -> None:
        engine, message = self._engine, pending.message
        frame = message.frame
        if engine.is_unreachable(message):
            return
        if corrupted:
            message.refuse()
            return
        if pending.given_up:
            return
        known, pending.delivered = pending.delivered, True
        if known:
            engine.emit(events.MessageDuplicated(message.peer, frame.round, frame.sender, message.number))
        else:
            engine.bus.delivered(engine.now, message)
            engine.ports[message.peer].receive(frame, message.parts)
        engine.send(message.peer, (frame.sender,), frame.round, Kind.ACK, b"")
        if not known:
            engine.landed()

    def _expire(self, pending: _Pending) -> None:
        """A pause is over."""
        engine, message = self._engine, pending.message
        if pending.acknowledged:
            return
        if pending.attempt >= self._rule.attempts:
            self._give_up(pending)
            return
        pending.attempt += 1
        frame = message.frame
        if engine.ports[frame.sender].down:
            engine.at(engine.now + self._rule.timeout, lambda: self._expire(pending))
            return
        passage = engine.links[frame.sender][message.peer].send(engine.now, frame.size)
        where = (frame.sender, frame.round, message.peer, message.number)
        sizes = (passage.wire_bytes, passage.offered_bytes)
        engine.emit(events.MessageRetransmitted(*where, pending.attempt, *sizes))
        self._transmit(pending, passage)

    def _give_up(self, pending: _Pending) -> None:
        engine, message, frame = self._engine, pending.message, pending.message.frame
        self._pending.pop((frame.sender, message.peer, frame.round), None)
        if not pending.delivered:
            pending.given_up = True
            engine.bus.lost(engine.now, message, "given-up")
            engine.landed()
