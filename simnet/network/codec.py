"""How vectors become payload bytes, and what the receiver makes of them.

A codec object belongs to one sender: `encode(parts)` may round at random and remember what it has told, while
`decode(payload)` depends on nothing but the payload. A payload may leave entries unsaid (`Partial`), which stay as the
receiver knows them. What neighbours decode is what the sender has to go on with itself. A codec sees only vectors that
have been released already, so whatever it does costs no privacy.

A payload is little-endian: the number of parts (1 byte), the length of each (4 bytes), then one part after another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from struct import pack, unpack_from
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from simnet.errors import FrameError
from simnet.parts.fields import PositiveShare
from simnet.parts.part import Section, WordOf
from simnet.vectors import Vector

MOST_PARTS = 255
LONGEST = 2**24
"""The greatest length of a part, lest a forged payload of few bytes ask for all the memory."""
FARTHEST = 1e300
"""The range of the codecs that calculate: products and sums of such numbers stay finite."""

TINIEST = float(np.finfo(np.float64).tiny)
"""The least scale with all its digits: a part whose scale would be smaller is sent as 0."""

_FLOAT, _STEP, _SHORT, _COUNT = (np.dtype(name) for name in ("<f8", "i1", "<u2", "<u4"))


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


class Codec(ABC):
    """The form that all payloads share; a codec adds how one part is written and read."""

    id: int
    """The number that stands for the codec in a frame."""

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


class Floats(Codec):
    """Floating-point numbers of one width, rounded to nearest."""

    def __init__(self, id: int, dtype: str) -> None:
        self.id = id
        self._dtype = np.dtype(dtype)
        self._greatest = float(np.finfo(dtype).max)

    def transfer(self, parts: Sequence[Vector]) -> tuple[bytes, tuple[Vector, ...]]:
        payload = self.encode(parts)
        # What is sent bit for bit need not be decoded to know what comes out.
        if payload[1 + 4 * len(parts) :] == b"".join([part.tobytes() for part in parts]):
            return payload, tuple(parts)
        return payload, self.decode(payload)

    def write(self, index: int, part: Vector) -> bytes:
        if not np.maximum.reduce(np.abs(part), initial=0.0) <= self._greatest:
            _refuse_nan(index, part)
            # Clamped first: a cast would make infinities of what is too large.
            part = part.clip(-self._greatest, self._greatest)
        return part.astype(self._dtype, copy=False).tobytes()

    def read(self, source: PayloadReader, length: int) -> Vector:
        part = source.take(self._dtype, length).astype(np.float64)
        if not np.logical_and.reduce(np.isfinite(part)):
            raise FrameError("a payload holds a number that is not finite, which no sender encodes")
        return part


class Int8(Codec):
    """A scale (float64) and whole numbers from −127 to 127, rounded up or down at random so that the mean is exact.

    q = ⌊x/s + U⌋ with s = max|x|/127 and U uniform in [0, 1), so E[s·q] = x (Alistarh et al. 2017, section 3.1).
    """

    id = 4

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def write(self, index: int, part: Vector) -> bytes:
        _refuse_nan(index, part)
        part = np.clip(part, -FARTHEST, FARTHEST)
        uniforms = self._rng.random(len(part))
        scale = np.abs(part).max(initial=0.0) / 127
        if scale < TINIEST:  # subnormal: it has lost its digits, and at 0 there is no quotient
            scale = 0.0
        steps = np.floor(part / scale + uniforms) if scale else np.zeros(len(part))
        return pack("<d", scale) + np.clip(steps, -127, 127).astype(_STEP).tobytes()

    def read(self, source: PayloadReader, length: int) -> Vector:
        scale = float(source.take(_FLOAT, 1)[0])
        if not 0 <= scale <= FARTHEST:
            raise FrameError(f"the scale {scale} of a part is not between 0 and {FARTHEST}")
        part: Vector = source.take(_STEP, length) * scale
        return part


TURN = 4
"""One in so many of the entries that top-k sends is the one that has waited longest."""


class TopK(Codec):
    """The entries that have moved most since they were last sent, by a codec for values; the others stay as they were.

    The sender remembers what a receiver of all its payloads holds, h, which is 0 at first. Of a vector x it sends the
    `share` of entries with the greatest |x − h|, and h takes their decoded values: what is left out is still owed the
    next time. That is error feedback (Stich, Cordonnier & Jaggi 2018, algorithm 1, with x − h their memory plus step).

    Values are sent as they are, not as changes, so that a lost payload leaves nothing but old entries. One entry in
    `TURN` is chosen because it has waited longest, so that each is sent at least every TURN/share payloads, and a
    receiver that missed one holds h again at the latest after so many. A part is the number of entries sent (4 bytes),
    their places, and their values.
    """

    def __init__(self, values: Codec, share: float) -> None:
        self.id = 16 + values.id
        self._values = values
        self._share = share
        self._told: dict[int, _Told] = {}

    def decode(self, payload: bytes, longest: int = LONGEST) -> Partial:
        return Partial(super().decode(payload, longest))

    def write(self, index: int, part: Vector) -> bytes:
        _refuse_nan(index, part)
        told = self._told.get(index)
        if told is None or len(told.held) != len(part):
            told = self._told[index] = _Told(len(part))
        wanted = np.clip(part, -FARTHEST, FARTHEST)
        places = told.choose(wanted, min(len(part), max(1, round(self._share * len(part)))))
        body = self._values.write(index, wanted[places])
        told.held[places] = self._values.read(PayloadReader(body), len(places))
        return pack("<I", len(places)) + places.astype(_places(len(part))).tobytes() + body

    def read(self, source: PayloadReader, length: int) -> Vector:
        kept = int(source.take(_COUNT, 1)[0])
        places = source.take(_places(length), kept).astype(np.int64)
        if kept and (places[-1] >= length or (np.diff(places) <= 0).any()):
            raise FrameError(f"the places of the entries of a part of length {length} are not in rising order below it")
        part = np.full(length, np.nan)
        part[places] = self._values.read(source, kept)
        return part


class _Told:
    """What top-k has told of one part: the values that a receiver holds, and when each entry had its last turn."""

    __slots__ = ("_entries", "_last", "held")

    def __init__(self, length: int) -> None:
        self.held: Vector = np.zeros(length)
        self._last = np.zeros(length, dtype=np.int64)
        self._entries = 0

    def choose(self, wanted: Vector, count: int) -> npt.NDArray[np.int64]:
        """The places of the next `count` entries to tell, in rising order."""
        before, self._entries = self._entries, self._entries + count
        turns = self._entries // TURN - before // TURN
        # Stable sorts: equal entries must be chosen alike on every machine.
        moved = np.abs(wanted - self.held)
        moved[np.argsort(self._last, kind="stable")[:turns]] = np.inf
        places = np.sort(np.argsort(-moved, kind="stable")[:count])
        self._last[places] = self._entries
        return places


def _refuse_nan(index: int, part: Vector) -> None:
    if np.isnan(part).any():
        raise FrameError(f"part {index} holds NaN, which is no value to send: the computation before it failed")


def _places(length: int) -> np.dtype[Any]:
    """The number type for places in a part of this length."""
    return _SHORT if length <= 2**16 else _COUNT


Stream = Callable[[], np.random.Generator]
"""Opens a sender's stream of random numbers."""


@cache
def _floats(id: int, dtype: str) -> Codec:
    """One for all senders: it remembers nothing."""
    return Floats(id, dtype)


CODECS: dict[str, Callable[[Stream, TopKSettings], Codec]] = {
    "float64": lambda stream, topk: _floats(1, "<f8"),
    "float32": lambda stream, topk: _floats(2, "<f4"),
    "float16": lambda stream, topk: _floats(3, "<f2"),
    "int8": lambda stream, topk: Int8(stream()),
    "top-k": lambda stream, topk: TopK(topk.values_codec(stream), topk.share),
}
"""What makes the codec of one sender; only random rounding opens the sender's stream."""

_VALUES = {name: make for name, make in CODECS.items() if name != "top-k"}


class TopKSettings(Section):
    """The codec `top-k`."""

    share: PositiveShare = Field(0.1, description="share of the entries that is sent, those that changed most")
    values: Annotated[str, WordOf(_VALUES)] = Field("float64", description="how they are written")

    def values_codec(self, stream: Stream) -> Codec:
        """What writes the entries that are sent."""
        return CODECS[self.values](stream, self)
