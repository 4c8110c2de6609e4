"""The form that all payloads share, and what a receiver makes of one that does not say everything.

A codec object belongs to one sender: `encode(parts)` may round at random and remember what it has told, while
`decode(payload)` depends on nothing but the payload. A payload may leave entries unsaid (`Partial`), which stay as the
receiver knows them, or tell what has changed (`Changes`), which is added to what the receiver knows. What neighbours
decode is what the sender has to go on with itself. A codec sees only vectors that have been released already, so
whatever it does costs no privacy.

A payload is little-endian: the number of parts (1 byte), the length of each (4 bytes), then one part after another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from struct import pack, unpack_from
from typing import Any

import numpy as np
import numpy.typing as npt

from simnet.errors import FrameError
from simnet.vectors import Vector

MOST_PARTS = 255
LONGEST = 2**24
"""The greatest length of a part, so that a forged payload of few bytes cannot ask for all the memory."""


_BYTE = np.dtype("u1")


@dataclass(slots=True, eq=False)
class PayloadReader:
    """A payload, and how far it has been read."""

    _payload: bytes
    _place: int = 0

    def take(self, dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
        """The next `count` numbers."""
        place = self._place
        self._place = end = place + dtype.itemsize * count
        if end > len(self._payload):
            raise FrameError(f"a payload of {len(self._payload)} bytes ends early, its contents need at least {end}")
        return np.frombuffer(self._payload, dtype, count, place)

    def take_bytes(self, count: int) -> bytes:
        """The next `count` bytes."""
        return self.take(_BYTE, count).tobytes()

    def finish(self) -> None:
        if self._place != len(self._payload):
            raise FrameError(f"a payload of {len(self._payload)} bytes has contents for {self._place} only")


class Partial(tuple[Vector, ...]):
    """Vectors in which NaN stands for an entry that the payload does not tell."""

    __slots__ = ()

    def onto(self, before: tuple[Vector, ...]) -> tuple[Vector, ...]:
        """The same without gaps: what is not told is as it was before, and 0 where nothing was."""
        old = before + tuple(np.zeros(len(part)) for part in self[len(before) :])
        return tuple(np.where(np.isnan(part), was, part) for part, was in zip(self, old, strict=False))


class Changes(Partial):
    """Vectors that are added to what was known before; NaN stands for an entry that has not changed."""

    __slots__ = ()

    def onto(self, before: tuple[Vector, ...]) -> tuple[Vector, ...]:
        """What is known after the changes: the sum, where 0 was known at first."""
        old = before + tuple(np.zeros(len(part)) for part in self[len(before) :])
        return tuple(was + np.where(np.isnan(part), 0.0, part) for part, was in zip(self, old, strict=False))


class PayloadCodec(ABC):
    """What one sender writes and anybody reads; a codec adds how one part is written and read."""

    def encode(self, parts: Sequence[Vector]) -> bytes:
        """The payload for these vectors. What is beyond the range of the codec, infinity included, becomes its end."""
        if len(parts) > MOST_PARTS:
            raise FrameError(f"a payload holds at most {MOST_PARTS} parts, not {len(parts)}")
        pieces = [pack(f"<B{len(parts)}I", len(parts), *[len(part) for part in parts])]
        for index, part in enumerate(parts):
            if len(part) > LONGEST:
                raise FrameError(f"part {index} has {len(part)} entries, a payload holds at most {LONGEST} per part")
            pieces.append(self.write(index, part))
        return b"".join(pieces)

    def decode(self, payload: bytes, longest: int = LONGEST) -> tuple[Vector, ...]:
        """The vectors in a payload; a `FrameError` says why there are none.

        Nothing is set aside for a part that is announced to be longer than `longest`.
        """
        number = payload[0] if payload else 0
        if len(payload) < 1 + 4 * number or not payload:
            raise FrameError(f"a payload of {len(payload)} bytes ends before the lengths of its parts")
        lengths: tuple[int, ...] = unpack_from(f"<{number}I", payload, 1)
        if lengths and max(lengths) > longest:
            raise FrameError(
                f"a part of {max(lengths)} entries is announced, a payload holds at most {longest} per part"
            )
        source = PayloadReader(payload, 1 + 4 * number)
        parts = tuple([self.read(source, length) for length in lengths])
        source.finish()
        return parts

    def transfer(self, parts: Sequence[Vector]) -> tuple[bytes, tuple[Vector, ...]]:
        """The payload for these vectors, and what `decode` makes of it."""
        payload = self.encode(parts)
        return payload, self.decode(payload)

    @abstractmethod
    def write(self, index: int, part: Vector) -> bytes:
        """The bytes of one part, which is the one with this index; it must not hold NaN."""

    @abstractmethod
    def read(self, source: PayloadReader, length: int) -> Vector:
        """The next part, which has this length."""
