"""What may wait for a line, what may wait at an agent that takes its messages in, and what is turned away.

A transmitter is the sender's side of a link: a message is cut into packets, waits for the line and is put on it bit by
bit. It needs no process of its own. With the time until which the line is busy and the starts of what waits, the fate
of a message is known when it is sent.

The rule of a line, exactly. A packet waits while its first bit has not left; the packet on the line does not count.
`limit` is how much may wait, in packets or in bytes on the wire. Packets are admitted one by one (drop-tail), those of
one message at one instant: a packet enters if it does not have to wait, or if it and all that waits already stay within
the limit. Those that fit leave, whatever becomes of the others; a message is whole only if all of them do. What is due
to start or end at exactly the moment of the question has done so.

A system of K places in which the packet on the line counts (M/M/1/K, `Port(qlimit=K)` of ns.py) has the limit K − 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from math import ceil, inf
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from simnet.network.draws import one_by_one, uniform
from simnet.parts.fields import NonNegative, Positive, Probability, Seconds, Whole
from simnet.parts.part import Section
from simnet.streams import Streams

if TYPE_CHECKING:
    from simnet.network.model import LinkModel


class Red(Section):
    """Random early detection: some packets are dropped before the queue is full.

    Floyd & Jacobson 1993. With every packet the average queue, in the unit of the queue's limit, is compared with two
    thresholds. Below `low` nothing is dropped; between the two the chance grows from 0 to `chance`; from `high` on
    everything is dropped.
    """

    low: NonNegative = Field(5.0, description="average queue below which nothing is dropped, in the queue's unit")
    high: Positive = Field(15.0, description="average queue from which everything is dropped")
    chance: Probability = Field(0.02, description="chance of a drop just below `high`")
    weight: Probability = Field(0.002, description="share of the newest queue length in the average")

    @model_validator(mode="after")
    def _ordered(self) -> Red:
        if self.low >= self.high:
            raise ValueError(f"low: below high, which is {self.high:g}")
        return self


class Queue(Section):
    """What may wait for the line; a packet that does not fit is dropped."""

    limit: Whole | None = Field(
        None, description="how much may wait behind the packet on the line; unlimited if absent"
    )
    unit: Literal["packets", "bytes"] = Field("packets", description="what the limit counts")
    red: Red | None = Field(None, description="drop early, by the average queue; only when full if absent")


def _bare_limit(value: object) -> object:
    """A bare number stands for a limit in packets."""
    return {"limit": value} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


AnyQueue = Annotated[Queue, BeforeValidator(_bare_limit)]


class RedState:
    """The average queue at one transmitter, by the algorithm of figure 2 of Floyd & Jacobson."""

    __slots__ = ("_average", "_count", "_model", "_uniforms")

    def __init__(self, model: Red, streams: Streams, name: str) -> None:
        self._model = model
        self._uniforms = one_by_one(streams, "red", name, uniform)
        self._average = 0.0
        self._count = -1  # packets since the last drop; −1 below the lower threshold

    def drops(self, waiting: float, vacant: float) -> bool:
        """Whether to drop a packet that finds so much `waiting`.

        `vacant` is how many packets like it could have passed since the line fell idle, 0 if it is busy.
        """
        model = self._model
        u = next(self._uniforms)
        if vacant:
            self._average *= (1 - model.weight) ** vacant
        else:
            self._average += model.weight * (waiting - self._average)
        if self._average < model.low:
            self._count = -1
            return False
        if self._average >= model.high:
            self._count = 0
            return True
        self._count += 1
        p_b = model.chance * (self._average - model.low) / (model.high - model.low)
        # u < p_a = p_b/(1 − count·p_b), which spreads the drops evenly; p_a is 1 once the denominator is spent.
        if u * (1 - self._count * p_b) < p_b:
            self._count = 0
            return True
        return False


Departure = tuple[float, float, int, int, int]
"""First bit out, last bit out, packets, bytes that leave, bytes that the queue refuses.

The times are infinite unless the whole message leaves.
"""


class Transmitter:
    """A line that serves first come, first served, for one link or, as the line of an agent, for several."""

    __slots__ = (
        "_added",
        "_backlog",
        "_bandwidth",
        "_bounded",
        "_busy_until",
        "_by_bytes",
        "_limit",
        "_pace",
        "_plain",
        "_red",
        "_room",
        "_waiting",
    )

    def __init__(self, model: LinkModel, streams: Streams, name: str) -> None:
        queue = model.queue or Queue()
        rate = model.bandwidth
        self._pace = None if rate is None or isinstance(rate, float) else rate.pace(streams, name)
        """What the line can carry when, if that changes."""
        self._bandwidth = inf if rate is None else rate if isinstance(rate, float) else rate.mean
        self._room = None if model.mtu is None else model.mtu - model.overhead
        self._added = model.overhead + model.framing
        self._limit = inf if queue.limit is None else queue.limit
        self._by_bytes = queue.unit == "bytes"
        self._red = None if queue.red is None else RedState(queue.red, streams, name)
        self._bounded = model.bandwidth is not None and (queue.limit is not None or queue.red is not None)
        self._plain = model.mtu is None and not (self._bounded and queue.red) and self._pace is None
        """Messages are single packets, and an idle line takes any."""
        # (start, weight) of each packet that waits. Made when one first waits: an empty deque holds 760 bytes, and a
        # large network has a million lines.
        self._waiting: deque[tuple[float, int]] | None = None
        self._backlog = 0
        self._busy_until = -inf

    @property
    def bandwidth(self) -> float:
        """Bits per second, on average where they change."""
        return self._bandwidth

    @property
    def single(self) -> bool:
        """Every message is one packet."""
        return self._room is None

    @property
    def room(self) -> int | None:
        """How much of a message a packet holds; None if it holds any."""
        return self._room

    def packets(self, size: int) -> int:
        """How many packets a message of `size` bytes makes."""
        return 1 if self._room is None else max(1, ceil(size / self._room))

    def on_wire(self, size: int) -> int:
        """What a message of `size` bytes weighs with all that its packets add to it."""
        return size + self.packets(size) * self._added

    def weights(self, size: int) -> Iterator[int]:
        """The bytes on the wire of each packet of a message."""
        packets = self.packets(size)
        if self._room is not None:
            yield from repeat(self._room + self._added, packets - 1)
            size -= (packets - 1) * self._room
        yield size + self._added

    def admit(self, now: float, size: int) -> Departure:
        """Send a message of `size` bytes, as much of it as fits; `now` never goes back from one call to the next."""
        if self._plain and self._busy_until <= now:
            # One packet on an idle line does not wait, so no queue refuses it: this is what most messages meet.
            total = size + self._added
            self._busy_until = departs = now + total * 8.0 / self._bandwidth
            return now, departs, 1, total, 0
        if self._bounded:
            return in_turn((self,), now, self.weights(size))
        packets, total = self.packets(size), self.on_wire(size)
        starts, departs = self.packet(now, total)
        return starts, departs, packets, total, 0

    def packet(self, now: float, weight: int) -> tuple[float, float]:
        """First and last bit out of one packet of so many bytes on the wire; infinite if there is no room for it."""
        starts = now if self._busy_until <= now else self._busy_until
        if self._pace is not None:
            starts = self._pace.begins(now)
        service = weight * 8.0 / self._bandwidth
        if self._bounded:
            load = 0 if starts <= now else weight if self._by_bytes else 1
            if self._refuses(now, load, service):
                return inf, inf
            if load:
                if self._waiting is None:
                    self._waiting = deque()
                self._backlog += load
                self._waiting.append((starts, load))
        self._busy_until = departs = starts + service if self._pace is None else self._pace.serve(now, weight)
        return starts, departs

    def opens(self, now: float) -> float:
        """When something that is handed over now could leave, if the line is idle: later than now while it is down."""
        return now if self._pace is None else self._pace.begins(now)

    def unhindered(self, now: float, size: int) -> float:
        """When a message has left an idle line to which each packet is handed when the one before has left."""
        total = self.on_wire(size)
        return now + total * 8.0 / self._bandwidth if self._pace is None else self._pace.serve(now, total)

    def _refuses(self, now: float, load: int, service: float) -> bool:
        """Whether there is no room for a packet of which so much has to wait."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            self._backlog -= waiting.popleft()[1]
        refused = self._backlog + load > self._limit
        if self._red is not None:
            # Asked also when the limit refuses: a packet takes one number of the stream whatever its fate.
            vacant = max(0.0, now - self._busy_until) / service if service else 0.0
            refused |= self._red.drops(self._backlog, vacant)
        return refused

    def clear(self, now: float) -> None:
        """Drop all that waits, and what is on the line: its host is dead."""
        self._busy_until = min(self._busy_until, now)
        self._waiting, self._backlog = None, 0
        if self._pace is not None:
            self._pace.halt(now)


def in_turn(lines: Sequence[Transmitter], now: float, weights: Iterable[int]) -> Departure:
    """Send the packets of a message over one line after another: each enters a line when it has left the one before.

    What the first line takes has left its host, whatever a later line does with it.
    """
    begins, packets, left, refused, whole = inf, 0, 0, 0, True
    ends = now
    for weight in weights:
        packets += 1
        starts, departs = lines[0].packet(now, weight)
        if starts == inf:
            refused += weight
        else:
            left += weight
            begins = min(begins, starts)
            for line in lines[1:]:
                departs = line.packet(departs, weight)[1] if departs < inf else inf
        whole &= departs < inf
        ends = departs
    return (begins, ends, packets, left, refused) if whole else (inf, inf, packets, left, refused)


def drained(line: Transmitter, now: float, weights: Sequence[int], pace: float) -> float:
    """When a message has come through a line that its packets reached at `pace` bits per second, the last one now.

    Infinite if one of them found no room.
    """
    left, ends, whole = sum(weights), now, True
    for weight in weights:
        left -= weight
        ends = line.packet(now - left * 8.0 / pace, weight)[1]
        whole &= ends < inf
    return ends if whole else inf


class Intake(Section):
    """What arrives at an agent and has not been taken in yet."""

    service: Seconds = Field(0.0, description="time to take in a message, one after another")
    capacity: Whole | None = Field(None, description="messages that may wait; unlimited when absent")

    def inbox(self) -> Inbox | None:
        """The queue of one agent; None if messages are taken in at once."""
        return Inbox(self.service, self.capacity) if self.service else None


class Inbox:
    """Takes `service` seconds per message; at most `capacity` messages wait behind the one being taken in."""

    __slots__ = ("_busy_until", "_capacity", "_service", "_starts")

    def __init__(self, service: float, capacity: int | None) -> None:
        self._service = service
        self._capacity = inf if capacity is None else capacity
        self._starts: deque[float] = deque()
        self._busy_until = -inf

    def admit(self, now: float, *, always: bool = False) -> float:
        """When a message that arrives now has been taken in; infinite if there is no room for it.

        `always`: there is room, because a transport holds what waits.
        """
        starts = self._starts
        while starts and starts[0] <= now:
            starts.popleft()
        start = max(now, self._busy_until)
        if start > now:
            if len(starts) >= self._capacity and not always:
                return inf
            starts.append(start)
        self._busy_until = start + self._service
        return self._busy_until
