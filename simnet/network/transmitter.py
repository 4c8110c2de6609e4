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
        "_bounded",
        "_by_bytes",
        "_limit",
        "_mtu",
        "_red",
        "_waiting",
        "bandwidth",
        "busy_until",
        "overhead",
        "simple",
    )

    def __init__(self, model: LinkModel, streams: Streams, name: str) -> None:
        queue = model.queue or Queue()
        self.bandwidth = model.bandwidth
        self._mtu = model.mtu
        self.overhead = model.overhead
        self._limit = inf if queue.limit is None else queue.limit
        self._by_bytes = queue.unit == "bytes"
        self._red = None if queue.red is None else RedState(queue.red, streams, name)
        self._bounded = queue.limit is not None or queue.red is not None
        self.simple = model.mtu is None and queue.red is None
        """A message is one packet, and an idle line takes it."""
        # (start, weight) of each packet that waits. Made when one first waits: an empty deque holds 760 bytes, and a
        # large network has a million lines.
        self._waiting: deque[tuple[float, int]] | None = None
        self._backlog = 0
        self.busy_until = -inf

    @property
    def single(self) -> bool:
        """Every message is one packet."""
        return self._mtu is None

    def packets(self, size: int) -> int:
        """How many packets a message of `size` bytes makes."""
        return 1 if self._mtu is None else max(1, ceil(size / (self._mtu - self.overhead)))

    def passes(self, size: int) -> bool:
        """Whether a message of `size` bytes gets through when nothing is in its way."""
        packets = self.packets(size)
        total = size + packets * self.overhead
        return self.bandwidth is None or self._load(total, packets, idle=True) <= self._limit

    def admit(self, now: float, size: int) -> Departure:
        """Send a message of `size` bytes, or refuse it; `now` never goes back from one call to the next."""
        packets = 1 if self._mtu is None else self.packets(size)
        total = size + packets * self.overhead
        bandwidth = self.bandwidth
        if bandwidth is None:
            return now, now, packets, total
        service = total * 8.0 / bandwidth
        busy_until = self.busy_until
        idle = busy_until <= now
        starts = now if idle else busy_until
        if self._bounded:
            waiting = self._waiting
            while waiting and waiting[0][0] <= now:
                self._backlog -= waiting.popleft()[1]
            # A call for each message would cost as much as all the rest of the queue.
            whole = total if self._by_bytes else 1
            load = self._load(total, packets, idle) if packets > 1 else 0 if idle else whole
            refused = self._backlog + load > self._limit
            if self._red is not None:
                # Asked also when the limit refuses: a message takes one number of the stream whatever its fate.
                refused |= self._red.drops(self._backlog, (now - busy_until) / service if idle and service else 0.0)
            if refused:
                return inf, inf, packets, total
            if load:
                if waiting is None:
                    waiting = self._waiting = deque()
                self._backlog += load
                if packets > 1:
                    waiting.extend(self._train(starts, total, packets, idle))
                else:
                    waiting.append((starts, load))
        self.busy_until = departs = starts + service
        return starts, departs, packets, total

    def _load(self, total: int, packets: int, idle: bool) -> int:
        """How much of a message has to wait: all of it, or all but the first packet on an idle line."""
        if self._by_bytes:
            return total - min(total, self._mtu or total) if idle else total
        return packets - idle

    def _train(self, starts: float, total: int, packets: int, idle: bool) -> Iterator[tuple[float, int]]:
        """Start and weight of those packets of a message that have to wait."""
        assert self._mtu is not None
        assert self.bandwidth is not None
        for number in range(1 if idle else 0, packets):
            before = number * self._mtu
            yield starts + before * 8.0 / self.bandwidth, min(self._mtu, total - before) if self._by_bytes else 1
