"""A message on its way, and who deals with it: receivers, and what sees a message through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from simnet.methods.peer import Parts
from simnet.network import frame
from simnet.network.inbox import Inbox
from simnet.network.wire import Passage


class Receiver(Protocol):
    """One agent as the engine and its faults see it."""

    agent: int
    inbox: Inbox | None
    down: int
    """how many faults keep it down"""
    done: bool
    """all rounds are finished"""
    gone: bool
    """down for good"""
    slowness: float
    """how many times longer its work takes"""

    def fall(self, *, lost: bool) -> None:
        """One reason more to be down."""
        ...

    def rise(self) -> None:
        """One reason less to be down."""
        ...

    def receive(self, cargo: Carried) -> None:
        """Take in a frame that has passed its checks; a FrameError if its payload says nothing."""
        ...


class Transport(Protocol):
    """What sees a message through that is not simply sent once."""

    def begin(self, flight: Flight, passage: Passage) -> None:
        """See a new message through, whose first transmission is this passage."""
        ...

    def acknowledged(self, sender: int, peer: int, round: int) -> None:
        """An acknowledgement of `sender`'s message has come back from `peer`."""
        ...


class Carried(msgspec.Struct):
    """A frame that is carried to one or several receivers; whoever decodes its payload first does it for all.

    Its bytes are written only where somebody looks at them: the rest of a run needs no more than how many there are.
    """

    kind: frame.Kind
    sender: int
    round: int
    payload: bytes
    parts: Parts | None = None
    """what the payload says, once it has been decoded"""
    first: int = 0
    """the number of the message to the first of its receivers; the others follow"""

    @property
    def size(self) -> int:
        """How many bytes the frame has."""
        return frame.HEADER_BYTES + len(self.payload)

    @property
    def raw(self) -> bytes:
        """The frame's bytes."""
        return frame.encode(self.kind, sender=self.sender, round=self.round, payload=self.payload)


class Flight(msgspec.Struct, gc=False):
    """A message on its way of which there is more to tell than that it arrives, and what happens at its end."""

    cargo: Carried
    peer: int
    message: int
    ending: Callable[[Flight], None]
    corrupted: bool = False
    taken: bool = False
    """it is in the receiver's own queue"""

    @property
    def sender(self) -> int:
        return self.cargo.sender

    @property
    def round(self) -> int:
        return self.cargo.round
