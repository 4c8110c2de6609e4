"""[network] codec: how vectors become payload bytes, and what the receiver makes of them.

A codec of the scenario makes one object per sender, which may round at random and remember what it has told
(`simnet.network.payloads`). A codec of the user's own says `write` and `read`, and `OwnEncoder` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import error as StructError
from struct import pack
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, PrivateAttr

from simnet.errors import FrameError
from simnet.network.encoders import FARTHEST, Floats, Int8, TopK, refuse_nan
from simnet.network.payloads import LONGEST, Changes, Partial, PayloadCodec, PayloadReader
from simnet.parts.fields import PositiveShare
from simnet.parts.part import OneOf, Part, Section, WordOf, table
from simnet.vectors import Parts, Vector

Stream = Callable[[], np.random.Generator]
"""Opens a sender's stream of random numbers."""
OWN = 255
"""The number that stands in a frame for a codec of the user's own."""

_SIZE = np.dtype("<u4")
_BUGS = (ArithmeticError, AttributeError, LookupError, StructError, TypeError, ValueError)
"""What `read` may raise on bytes that nobody wrote."""


class CodecKind(Part):
    """How the numbers of a message are written.

    One of your own implements `write` and `read`. The sender goes on with what `read` gives, as its receivers do.
    """

    number: ClassVar[int] = OWN
    """What stands for it in a frame."""
    floats: ClassVar[str | None] = None
    """The floating-point numbers to which it rounds every entry; None if it does something else."""
    entrywise: ClassVar[bool] = False
    """Whether `read` may leave entries out, as NaN: they stay as the receiver knows them."""
    differences: ClassVar[bool] = False
    """Whether `read` gives what has changed since the last message: it is added to what the receiver knows."""
    survives_loss: ClassVar[bool] = True
    """Whether a receiver that missed a message holds what the others hold after some more of them."""

    @property
    def id(self) -> int:
        """The number that stands for it in a frame, with its settings."""
        return self.number

    @property
    def exact(self) -> bool:
        """Whether what is decoded is what was sent, to the last bit."""
        return self.floats == "<f8"

    @property
    def shows_noise(self) -> bool:
        """Whether noise can be recovered from what is sent."""
        return self.floats in ("<f8", "<f4")

    @property
    def company(self) -> str:
        """The floating-point numbers of what goes with a model: coarse rounding would add up in a running sum."""
        return "<f8" if self.exact else "<f4"

    def tuned(self, topk: TopKSettings) -> CodecKind:
        """The same with the settings that stand outside it."""
        return self

    def made(self, stream: Stream) -> PayloadCodec:
        """The codec of one sender."""
        return OwnEncoder(self, stream())

    def write(self, vector: Vector, told: Vector, rng: np.random.Generator) -> bytes:
        """The bytes for a vector; `told` is what a receiver of all messages before this one holds, 0 at first."""
        raise NotImplementedError

    def read(self, data: bytes, length: int) -> Vector:
        """The vector of this length that `data` tells. It may depend on nothing else."""
        raise NotImplementedError


class OwnEncoder(PayloadCodec):
    """A codec of the user's own at one sender. A part is the number of its bytes (4 bytes), and these."""

    def __init__(self, kind: CodecKind, rng: np.random.Generator) -> None:
        self._kind = kind
        self._rng = rng
        self._told: dict[int, Vector] = {}

    def decode(self, payload: bytes, longest: int = LONGEST) -> Parts:
        parts = super().decode(payload, longest)
        if self._kind.differences:
            return Changes(parts)
        return Partial(parts) if self._kind.entrywise else parts

    def write(self, index: int, part: Vector) -> bytes:
        refuse_nan(index, part)
        told = self._told.get(index)
        if told is None or len(told) != len(part):
            told = np.zeros(len(part))
        body = self._kind.write(np.clip(part, -FARTHEST, FARTHEST), told.copy(), self._rng)
        if not isinstance(body, bytes):
            raise FrameError(f"{self._called}.write gives bytes, not {type(body).__name__}")
        news = (self._opened(body, len(part)),)
        (self._told[index],) = Changes(news).onto((told,)) if self._kind.differences else Partial(news).onto((told,))
        return pack("<I", len(body)) + body

    def read(self, source: PayloadReader, length: int) -> Vector:
        return self._opened(source.take_bytes(int(source.take(_SIZE, 1)[0])), length)

    @property
    def _called(self) -> str:
        return type(self._kind).__name__

    def _opened(self, body: bytes, length: int) -> Vector:
        try:
            found = np.array(self._kind.read(body, length), dtype=np.float64)
        except _BUGS as error:
            raise FrameError(f"{self._called}.read: {' '.join(str(error).split())}") from None
        if found.shape != (length,):
            raise FrameError(f"{self._called}.read gives {found.shape}, not {length} numbers")
        told = found[~np.isnan(found)] if self._kind.entrywise or self._kind.differences else found
        if not np.isfinite(told).all():
            raise FrameError(f"{self._called}.read gives a number that is not finite")
        return found


@cache
def float_codec(dtype: str) -> PayloadCodec:
    """One for all senders: it remembers nothing."""
    return Floats(dtype)


class _FloatCodec(CodecKind):
    def made(self, stream: Stream) -> PayloadCodec:
        assert self.floats is not None
        return float_codec(self.floats)


class Float64Codec(_FloatCodec):
    """8 bytes per entry: nothing is rounded."""

    kind: Literal["float64"]
    number: ClassVar[int] = 1
    floats: ClassVar[str | None] = "<f8"


class Float32Codec(_FloatCodec):
    """4 bytes per entry, rounded to nearest."""

    kind: Literal["float32"]
    number: ClassVar[int] = 2
    floats: ClassVar[str | None] = "<f4"


class Float16Codec(_FloatCodec):
    """2 bytes per entry, rounded to nearest."""

    kind: Literal["float16"]
    number: ClassVar[int] = 3
    floats: ClassVar[str | None] = "<f2"


class Int8Codec(CodecKind):
    """1 byte per entry and a common scale, rounded at random so that the mean is exact."""

    kind: Literal["int8"]
    number: ClassVar[int] = 4

    def made(self, stream: Stream) -> PayloadCodec:
        return Int8(stream())


VALUES: dict[str, type[CodecKind]] = table(Float64Codec, Float32Codec, Float16Codec, Int8Codec)
"""What may write the entries that top-k sends."""


class TopKSettings(Section):
    """The codec `top-k`."""

    share: PositiveShare = Field(0.1, description="share of the entries that is sent, those that changed most")
    values: Annotated[str, WordOf(VALUES)] = Field("float64", description="how they are written")

    @property
    def values_codec(self) -> CodecKind:
        """What writes the entries that are sent."""
        return VALUES[self.values].model_validate({"kind": self.values})


class TopKCodec(CodecKind):
    """The entries that have changed most since they were last sent; its settings are `network.topk`."""

    kind: Literal["top-k"]
    entrywise: ClassVar[bool] = True

    _settings: TopKSettings = PrivateAttr(TopKSettings())

    def tuned(self, topk: TopKSettings) -> TopKCodec:
        found = self.model_copy()
        found._settings = topk
        return found

    @property
    def id(self) -> int:
        return 16 + self._settings.values_codec.id

    @property
    def company(self) -> str:
        return self._settings.values_codec.company

    def made(self, stream: Stream) -> PayloadCodec:
        return TopK(self._settings.values_codec.made(stream), self._settings.share)


def unsurvived(loses: str) -> str:
    """Why what does not survive loss cannot be used where this field of a scenario may lose a message."""
    return f"it does not survive a lost message, and {loses} may lose one"


def _unfit(codec: type[CodecKind]) -> str | None:
    """Why a codec of the user's own cannot be used."""
    silent = [name for name in ("write", "read") if getattr(codec, name) is getattr(CodecKind, name)]
    if silent and codec.made is CodecKind.made:
        return f"it does not say {', '.join(silent)}"
    if codec.differences and codec.survives_loss:
        return "what it tells are differences, so it must say survives_loss = False"
    return None


CODECS: dict[str, type[CodecKind]] = VALUES | table(TopKCodec)
AnyCodec = Annotated[CodecKind, OneOf(CODECS, bare=True, unfit=_unfit)]
FLOAT64 = Float64Codec(kind="float64")
