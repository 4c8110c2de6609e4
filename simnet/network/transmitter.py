"""The sender's side of a link: a message is cut into packets, waits for the line and is put on it bit by bit.

A transmitter needs no process of its own. With the time until which the line is busy and the starts of what waits, the
fate of a message is known when it is sent. The rule of the queue stands in `simnet.network.queueing`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import ceil, inf

from simnet.network.model import LinkModel
from simnet.network.queueing import Queue, RedState
from simnet.streams import Streams

Departure = tuple[float, float, int, int]
"""First bit out, last bit out, packets, bytes with overhead; the times are infinite if the message was refused."""


class Transmitter:
    """A line that serves first come, first served, for one link or, as the uplink of an agent, for several."""

    __slots__ = (
        "_backlog",
        "_bandwidth",
        "_bounded",
        "_busy_until",
        "_by_bytes",
        "_limit",
        "_mtu",
        "_overhead",
        "_plain",
        "_red",
        "_waiting",
    )

    def __init__(self, model: LinkModel, streams: Streams, name: str) -> None:
        queue = model.queue or Queue()
        self._bandwidth = inf if model.bandwidth is None else model.bandwidth
        self._mtu = model.mtu
        self._overhead = model.overhead
        self._limit = inf if queue.limit is None else queue.limit
        self._by_bytes = queue.unit == "bytes"
        self._red = None if queue.red is None else RedState(queue.red, streams, name)
        self._bounded = model.bandwidth is not None and (queue.limit is not None or queue.red is not None)
        self._plain = model.mtu is None and not (self._bounded and queue.red)
        """Messages are single packets, and an idle line takes any."""
        # (start, weight) of each packet that waits. Made when one first waits: an empty deque holds 760 bytes, and a
        # large network has a million lines.
        self._waiting: deque[tuple[float, int]] | None = None
        self._backlog = 0
        self._busy_until = -inf

    @property
    def single(self) -> bool:
        """Every message is one packet."""
        return self._mtu is None

    def packets(self, size: int) -> int:
        """How many packets a message of `size` bytes makes."""
        return 1 if self._mtu is None else max(1, ceil(size / (self._mtu - self._overhead)))

    def passes(self, size: int) -> bool:
        """Whether a message of `size` bytes gets through when nothing is in its way."""
        packets = self.packets(size)
        total = size + packets * self._overhead
        return not self._bounded or self._load(total, packets, idle=True) <= self._limit

    def admit(self, now: float, size: int) -> Departure:
        """Send a message of `size` bytes, or refuse it; `now` never goes back from one call to the next."""
        if self._plain and self._busy_until <= now:
            # One packet on an idle line does not wait, so no queue refuses it: this is what most messages meet.
            total = size + self._overhead
            self._busy_until = departs = now + total * 8.0 / self._bandwidth
            return now, departs, 1, total
        packets = self.packets(size)
        total = size + packets * self._overhead
        service = total * 8.0 / self._bandwidth
        idle = self._busy_until <= now
        starts = now if idle else self._busy_until
        if self._bounded:
            load = self._load(total, packets, idle)
            if self._refuses(now, load, service):
                return inf, inf, packets, total
            self._queue(starts, load, total, packets, idle)
        self._busy_until = departs = starts + service
        return starts, departs, packets, total

    def _refuses(self, now: float, load: int, service: float) -> bool:
        """Whether there is no room for a message of which so much has to wait."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            self._backlog -= waiting.popleft()[1]
        refused = self._backlog + load > self._limit
        if self._red is not None:
            # Asked also when the limit refuses: a message takes one number of the stream whatever its fate.
            vacant = max(0.0, now - self._busy_until) / service if service else 0.0
            refused |= self._red.drops(self._backlog, vacant)
        return refused

    def _queue(self, starts: float, load: int, total: int, packets: int, idle: bool) -> None:
        """Let those packets of a message wait that have to."""
        if not load:
            return
        if self._waiting is None:
            self._waiting = deque()
        self._backlog += load
        if packets > 1:
            self._waiting.extend(self._train(starts, total, packets, idle))
        else:
            self._waiting.append((starts, load))

    def _load(self, total: int, packets: int, idle: bool) -> int:
        """How much of a message has to wait: all of it, or all but the first packet on an idle line."""
        if self._by_bytes:
            return total - min(total, self._mtu or total) if idle else total
        return packets - idle

    def _train(self, starts: float, total: int, packets: int, idle: bool) -> Iterator[tuple[float, int]]:
        """Start and weight of those packets of a message that have to wait."""
        assert self._mtu is not None
        for number in range(1 if idle else 0, packets):
            before = number * self._mtu
            yield starts + before * 8.0 / self._bandwidth, min(self._mtu, total - before) if self._by_bytes else 1
