"""The event stream: numbers and times what happens, and tells everyone who listens.

The bus is the only way out of an engine, and it alone numbers events. Every metric is a subscriber, and the same
subscriber fed from a saved log gives the same numbers. A subscriber that has an attribute `kinds` hears only events of
these types.

Most of what happens is that a message is sent, arrives or is lost, and that a value is used. These four have methods of
their own, because most subscribers only count them. If a subscriber has an attribute `counters`, the bus adds to it and
tells this subscriber nothing of the four. A record is made only if somebody else listens.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Protocol

from simnet.network.frame import Frame
from simnet.record.events import EVENTS, FATES, Event, MessageDelivered, MessageLost, MessageSent, ValueUsed
from simnet.record.used_values import UsedValues

Carries = Literal["value", "notice", "ack", "request", "reply"]
"""What a frame is for."""
Reason = Literal["corrupted", "given-up", "collision", "retries", "sender-down"]
"""Why a message was lost, where it was not its link."""
Subscriber = Callable[[int, float, Event], None]
"""Called with an event's number, its time to the nanosecond, and its record."""

COUNTS = (
    *("broadcasts", "skips", "notices", "messages", "delivered", "lost", "overflowed", "unreachable"),
    "refused",
    *("retransmissions", "payload_bytes", "wire_bytes", "offered_bytes", "duplicates", "corrupted", "transmissions"),
)
"""What summary.json and the tables tell of communication, in their order, but for `in_flight`."""

_OTHERS = ("releases", "staleness_sum", "values_used", "missed", "gradients")


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
        self._now = self._t = 0.0
        self.events = 0
        """How many there have been: the number of the last one."""

    def emit(self, now: float, event: Event) -> None:
        """Publish an event of any kind."""
        self.events = number = self.events + 1
        t = self._t if now == self._now else self._time(now)
        for tell in self._listeners[type(event)]:
            tell(number, t, event)

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


class Counters:
    """How often what happened at which agent; a message and its fate count where it was sent.

    Flat arrays, because a run adds to them with every message: in a large network lists would lead to numbers that lie
    anywhere.
    """

    def __init__(self) -> None:
        self._of = {name: array("q") for name in (*COUNTS, *_OTHERS)}
        # What every message adds to, without a look-up.
        self._messages, self.delivered, self._lost = (self._of[name] for name in ("messages", "delivered", "lost"))
        self._payload_bytes, self._wire_bytes = self._of["payload_bytes"], self._of["wire_bytes"]
        self._offered_bytes = self._of["offered_bytes"]
        self._staleness, self._used = self._of["staleness_sum"], self._of["values_used"]
        self._transmissions = self._of["transmissions"]
        self.values = UsedValues()

    def open(self, agents: int) -> None:
        """Start from nothing with so many agents."""
        for counts in self._of.values():
            counts[:] = array("q", [0]) * agents
        self.values.open(agents)

    def add(self, agent: int, name: str, amount: int = 1) -> None:
        self._of[name][agent] += amount

    def released(self, t: float, agent: int, round: int) -> None:
        """An agent let a model out."""
        self.add(agent, "releases")
        self.values.released(t, agent, round)

    def sent(
        self,
        agent: int,
        carries: str,
        messages: int,
        transmissions: int,
        payload_bytes: int,
        wire_bytes: int,
        offered_bytes: int,
    ) -> None:
        """An agent sent so many messages of one kind in so many transmissions, with so many bytes in all."""
        self._transmissions[agent] += transmissions
        self._messages[agent] += messages
        self._payload_bytes[agent] += payload_bytes
        self._wire_bytes[agent] += wire_bytes
        self._offered_bytes[agent] += offered_bytes
        if carries == "notice":
            self.add(agent, "notices", messages)

    def lost(self, agent: int, reason: str | None, unsent: int) -> None:
        """A message of an agent was lost, of which so many bytes never left."""
        self._lost[agent] += 1
        self._wire_bytes[agent] -= unsent
        if reason == "corrupted":
            self.add(agent, "corrupted")

    def used(self, t: float, agent: int, round: int, peers: Sequence[int], staleness: Sequence[int]) -> None:
        """A round of an agent used a value of each of these neighbours, so many rounds old."""
        self._used[agent] += len(peers)
        self._staleness[agent] += sum(staleness)
        if missed := self.values.used(t, round, peers, staleness):
            self.add(agent, "missed", missed)

    def used_in_turn(self, values: Iterable[Any]) -> None:
        """Values that were used, in the order and with the fields of `ValueUsed`, each with its time `t`."""
        for agent in self.values.used_in_turn(values, self._used, self._staleness):
            self.add(agent, "missed")

    def __getitem__(self, name: str) -> Sequence[int]:
        """A count of each agent."""
        return self._of[name]

    def communication(self) -> dict[str, int]:
        """All counts of messages, with what is still on its way."""
        counts = {name: sum(self._of[name]) for name in COUNTS}
        counts["in_flight"] = counts["messages"] - sum(counts[fate] for fate in FATES.values())
        return {name: counts[name] for name in (*COUNTS[:9], "in_flight", *COUNTS[9:])}
