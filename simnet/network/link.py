"""One direction between two agents: a transmitter and a wire behind it."""

from __future__ import annotations

from simnet.network.fates import Luck
from simnet.network.model import LinkModel
from simnet.network.transmitter import Transmitter
from simnet.network.wire import Passage, Wire
from simnet.streams import Streams


class Link(Wire):
    """A wire with its transmitter, which it may share with others (the uplink of an agent), as it may its luck.

    A pure function of (now, size) and of what was sent before: it schedules nothing and knows no clock. `name` is
    "sender>receiver" and names the streams.

    >>> link = Link(LinkModel(bandwidth=8000.0), Streams(1), "0>1")
    >>> link.offer(0.0, 500).arrives, link.offer(0.1, 500).arrives
    (0.5, 1.0)
    """

    __slots__ = ("_simple", "transmitter")

    def __init__(
        self,
        model: LinkModel,
        streams: Streams,
        name: str,
        transmitter: Transmitter | None = None,
        luck: Luck | None = None,
    ) -> None:
        self.transmitter = transmitter or Transmitter(model, streams, name)
        super().__init__(model, streams, name, single=self.transmitter.single, luck=luck)
        self._simple = self.simple and self.transmitter.simple

    def offer(self, now: float, size: int) -> Passage:
        """Send a message of `size` bytes; `now` never goes back from one call to the next."""
        return self.carry(*self.transmitter.admit(now, size))

    def send(self, now: float, size: int) -> tuple[bool, float, int, Passage | None]:
        """The same in short, at half the price: whether it is lost, when it arrives or has left, bytes on the wire.

        A message of which there is more to tell comes with its passage.
        """
        line = self.transmitter
        if not self._simple or line.busy_until > now:
            starts, departs, packets, total = line.admit(now, size)
            passage = self.carry(starts, departs, packets, total)
            return passage.fate == "lost", passage.arrives, passage.wire_bytes, passage
        # One packet on an idle line, which is what most messages are: `admit` and `carry` without a call.
        total = size + line.overhead
        if line.bandwidth is None:
            departs = now
        else:
            line.busy_until = departs = now + total * 8.0 / line.bandwidth
        arrives = departs + next(self._delays)
        if arrives != arrives:  # NaN: it is lost
            return True, departs, total, None
        if self._ordered:
            if arrives < self._latest:
                arrives = self._latest
            else:
                self._latest = arrives
        return False, arrives, total, None
