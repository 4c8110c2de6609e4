"""The event stream: numbers and times what happens, and tells everyone who listens.

The bus is the only way out of an engine, and it alone numbers events. Every metric is a subscriber, and the same
subscriber fed from a saved log gives the same numbers. A subscriber that has an attribute `kinds` hears only events of
these types.

Most of what happens is that a message is sent, arrives or is lost, and that a value is used. These four have methods of
their own, because most subscribers only count them. If a subscriber has an attribute `counters`, the bus adds to it and
tells this subscriber nothing of the four. A record is made only if somebody else listens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Literal, Protocol

import numpy as np

from simnet.network.frame import Frame
from simnet.record.counters import Counters
from simnet.record.event_columns import EventColumn, Rows
from simnet.record.events import EVENTS, Event, MessageDelivered, MessageLost, MessageSent, ValueUsed

Carries = Literal["value", "notice", "ack", "request", "reply"]
"""What a frame is for."""
Reason = Literal["corrupted", "given-up", "collision", "retries", "sender-down"]
"""Why a message was lost, where it was not its link."""
Subscriber = Callable[[int, float, Event], None]
"""Called with an event's number, its time to the nanosecond, and its record."""


class _Message(Protocol):
    """What the record tells of a frame on its way to one receiver."""

    frame: Frame
    peer: int
    number: int


class Bus:
    """Hands each event, with its number and time, to all who listen to its kind, in order."""

    def __init__(self, *subscribers: Subscriber) -> None:
        self._listeners = {
            kind: tuple(each for each in subscribers if kind in getattr(each, "kinds", (kind,)))
            for kind in EVENTS.values()
        }
        counting = next((each for each in subscribers if hasattr(each, "counters")), None)
        self._counters: Counters | None = getattr(counting, "counters", None)
        self._on_sent, self._on_delivered, self._on_lost, self._on_used = (
            tuple(each for each in self._listeners[kind] if each is not counting)
            for kind in (MessageSent, MessageDelivered, MessageLost, ValueUsed)
        )
        self._subscribers = subscribers
        self._now = self._t = 0.0
        self.events = 0
        """How many there have been: the number of the last one."""

    def emit(self, now: float, event: Event) -> None:
        """Publish an event of any kind."""
        self.events = number = self.events + 1
        t = self._t if now == self._now else self._time(now)
        for tell in self._listeners[type(event)]:
            tell(number, t, event)

    def hears(self, kind: type[Event]) -> bool:
        """Whether anybody listens to single events of this kind, and would not do with columns."""
        return any(not hasattr(each, "tell") for each in self._listeners[kind])

    @property
    def takes_columns(self) -> bool:
        """Whether it makes no difference to a subscriber that events come in columns."""
        counting = [each for each in self._subscribers if hasattr(each, "counters")]
        return type(self) is Bus and all(hasattr(each, "tell") for each in counting)

    def tell(self, columns: Sequence[EventColumn]) -> None:
        """Publish what happens to many agents at once, in columns whose events take turns as their numbers say.

        A subscriber with a method `tell` is told columns; others hear single events. One that hears some of them only
        says by a method `picks` which.
        """
        self.events += sum(column.size for column in columns)
        for subscriber in self._subscribers:
            kinds = getattr(subscriber, "kinds", EVENTS.values())
            heard = [column for column in columns if column.size and column.kind in kinds]
            if hasattr(subscriber, "tell"):
                for column in heard:
                    subscriber.tell(column)
            elif heard:
                _tell_singly(subscriber, heard)

    def sent(
        self,
        now: float,
        carries: Carries,
        messages: Sequence[_Message],
        wire_bytes: Sequence[int],
        offered_bytes: Sequence[int],
    ) -> None:
        """Publish a `MessageSent` for each message of one frame.

        `wire_bytes` are those of each that left the host, `offered_bytes` those that were handed to it; the latter are
        0 for a message that shares the transmission of the one before.
        """
        if not messages:
            return
        first = self.events + 1
        self.events += len(messages)
        frame = messages[0].frame
        payload = len(frame.payload)
        if self._counters is not None:
            payloads = payload * (len(messages) - offered_bytes.count(0))
            sums = (payloads, sum(wire_bytes), sum(offered_bytes))
            self._counters.sent(frame.sender, carries, len(messages), len(messages) - wire_bytes.count(0), *sums)
        if self._on_sent:
            sizes = zip(messages, wire_bytes, offered_bytes, strict=True)
            for number, (message, wire, offered) in enumerate(sizes, first):
                where = (frame.sender, frame.round, message.peer, message.number)
                event = MessageSent(*where, carries, payload if offered else 0, wire, offered)
                self._tell(self._on_sent, number, now, event)

    def delivered(self, now: float, message: _Message) -> None:
        """Publish a `MessageDelivered`."""
        self.events += 1
        frame = message.frame
        if self._counters is not None:
            self._counters.delivered[frame.sender] += 1
        if self._on_delivered:
            event = MessageDelivered(message.peer, frame.round, frame.sender, message.number)
            self._tell(self._on_delivered, self.events, now, event)

    def lost(self, now: float, message: _Message, reason: Reason | None = None, unsent: int = 0) -> None:
        """Publish a `MessageLost`."""
        self.events += 1
        frame = message.frame
        if self._counters is not None:
            self._counters.lost(frame.sender, reason, unsent)
        if self._on_lost:
            event = MessageLost(frame.sender, frame.round, message.peer, message.number, reason, unsent)
            self._tell(self._on_lost, self.events, now, event)

    def used(self, now: float, agent: int, round: int, peers: Sequence[int], staleness: Sequence[int]) -> None:
        """Publish a `ValueUsed` for each of these neighbours."""
        first = self.events + 1
        self.events += len(peers)
        if self._counters is not None:
            t = self._t if now == self._now else self._time(now)
            self._counters.used(t, agent, round, peers, staleness)
        if self._on_used:
            for number, peer, age in zip(range(first, self.events + 1), peers, staleness, strict=True):
                self._tell(self._on_used, number, now, ValueUsed(agent, round, peer, age))

    def _tell(self, listeners: Iterable[Subscriber], number: int, now: float, event: Event) -> None:
        t = self._t if now == self._now else self._time(now)
        for tell in listeners:
            tell(number, t, event)

    def _time(self, now: float) -> float:
        """A time to the nanosecond, so that the last bits of a logarithm do not matter.

        Most events share their instant with the one before, so it is kept.
        """
        # A clock may count in integers or in numpy's floats; a log holds plain floats only.
        self._now, self._t = now, round(float(now), 9)
        return self._t


def _tell_singly(subscriber: Subscriber, columns: Sequence[EventColumn]) -> None:
    """Tell a subscriber the events of these columns one by one, in their order."""
    picks: Callable[[EventColumn], Rows] = getattr(subscriber, "picks", lambda column: np.arange(column.size))
    records = [entry for column in columns for entry in column.records(picks(column))]
    records.sort(key=_number)
    for number, t, event in records:
        subscriber(number, t, event)


_number = itemgetter(0)
