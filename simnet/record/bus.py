"""The event stream: numbers and times what happens, and tells everyone who listens.

The bus is the only way out of an engine. Every metric is a subscriber, and the same subscriber fed from a saved log
gives the same numbers. A subscriber that has an attribute `kinds` hears only events of these types.

Most of what happens is that a message is sent, arrives and is used, and most subscribers only count or copy that. One
that only counts has an attribute `tally`: what it would count is counted there, and nothing is told. One that can do
without a record of each message is a `Follower`: it is told the bare fields. Records are made for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

from simnet.record.counters import Tally
from simnet.record.events import EVENTS, Event, MessageDelivered, MessageLost, MessageSent, ValueUsed

Subscriber = Callable[[int, float, Event], None]
"""Called with an event's number, its time to the nanosecond, and its record."""


@runtime_checkable
class Follower(Protocol):
    """A subscriber that takes these three kinds field by field; times are as the engine has them, not rounded."""

    def __call__(self, seq: int, t: float, event: Event) -> None:
        """Every other kind."""
        ...

    def sent(
        self,
        seq: int,
        now: float,
        agent: int,
        round: int,
        peer: int,
        message: int,
        carries: str,
        payload_bytes: int,
        wire_bytes: int,
    ) -> None:
        """A `MessageSent`."""
        ...

    def delivered(self, seq: int, now: float, agent: int, round: int, peer: int, message: int) -> None:
        """A `MessageDelivered`."""
        ...

    def lost(self, seq: int, now: float, agent: int, round: int, peer: int, message: int) -> None:
        """A `MessageLost` that did not arrive."""
        ...


class Bus:
    """Hands each event, with its sequence number and time, to all who listen to its kind, in order.

    An engine takes the next number, `seq`, for a message itself and calls everybody in `on_sent`, `on_delivered` or
    `on_lost`: one entry a follower, and one that makes the records for all others. It counts the message in `tallies`.
    """

    def __init__(self, *subscribers: Subscriber) -> None:
        self._listeners = {kind: tuple(_listeners(kind, subscribers)) for kind in EVENTS.values()}
        self.tallies = tuple(each.tally for each in subscribers if _counts(each))
        self.on_sent = tuple(each.sent for each in self._followers(MessageSent))
        self.on_delivered = tuple(each.delivered for each in self._followers(MessageDelivered))
        self.on_lost = tuple(each.lost for each in self._followers(MessageLost))
        self._on_used = tuple(each for each in self._listeners[ValueUsed] if not _counts(each))
        self._now = self._t = 0.0
        self.seq = 0

    def _followers(self, kind: type[Event]) -> list[Follower]:
        listeners = [each for each in self._listeners[kind] if not _counts(each)]
        followers = [each for each in listeners if isinstance(each, Follower)]
        others = tuple(each for each in listeners if not isinstance(each, Follower))
        return [*followers, _Records(others)] if others else followers

    def used(self, now: float, agent: int, round: int, peers: Sequence[int], staleness: Sequence[int]) -> None:
        """Publish a `ValueUsed` for each of these neighbours."""
        for tally in self.tallies:
            tally.used(agent, round, staleness)
        if not self._on_used:
            self.seq += len(peers)
            return
        t = _rounded(now)
        for peer, age in zip(peers, staleness, strict=True):
            self.seq = seq = self.seq + 1
            event = ValueUsed(agent, round, peer, age)
            for tell in self._on_used:
                tell(seq, t, event)

    def emit(self, now: float, event: Event) -> None:
        """Publish; times are kept to the nanosecond, so that the last bits of a logarithm do not matter."""
        self.seq = seq = self.seq + 1
        # Most events share their instant with the one before: rounding is paid once an instant.
        if now != self._now:
            self._now, self._t = now, _rounded(now)
        for tell in self._listeners[type(event)]:
            tell(seq, self._t, event)


def _listeners(kind: type[Event], subscribers: Iterable[Subscriber]) -> Iterable[Subscriber]:
    return (each for each in subscribers if kind in getattr(each, "kinds", (kind,)))


def _counts(subscriber: Any) -> TypeGuard[_Counting]:
    return isinstance(getattr(subscriber, "tally", None), Tally)


class _Counting(Protocol):
    tally: Tally


class _Records:
    """Makes the records of messages for those who want them."""

    def __init__(self, subscribers: tuple[Subscriber, ...]) -> None:
        self._subscribers = subscribers

    def __call__(self, seq: int, t: float, event: Event) -> None:
        for tell in self._subscribers:
            tell(seq, t, event)

    def sent(
        self, seq: int, now: float, agent: int, round: int, peer: int, message: int, carries: Any, *size: int
    ) -> None:
        self(seq, _rounded(now), MessageSent(agent, round, peer, message, carries, *size))

    def delivered(self, seq: int, now: float, agent: int, round: int, peer: int, message: int) -> None:
        self(seq, _rounded(now), MessageDelivered(agent, round, peer, message))

    def lost(self, seq: int, now: float, agent: int, round: int, peer: int, message: int) -> None:
        self(seq, _rounded(now), MessageLost(agent, round, peer, message))


def _rounded(now: float) -> float:
    # A clock may count in integers or in numpy's floats; a log holds plain floats only.
    return round(float(now), 9)
