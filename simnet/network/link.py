"""One direction between two agents: a transmitter and a wire behind it."""

from __future__ import annotations

from simnet.network.model import LinkModel
from simnet.network.transmitter import Transmitter
from simnet.network.wire import Passage, Wire
from simnet.streams import Streams


class Link:
    """A pure function of (now, size) and of what was sent before: it schedules nothing and knows no clock.

    `name` is "sender>receiver" and names the streams. Links that share an uplink are given the same `transmitter`.

    >>> link = Link(LinkModel(bandwidth=8000.0), Streams(1), "0>1")
    >>> link.offer(0.0, 500).arrives, link.offer(0.1, 500).arrives
    (0.5, 1.0)
    """

    __slots__ = ("transmitter", "wire")

    def __init__(self, model: LinkModel, streams: Streams, name: str, transmitter: Transmitter | None = None) -> None:
        self.transmitter = transmitter or Transmitter(model, streams, name)
        self.wire = Wire(model, streams, name)

    def offer(self, now: float, size: int) -> Passage:
        """Send a message of `size` bytes; `now` never goes back from one call to the next."""
        starts, departs, packets, total = self.transmitter.admit(now, size)
        return self.wire.carry(starts, departs, packets, total)
