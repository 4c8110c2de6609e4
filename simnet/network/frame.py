"""The frame: what one message looks like on the wire.

Little-endian, 21 bytes of header, then the payload:

    offset  bytes  field
         0      2  magic, the letters "sN"
         2      1  version, 1
         3      1  kind: 1 value, 2 notice, 3 acknowledgement, 4 request, 5 reply
         4      1  codec of the payload (`simnet.network.codec`), 0 for none
         5      4  sender
         9      4  round
        13      4  payload length
        17      4  CRC-32 (as in zlib) of the 17 bytes before it and of the payload
        21      …  payload

The checksum finds every single flipped bit and every burst of up to 32 bits; of other damage one in 2³² slips through.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Literal
from zlib import crc32

import msgspec

from simnet.errors import FrameError

MAGIC = b"sN"
VERSION = 1

_FIELDS = Struct("<2sBBBIII")
_CHECKSUM = Struct("<I")

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
