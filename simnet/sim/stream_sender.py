"""The sending half of a byte stream: what may be sent when, what counts as lost, what is sent again.

It does no I/O: it is told what was handed over, acknowledged and how late it is, and calls `transmit` with a segment.
Everything counts in segments, as in Linux: a message begins a segment of its own, and a segment is never cut again.

Window.     NewReno (RFC 5681): slow start adds a segment per acknowledgement, congestion avoidance 1/window. It begins
            with 10 segments (RFC 6928), and with at most so many after a pause of a timeout. It grows only if it was
            full. At most `buffer` bytes are unacknowledged.
Loss.       RFC 6675: a segment counts as lost when three later ones have been acknowledged selectively. The first such
            loss of a window halves the window. Lost segments are sent again before new ones; the rescue retransmission
            is left out. Without selective acknowledgements the timer finds the loss.
Timer.      RFC 6298 (`simnet.sim.retransmission_timer`), with a sample per acknowledgement (timestamps, RFC 7323). It
            runs from the time at which the first unacknowledged segment has left the host: Linux too does not repeat
            what waits in the host's own queue. When it expires, everything that is unacknowledged counts as lost and
            the window is one segment.
Giving up.  When a segment would be sent more than `attempts` times, its message is given up. Each packet tells the
            number of the first segment that is still to come, so its receiver does not wait for what was given up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING

from simnet.sim.retransmission_timer import HostLine, RetransmissionTimer

if TYPE_CHECKING:
    from simnet.sim.sim_events import Message
    from simnet.sim.transport import Acknowledged

INITIAL_WINDOW = 10
"""Segments (RFC 6928)."""
LEAST_THRESHOLD = 2.0
THREE = 3
"""Segments that must have overtaken one before it counts as lost."""

Block = tuple[int, int]
"""The numbers of segments that were received: first, and one after the last."""


class Parcel:
    """A message on a stream."""

    __slots__ = ("arrived", "message", "over")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.arrived = False
        """its receiver has all of it, and what was sent before"""
        self.over = False
        """it has arrived, or its sender has given it up"""


class Segment:
    """A part of a message, with what its sender knows of it."""

    __slots__ = ("attempts", "departs", "flying", "last", "lost", "number", "parcel", "repeated", "sacked", "size")

    def __init__(self, parcel: Parcel, size: int, *, last: bool) -> None:
        self.parcel, self.size, self.last = parcel, size, last
        self.number = -1
        self.attempts = 0
        self.departs = 0.0
        self.flying = 0
        """copies that count as on their way"""
        self.sacked = self.lost = self.repeated = False


class StreamSender:
    """The sending half of one stream. `transmit` returns the time at which the segment's last bit leaves the host."""

    __slots__ = (
        *("_beyond", "_bytes", "_fast", "_flying", "_give_up", "_host", "_last", "_next", "_repair_until", "_rule"),
        *("_sacked", "_since", "_transmit", "backlog", "base", "outstanding", "threshold", "timer", "window"),
    )

    def __init__(
        self,
        rule: Acknowledged,
        host: HostLine,
        transmit: Callable[[Segment], float],
        give_up: Callable[[Parcel], None],
    ) -> None:
        self._rule, self._host = rule, host
        self._transmit, self._give_up = transmit, give_up
        self.outstanding: list[Segment] = []
        self.backlog: deque[Segment] = deque()
        self.base = 0
        """number of the first segment that is not acknowledged and not given up"""
        self._next = 0
        self._bytes = 0
        self._renew()

    def _renew(self) -> None:
        """Begin with what a new connection knows."""
        self.timer = RetransmissionTimer(self._rule, self._host)
        self.window = float(INITIAL_WINDOW)
        self.threshold = inf
        self._flying = self._sacked = 0
        self._beyond = 0
        """segments sent since the first selective acknowledgement (RFC 3042)"""
        self._repair_until: int | None = None
        """the segment whose acknowledgement ends the repair of a loss"""
        self._fast = False
        """the repair began with selective acknowledgements, not with the timer"""
        self._since = 0.0
        self._last = -inf

    @property
    def deadline(self) -> float:
        """When the timer expires; infinite if it does not run."""
        return self._since + self.timer.seconds if self.outstanding else inf

    def offer(self, now: float, segments: Iterable[Segment]) -> None:
        """A message was handed over."""
        if not self.outstanding and now - self._last > self.timer.seconds:
            self.window = min(self.window, float(INITIAL_WINDOW))
        self.backlog.extend(segments)
        self._send(now)

    def acknowledge(self, now: float, upto: int, blocks: Sequence[Block], echo: float) -> None:
        """The receiver has all segments before number `upto`, and those in the blocks; `echo` is when it was asked."""
        full = self._flying + 1 > self.window
        self._note(blocks)
        if upto > self.base:
            done = upto - self.outstanding[0].number if self.outstanding else 0
            for segment in self.outstanding[:done]:
                self._settle(segment)
            del self.outstanding[:done]
            self.base = upto
            self.timer.sample(now - echo)
            self._advanced(now, full)
        if self._sacked:
            self._find_losses()
        self._send(now)

    def expire(self, now: float) -> None:
        """The timer has expired."""
        if not self.timer.backed_off:
            self.threshold = max(len(self.outstanding) / 2, LEAST_THRESHOLD)
        self.timer.back_off()
        self.window, self._fast, self._repair_until = 1.0, False, self._next
        for segment in self.outstanding:
            if not segment.sacked:
                self._land(segment)
                segment.lost, segment.repeated = True, False
        self._send(now)
        self._restart(now)

    def reneged(self) -> None:
        """The receiver has lost what it held beyond the first gap."""
        for segment in self.outstanding:
            if segment.sacked:
                segment.sacked, segment.lost, segment.repeated = False, True, False
        self._sacked = 0

    def abandon(self) -> list[Parcel]:
        """Forget all that is not acknowledged, and begin anew; the messages that this ends."""
        found = dict.fromkeys(segment.parcel for segment in (*self.outstanding, *self.backlog))
        self.outstanding.clear()
        self.backlog.clear()
        self._bytes, self.base = 0, self._next
        self._renew()
        return [parcel for parcel in found if not parcel.over]

    def _note(self, blocks: Sequence[Block]) -> None:
        """Take down selective acknowledgements."""
        for first, end in blocks:
            for segment in self.outstanding:
                if first <= segment.number < end and not segment.sacked:
                    self._land(segment)
                    segment.sacked = True
                    self._sacked += 1

    def _advanced(self, now: float, full: bool) -> None:
        """The first segments were acknowledged."""
        if self._repair_until is not None and self.base >= self._repair_until:
            self._repair_until = None
            if self._fast:
                self._fast, full = False, False
        if not self._fast and full:
            self.window += 1.0 if self.window < self.threshold else 1.0 / self.window
        if not self._sacked:
            self._beyond = 0
        self._restart(now)

    def _find_losses(self) -> None:
        """Segments that three later ones have overtaken are lost; the first of a window begins its repair."""
        above = 0
        for segment in reversed(self.outstanding):
            if segment.sacked:
                above += 1
            elif above >= THREE and not segment.lost:
                self._land(segment)
                segment.lost = True
        first = self.outstanding[0]
        if self._repair_until is None and first.lost and not first.repeated:
            flight = len(self.outstanding) - self._beyond
            self.threshold = self.window = max(flight / 2, LEAST_THRESHOLD)
            self._fast, self._repair_until, self._beyond = True, self._next, 0
            self._again(first)

    def _send(self, now: float) -> None:
        """Send what the window lets out: what is lost, then what is new, then what may be lost (RFC 6675, NextSeg)."""
        while self._flying + 1 <= self.window:
            segment = self._lost()
            if segment is not None:
                self._again(segment)
            elif self._has_room():
                self._first_time(now, self.backlog.popleft())
            elif self._fast and (segment := self._doubtful()) is not None:
                self._again(segment)
            else:
                return

    def _lost(self) -> Segment | None:
        if self._repair_until is None:
            return None
        return next((each for each in self.outstanding if each.lost and not (each.repeated or each.sacked)), None)

    def _doubtful(self) -> Segment | None:
        """A segment that was overtaken by some and counts as lost by no rule yet."""
        highest = max((each.number for each in self.outstanding if each.sacked), default=-1)
        candidates = (each for each in self.outstanding if not (each.sacked or each.repeated or each.number > highest))
        return next(candidates, None)

    def _has_room(self) -> bool:
        if not self.backlog:
            return False
        return not self.outstanding or self._bytes + self.backlog[0].size <= self._rule.buffer

    def _first_time(self, now: float, segment: Segment) -> None:
        segment.number = self._next
        self._next += 1
        self._bytes += segment.size
        idle = not self.outstanding
        if self._repair_until is None and self._sacked:
            self._beyond += 1
        self.outstanding.append(segment)
        self._last = now
        self._fly(segment)
        if idle:
            self._restart(now)

    def _again(self, segment: Segment) -> None:
        """Send a segment once more, or give its message up."""
        if segment.attempts >= self._rule.attempts:
            self._drop(segment.parcel)
            return
        segment.repeated = True
        self._fly(segment)

    def _fly(self, segment: Segment) -> None:
        segment.attempts += 1
        segment.flying += 1
        self._flying += 1
        segment.departs = self._transmit(segment)

    def _land(self, segment: Segment) -> None:
        """No copy of a segment counts as on its way any more."""
        self._flying -= segment.flying
        segment.flying = 0

    def _settle(self, segment: Segment) -> None:
        self._land(segment)
        self._bytes -= segment.size
        self._sacked -= segment.sacked

    def _drop(self, parcel: Parcel) -> None:
        """Give a message up. The segment after it tells the receiver, also if it is there already."""
        kept = [each for each in self.outstanding if each.parcel is not parcel]
        for segment in self.outstanding:
            if segment.parcel is parcel:
                self._settle(segment)
        while self.backlog and self.backlog[0].parcel is parcel:
            self.backlog.popleft()
        self.outstanding = kept
        self.base = kept[0].number if kept else self._next
        self.timer.forgive()
        if kept:
            first = kept[0]
            self._land(first)
            self._sacked -= first.sacked
            first.sacked, first.lost, first.repeated = False, True, False
            self._repair_until = self._next
        self._give_up(parcel)

    def _restart(self, now: float) -> None:
        """Let the timer run from now, or from when the first unacknowledged segment has left."""
        if self.outstanding:
            departs = self.outstanding[0].departs
            self._since = departs if now < departs < inf else now
