"""What one agent has from one peer: which incarnation, up to which number. No I/O.

A peer's process numbers its frames from 1. A process that was restarted has a higher incarnation and numbers anew; what
its earlier incarnation still says is refused from then on. Within an incarnation the next number is the only one that
is let in, so every frame is taken once and in order.
"""

from __future__ import annotations

from simnet.live.envelope import Envelope
from simnet.live.refusal import Reason, Refused


class Inbox:
    """The numbers of one peer."""

    def __init__(self, incarnation: int = 0, received: int = 0) -> None:
        self.incarnation = incarnation
        self.received = received
        self.confirmed = received
        """What the peer was told to forget; never more than `received`."""

    @property
    def seen(self) -> tuple[int, int]:
        """Incarnation and last number: what a checkpoint keeps."""
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
        """The peer has nothing left up to this number, whoever acknowledged it: there is no use in waiting for it."""
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
        """Data that was judged has found its place."""
        self.received = envelope.sequence

    def confirm(self, incarnation: int, sequence: int) -> bool:
        """What is up to here is safe; whether that is news."""
        if incarnation != self.incarnation or not self.confirmed < sequence <= self.received:
            return False
        self.confirmed = sequence
        return True
