"""Each frame once and in order: the numbers of the frames between one agent and one peer. No I/O.

A frame gets its number when it is first written to a connection: 1, 2, 3, … within one incarnation of the sender's
process. The receiver (`PeerInbox`) lets in the next number only. A process that was restarted has a higher incarnation
and numbers anew; what its earlier incarnation still says is refused from then on.

The sender (`PeerOutbox`) keeps frames that were written until the peer acknowledges them. It writes them again after a
reconnection, from where the peer says it stands. Frames that were never written wait. When they take more room than
allowed the oldest are dropped: these have no number yet, so the peer sees no gap, and nothing that was dropped can have
arrived. Under barrier pacing nobody gets more than a round ahead of a neighbour, so a few frames wait at most and none
is dropped. Under the other pacings a newer value supersedes an older one.
"""

from __future__ import annotations

from collections import deque

from simnet.live.envelope import Envelope, Reason, Refused

OVERHEAD = 128
"""Bytes that an empty frame counts for: Python's objects around it take about as much."""


class PeerInbox:
    """What one agent has from one peer: which incarnation, up to which number."""

    def __init__(self) -> None:
        self.incarnation = self.received = 0
        self.confirmed = 0
        """What the peer was told to forget; never more than `received`."""

    @property
    def seen(self) -> tuple[int, int]:
        """Incarnation and last number."""
        return self.incarnation, self.received

    def greet(self, incarnation: int) -> None:
        """The peer runs under this incarnation; a new one starts anew."""
        if incarnation < self.incarnation:
            raise Refused(
                Reason.OUT_OF_DATE,
                f"incarnation {incarnation} speaks, incarnation {self.incarnation} has been there already",
            )
        if incarnation > self.incarnation:
            self.incarnation, self.received, self.confirmed = incarnation, 0, 0

    def start(self, acknowledged: int) -> None:
        """The peer no longer keeps anything up to this number, so do not wait for it: an earlier process has had it."""
        self.received = max(self.received, acknowledged)
        self.confirmed = max(self.confirmed, acknowledged)

    def judge(self, envelope: Envelope) -> None:
        """Refuse data that is not the next."""
        if envelope.incarnation != self.incarnation:
            raise Refused(Reason.OUT_OF_DATE, f"data of incarnation {envelope.incarnation}, not {self.incarnation}")
        if envelope.sequence <= self.received:
            raise Refused(Reason.REPLAYED, f"number {envelope.sequence} again, {self.received} was the last one")
        if envelope.sequence != self.received + 1:
            raise Refused(Reason.GAP, f"number {envelope.sequence} after {self.received}")

    def take(self, envelope: Envelope) -> None:
        """Count data that was judged and handed over."""
        self.received = envelope.sequence

    def confirm(self, incarnation: int, sequence: int) -> bool:
        """Everything up to here is safe; True if that was not known before."""
        if incarnation != self.incarnation or not self.confirmed < sequence <= self.received:
            return False
        self.confirmed = sequence
        return True


class PeerOutbox:
    """Frames for one peer: `waiting`, then written and unacknowledged, then forgotten."""

    def __init__(self, window: int, room: int) -> None:
        self._window = window
        self._room = room
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._written: deque[bytes] = deque()
        self._written_bytes = 0
        self.acknowledged = 0
        """The last number that the peer needs no more."""
        self._received = 0
        self._cursor = 0
        """The last number written on the present connection."""

    @property
    def last(self) -> int:
        """The last number ever written."""
        return self.acknowledged + len(self._written)

    @property
    def pending(self) -> tuple[bytes, ...]:
        """All that is not acknowledged, in order."""
        return (*self._written, *self._waiting)

    @property
    def unheard(self) -> bool:
        """Whether something was written on this connection that the peer has not yet reported as received."""
        return self._cursor > self._received

    def put(self, frame: bytes) -> list[bytes]:
        """Queue a frame; the frames that had to go to make room for it, oldest first."""
        self._waiting.append(frame)
        self._waiting_bytes += len(frame) + OVERHEAD
        dropped = []
        while self._waiting_bytes > self._room and len(self._waiting) > 1:
            oldest = self._waiting.popleft()
            self._waiting_bytes -= len(oldest) + OVERHEAD
            dropped.append(oldest)
        return dropped

    def resume(self, received: int) -> None:
        """A new connection, and the peer says what it has: go on after that."""
        self._check(received, self.last)
        self._received = self._cursor = received

    def next(self) -> tuple[int, bytes] | None:
        """The next number and frame to write, if there is one and the window is open."""
        if self._cursor < self.last:
            self._cursor += 1
            return self._cursor, self._written[self._cursor - self.acknowledged - 1]
        if not self._waiting or (self._written_bytes >= self._window):
            return None
        frame = self._waiting.popleft()
        self._waiting_bytes -= len(frame) + OVERHEAD
        self._written.append(frame)
        self._written_bytes += len(frame) + OVERHEAD
        self._cursor += 1
        return self._cursor, frame

    def receipt(self, sequence: int) -> None:
        """The peer has received all up to `sequence`."""
        self._check(sequence, self._cursor)
        self._received = max(self._received, sequence)

    def acknowledge(self, sequence: int) -> None:
        """The peer needs nothing up to `sequence` again."""
        self.receipt(sequence)
        for _ in range(sequence - self.acknowledged):
            self._written_bytes -= len(self._written.popleft()) + OVERHEAD
        self.acknowledged = sequence

    def _check(self, sequence: int, most: int) -> None:
        if not self.acknowledged <= sequence <= most:
            raise Refused(
                Reason.MALFORMED,
                f"the peer speaks of number {sequence}, it can have got {self.acknowledged} to {most}",
            )
