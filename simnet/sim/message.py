"""A message on its way: the lightest event that SimPy can process."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

import msgspec

from simnet.errors import FrameError, SimnetError
from simnet.network import frame
from simnet.vectors import Parts

Callbacks: TypeAlias = "tuple[Callable[[Message], None], ...]"


class Message(msgspec.Struct):
    """A frame on its way to one receiver, and an event: the end of that way.

    The environment asks of an event that it has `callbacks`, which are called in turn and then taken away, and that it
    is `ok`. A message has that and no more, because a large network has a million of them. Nobody can wait for a
    message, so its callbacks are a tuple, which all messages with the same end share.
    """

    callbacks: Callbacks
    frame: frame.Frame
    parts: Parts | None
    """what the payload says, if the sender has decoded it"""
    peer: int
    number: int
    corrupted: bool = False
    """its checksum fails when it arrives"""
    ok: ClassVar[bool] = True

    def refuse(self) -> None:
        """Open the frame with a flipped bit, as its receiver would; its checksum must give it away."""
        damaged = bytearray(self.frame.raw)
        place = self.number % (8 * len(damaged))
        damaged[place // 8] ^= 1 << place % 8
        try:
            frame.decode(bytes(damaged))
        except FrameError:
            return
        raise SimnetError("a damaged frame passed its checksum")
