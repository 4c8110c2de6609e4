"""What one message looks like on the wire: a frame, and in it a payload.

Little-endian, 21 bytes of header, then the payload:

    offset  bytes  field
         0      2  magic, the letters "sN"
         2      1  version, 1
         3      1  kind: 1 value, 2 notice, 3 acknowledgement, 4 request, 5 reply
         4      1  codec of the payload (`simnet.network.codec`), 0 for none, 255 for one of the user's own
         5      4  sender
         9      4  round
        13      4  payload length
        17      4  CRC-32 (as in zlib) of the 17 bytes before it and of the payload
        21      …  payload

The checksum finds every single flipped bit and every burst of up to 32 bits; of other damage one in 2³² slips through.

A model may have company: vectors that go with it, such as a running sum of what was sent. They may depend on the model
as its receivers decode it, so the model is encoded first. A payload with company begins with a 0, where others have
their number of parts. Then come the length of the model's payload (4 bytes), that payload, and the company's. Company
is written in float32 at least: in a running sum coarse rounding adds up. Its first vector belongs to the model entry by
entry and tells the entries that the model tells; other vectors are whole.

A letter is a payload for one neighbour. Models, company and letters have codecs of their own, each with its own random
stream and its own memory of what was told: neither company nor letters change how a model is rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import Literal
from zlib import crc32

import msgspec
import numpy as np

from simnet.errors import FrameError
from simnet.network.codec import CodecKind, float_codec
from simnet.network.payloads import LONGEST, Partial, PayloadCodec
from simnet.streams import Streams
from simnet.vectors import Parts, Vector

MAGIC = b"sN"
VERSION = 1

_FIELDS = Struct("<2sBBBIII")
_CHECKSUM = Struct("<I")
_COMPOUND = Struct("<BI")

HEADER_BYTES = _FIELDS.size + _CHECKSUM.size


Label = Literal["value", "notice", "ack", "request", "reply"]


class Kind(IntEnum):
    """What a frame carries; the `label` is how the event log writes it."""

    label: Label

    def __new__(cls, value: int, label: Label) -> Kind:
        kind = int.__new__(cls, value)
        kind._value_, kind.label = value, label
        return kind

    VALUE = 1, "value"
    NOTICE = 2, "notice"
    ACK = 3, "ack"
    REQUEST = 4, "request"
    REPLY = 5, "reply"


class Frame(msgspec.Struct, frozen=True):
    """A frame that passed all checks."""

    kind: Kind
    sender: int
    round: int
    codec: int
    payload: bytes

    @property
    def size(self) -> int:
        """How many bytes it has, header included."""
        return HEADER_BYTES + len(self.payload)

    @property
    def raw(self) -> bytes:
        """Its bytes."""
        return encode(self.kind, sender=self.sender, round=self.round, codec=self.codec, payload=self.payload)


def encode(kind: Kind, *, sender: int, round: int, codec: int = 0, payload: bytes = b"") -> bytes:
    """The bytes of a frame. `sender`, `round` and the payload's length fit into 32 bits, `codec` into 8."""
    fields = _FIELDS.pack(MAGIC, VERSION, kind, codec, sender, round, len(payload))
    return b"".join((fields, _CHECKSUM.pack(crc32(payload, crc32(fields))), payload))


def decode(data: bytes) -> Frame:
    """The frame that these bytes are; a `FrameError` says why they are none."""
    if len(data) < HEADER_BYTES:
        raise FrameError(f"a frame has at least {HEADER_BYTES} bytes, this one has {len(data)}")
    magic, version, kind, codec, sender, round, length = _FIELDS.unpack_from(data)
    if magic != MAGIC:
        raise FrameError(f"a frame begins with {MAGIC!r}, this one with {magic!r}")
    if version != VERSION:
        raise FrameError(f"frame version {version} is unknown, this is version {VERSION}")
    if len(data) != HEADER_BYTES + length:
        raise FrameError(f"a payload of {length} bytes is announced, {len(data) - HEADER_BYTES} follow")
    (checksum,) = _CHECKSUM.unpack_from(data, _FIELDS.size)
    payload = bytes(data[HEADER_BYTES:])
    if checksum != crc32(payload, crc32(data[: _FIELDS.size])):
        raise FrameError("the checksum does not match: the frame was damaged on its way")
    if kind not in _KINDS:
        raise FrameError(f"frame kind {kind} is unknown")
    return Frame(_KINDS[kind], sender, round, codec, payload)


_KINDS = {int(kind): kind for kind in Kind}


class Writer:
    """Encodes what one agent sends, and decodes what it receives, by one codec."""

    def __init__(self, streams: Streams, agent: int, codec: CodecKind) -> None:
        self._make: Callable[[object], PayloadCodec] = lambda name: codec.made(lambda: streams.generator("codec", name))
        self._agent = agent
        self.codec = codec.id
        """What stands for the codec in a frame."""
        self._model = self._make(agent)
        self._company = float_codec(codec.company)
        self._letters: dict[int, PayloadCodec] = {}
        self._told: Parts = ()
        self._last: tuple[bytes, Parts] = (b"", ())

    def model(self, model: Vector, accompany: Callable[[Vector], Parts]) -> tuple[bytes, Parts]:
        """A payload for all neighbours, and what they hold once they have decoded it and all before it."""
        first, said = self._model.transfer((model,))
        whole = said.onto(self._told) if isinstance(said, Partial) else said
        company = accompany(whole[0])
        if not company:
            self._told, self._last = whole, (first, said)
            return first, whole
        second = self._company.encode(_told_only(company, said))
        said = _joined(said, self._company.decode(second))
        self._told = said.onto(self._told) if isinstance(said, Partial) else said
        payload = b"".join((_COMPOUND.pack(0, len(first)), first, second))
        self._last = payload, said
        return payload, self._told

    def said(self, payload: bytes) -> Parts | None:
        """What `decode` gives for the payload that `model` made last; None for another one."""
        return self._last[1] if payload is self._last[0] else None

    def letter(self, peer: int, parts: Parts) -> bytes:
        """A payload for one neighbour."""
        if peer not in self._letters:
            self._letters[peer] = self._make(f"{self._agent}>{peer}")
        return self._letters[peer].encode(parts)

    def again(self, parts: Parts) -> bytes:
        """A payload that tells what was decoded before, as exactly as company is."""
        second = self._company.encode(parts)
        return b"".join((_COMPOUND.pack(0, 0), second))

    def decode(self, payload: bytes, longest: int = LONGEST) -> Parts:
        """The vectors in a payload of any of these kinds, none longer than `longest`; a `FrameError` says why not."""
        if payload[:1] != b"\0":
            return self._model.decode(payload, longest)
        if len(payload) < _COMPOUND.size:
            raise FrameError(f"a payload of {len(payload)} bytes ends before its contents")
        middle = _COMPOUND.size + _COMPOUND.unpack_from(payload)[1]
        first = payload[_COMPOUND.size : middle]
        company = self._company.decode(payload[middle:], longest)
        if not first:
            return company
        return _joined(self._model.decode(first, longest), company)


def _told_only(company: Parts, said: Parts) -> Parts:
    """The company with those entries of its first vector that the model's payload tells."""
    return (company[0][~np.isnan(said[0])], *company[1:]) if isinstance(said, Partial) else company


def _joined(said: Parts, company: Parts) -> Parts:
    """A model and its company as they were decoded, NaN for the entries that neither tells."""
    if not isinstance(said, Partial) or not company:
        return said + company
    told = ~np.isnan(said[0])
    if len(company[0]) != np.count_nonzero(told):
        raise FrameError(f"{len(company[0])} entries go with the {np.count_nonzero(told)} of a model")
    first = np.full(len(told), np.nan)
    first[told] = company[0]
    return Partial((*said, first, *company[1:]))
