"""What one sender writes: floating-point numbers, whole numbers on a scale, or the entries that have moved most."""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack
from typing import Any

import numpy as np
import numpy.typing as npt

from simnet.errors import FrameError
from simnet.network.payloads import LONGEST, Partial, PayloadCodec, PayloadReader
from simnet.vectors import Vector

FARTHEST = 1e300
"""The range of the codecs that calculate: products and sums of such numbers stay finite."""

TINIEST = float(np.finfo(np.float64).tiny)
"""The least scale with all its digits: a part whose scale would be smaller is sent as 0."""

_FLOAT, _STEP, _SHORT, _COUNT = (np.dtype(name) for name in ("<f8", "i1", "<u2", "<u4"))


class Floats(PayloadCodec):
    """Floating-point numbers of one width, rounded to nearest."""

    def __init__(self, dtype: str) -> None:
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
            refuse_nan(index, part)
            # Clamped first: a cast would make infinities of what is too large.
            part = part.clip(-self._greatest, self._greatest)
        return part.astype(self._dtype, copy=False).tobytes()

    def read(self, source: PayloadReader, length: int) -> Vector:
        part = source.take(self._dtype, length).astype(np.float64)
        if not np.logical_and.reduce(np.isfinite(part)):
            raise FrameError("a payload holds a number that is not finite, which no sender encodes")
        return part


class Int8(PayloadCodec):
    """A scale (float64) and whole numbers from −127 to 127, rounded up or down at random so that the mean is exact.

    q = ⌊x/s + U⌋ with s = max|x|/127 and U uniform in [0, 1), so E[s·q] = x (Alistarh et al. 2017, section 3.1).
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def write(self, index: int, part: Vector) -> bytes:
        refuse_nan(index, part)
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


class TopK(PayloadCodec):
    """The entries that have moved most since they were last sent, by a codec for values; the others stay as they were.

    The sender remembers what a receiver of all its payloads holds, h, which is 0 at first. Of a vector x it sends the
    `share` of entries with the greatest |x − h|, and h takes their decoded values: what is left out is still owed the
    next time. That is error feedback (Stich, Cordonnier & Jaggi 2018, algorithm 1, with x − h their memory plus step).

    Values are sent as they are, not as changes, so that a lost payload leaves nothing but old entries. One entry in
    `TURN` is chosen because it has waited longest, so that each is sent at least every TURN/share payloads, and a
    receiver that missed one holds h again at the latest after so many. A part is the number of entries sent (4 bytes),
    their places, and their values.
    """

    def __init__(self, values: PayloadCodec, share: float) -> None:
        self._values = values
        self._share = share
        self._told: dict[int, _Told] = {}

    def decode(self, payload: bytes, longest: int = LONGEST) -> Partial:
        return Partial(super().decode(payload, longest))

    def write(self, index: int, part: Vector) -> bytes:
        refuse_nan(index, part)
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


def refuse_nan(index: int, part: Vector) -> None:
    if np.isnan(part).any():
        raise FrameError(f"part {index} holds NaN, which is no value to send: the computation before it failed")


def _places(length: int) -> np.dtype[Any]:
    """The number type for places in a part of this length."""
    return _SHORT if length <= 2**16 else _COUNT
