"""The receiving half of a byte stream: what is whole and in order, and what to acknowledge.

It does no I/O. Acknowledgements are cumulative, with up to three blocks of what came after a gap (RFC 2018). Every
second segment is acknowledged at once, a single one after a while; what is out of order, fills a gap or was known is
acknowledged at once (RFC 5681). The echoed time is that of RFC 7323: of the segment that moved the acknowledgement on,
the earlier of two.
"""

from __future__ import annotations

from simnet.sim.stream_sender import Block, Segment

EVERY = 2
"""So many segments are acknowledged together."""


class StreamReceiver:
    """The receiving half of one stream."""

    __slots__ = ("_acknowledged", "_blocks", "_held", "_next", "echo", "unacknowledged", "urgent")

    def __init__(self) -> None:
        self._next = 0
        self._held: dict[int, Segment] = {}
        self._blocks: list[Block] = []
        self._acknowledged = 0
        self.echo = 0.0
        """when the segment was sent whose acknowledgement measures the round trip"""
        self.unacknowledged = 0
        """segments that came in order since the last acknowledgement"""
        self.urgent = False
        """an acknowledgement is due now"""

    def take(self, segment: Segment, sent: float, base: int) -> tuple[bool, list[Segment]]:
        """A segment came: whether it was known, and the segments that are in order by it.

        `sent` is when this copy was sent, `base` the first number that its sender still stands for.
        """
        gap, number = bool(self._held), segment.number
        if base > self._next:
            self._next = base
            # As if it had been acknowledged: else the echoed time would stay that of a segment of long ago.
            self._acknowledged = base
            self._held = {held: each for held, each in self._held.items() if held >= base}
        if number <= self._acknowledged:
            self.echo = max(self.echo, sent)
        known = number < self._next or number in self._held
        if not known:
            self._held[number] = segment
            self._report(number)
            self.unacknowledged += 1
        ready = []
        while self._next in self._held:
            ready.append(self._held.pop(self._next))
            self._next += 1
        self.urgent |= known or gap or not ready or self.unacknowledged >= EVERY
        return known, ready

    def acknowledgement(self, most: int) -> tuple[int, tuple[Block, ...], float]:
        """What to tell the sender now, with so many blocks at most: first missing segment, blocks, echoed time."""
        self._acknowledged = self._next
        self.unacknowledged, self.urgent = 0, False
        self._blocks = [block for block in self._blocks if block[0] > self._next]
        return self._next, tuple(self._blocks[:most]), self.echo

    def forget(self) -> None:
        """Lose what came after a gap."""
        self._held.clear()
        self._blocks.clear()
        self.unacknowledged, self.urgent = 0, False

    def _report(self, number: int) -> None:
        """Keep the blocks up to date, the newest first."""
        first, end = number, number + 1
        others = []
        for block in self._blocks:
            if block[1] < first or block[0] > end:
                others.append(block)
            else:
                first, end = min(first, block[0]), max(end, block[1])
        self._blocks = [(first, end), *others]
