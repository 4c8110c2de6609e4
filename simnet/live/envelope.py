"""The envelope: what a frame travels in between two live agents.

docs/wire.md has its layout: little-endian, 48 bytes of header, then the content: of data the head of its sender's chain
(`simnet.live.chain`) and a frame (`simnet.network.frame`), of a hello a greeting. Nothing here reads or writes. `head`
judges the header alone, so that a reader knows what is announced before it makes room for it. The checksum finds
damage; it does not stop a forger, TLS does.

What breaks a rule is `Refused` for a `Reason`. The reasons are few and fixed, so that a flood of bad input can neither
fill a table of counts nor write its own text into a log.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from enum import IntEnum, StrEnum
from hashlib import sha256
from struct import Struct
from zlib import crc32

from simnet.errors import FrameError

MAGIC = b"sE"
VERSION = 2

_FIELDS = Struct("<2sBB16sIQQI")
_CHECKSUM = Struct("<I")
_GREETING = Struct("<QQ32s")

HEADER_BYTES = _FIELDS.size + _CHECKSUM.size
GREETING_BYTES = _GREETING.size
HEAD_BYTES = 32


class Reason(StrEnum):
    """What was wrong."""

    HANDSHAKE = "handshake"
    """The connection did not get as far as an introduction: it spoke no TLS 1.3, or went away."""
    STRANGER = "stranger"
    """No certificate, one of another authority, or that of an agent that is no neighbour."""
    IMPOSTOR = "impostor"
    """A neighbour under a name that is not its own."""
    MALFORMED = "malformed"
    """Not an envelope, or one that has no place at this point."""
    VERSION = "version"
    """An envelope of another version."""
    OVERSIZED = "oversized"
    """An envelope that announces more than the limit."""
    CHECKSUM = "checksum"
    """An envelope that was damaged on its way."""
    TRUNCATED = "truncated"
    """The connection ended in the middle of an envelope."""
    SLOW = "slow"
    """An introduction or an envelope that did not end in time, or a peer that does not read its acknowledgements."""
    CROWDED = "crowded"
    """The connection that had waited longest for its introduction when there were too many of them."""
    OTHER_RUN = "other run"
    """An envelope of another run."""
    OUT_OF_DATE = "out of date"
    """An envelope of an agent's earlier incarnation."""
    REPLAYED = "replayed"
    """A sequence number that was there before."""
    GAP = "gap"
    """A sequence number that is not the next one."""
    FORKED = "forked"
    """A frame whose round came before with another history: its sender has lived that round twice."""
    UNUSABLE = "unusable"
    """An envelope in order whose content is no frame, or none that the agent can read."""


class Refused(FrameError):
    """Something is not let in; `reason` is the word that it is counted under."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason


class EnvelopeKind(IntEnum):
    """What an envelope is for."""

    HELLO = 1
    """The first in either direction. `sequence`: the dialler keeps nothing up to it; the other has all up to it."""
    DATA = 2
    """A frame, under the next number."""
    ACK = 3
    """All up to `sequence` may be forgotten by its sender."""
    RECEIPT = 4
    """All up to `sequence` has arrived, but would be needed again after a crash of the receiver."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """An envelope that passed all checks of form."""

    kind: EnvelopeKind
    run: bytes
    sender: int
    incarnation: int
    sequence: int
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Header:
    """A header that passed all checks that need no content."""

    bare: Envelope
    """The envelope without its content."""
    length: int
    checksum: int
    running: int
    """The checksum so far; the content's bytes continue it."""


def run_id(name: str) -> bytes:
    """A run's name as the envelope has it."""
    return sha256(name.encode()).digest()[:16]


def encode(envelope: Envelope) -> bytes:
    """The bytes of an envelope; numbers fit into their fields."""
    *addressed, content = astuple(envelope)
    fields = _FIELDS.pack(MAGIC, VERSION, *addressed, len(content))
    return b"".join((fields, _CHECKSUM.pack(crc32(content, crc32(fields))), content))


def head(data: bytes, limit: int) -> Header:
    """The header that these 48 bytes are, if it announces at most `limit` bytes."""
    magic, version, kind, run, sender, incarnation, sequence, length = _FIELDS.unpack_from(data)
    if magic != MAGIC:
        raise Refused(Reason.MALFORMED, f"an envelope begins with {MAGIC!r}, this one with {magic!r}")
    if version != VERSION:
        raise Refused(Reason.VERSION, f"envelope version {version} is unknown, this is version {VERSION}")
    if kind not in _KINDS:
        raise Refused(Reason.MALFORMED, f"envelope kind {kind} is unknown")
    if length > limit:
        raise Refused(Reason.OVERSIZED, f"an envelope holds at most {limit} bytes here, this one announces {length}")
    if length and kind not in _WITH_CONTENT:
        raise Refused(Reason.MALFORMED, f"{_KINDS[kind].name} has no content, this one announces {length} bytes")
    (checksum,) = _CHECKSUM.unpack_from(data, _FIELDS.size)
    bare = Envelope(_KINDS[kind], run, sender, incarnation, sequence)
    return Header(bare, length, checksum, crc32(data[: _FIELDS.size]))


def seal(header: Header, content: bytes) -> Envelope:
    """The whole envelope, now that its content is there."""
    if crc32(content, header.running) != header.checksum:
        raise Refused(Reason.CHECKSUM, "the checksum does not match: the envelope was damaged on its way")
    return replace(header.bare, content=content)


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a hello tells its receiver about the receiver itself: what the greeter holds of it."""

    incarnation: int = 0
    """the latest process of the receiver that the greeter has met"""
    round: int = 0
    """the last round of which the greeter has a frame"""
    head: bytes = bytes(HEAD_BYTES)
    """the head of the receiver's chain that came with it"""

    def encode(self) -> bytes:
        return _GREETING.pack(self.incarnation, self.round, self.head)

    @classmethod
    def decode(cls, content: bytes) -> Greeting:
        if len(content) != GREETING_BYTES:
            raise Refused(Reason.MALFORMED, f"a hello has {GREETING_BYTES} bytes of content, not {len(content)}")
        return cls(*_GREETING.unpack(content))


@dataclass(frozen=True, slots=True)
class Identity:
    """One agent's process as its peers know it: the run, the agent, and how often it has been started."""

    run: bytes
    agent: int
    incarnation: int

    def say(self, kind: EnvelopeKind, sequence: int, content: bytes = b"") -> Envelope:
        """An envelope from here."""
        return Envelope(kind, self.run, self.agent, self.incarnation, sequence, content)

    def expect(self, item: Envelope, peer: int, *kinds: EnvelopeKind) -> None:
        """Refuse what is not of this run, not from `peer`, or not of these kinds."""
        if item.run != self.run:
            raise Refused(Reason.OTHER_RUN, "the envelope is of another run")
        if item.sender != peer:
            raise Refused(Reason.IMPOSTOR, f"agent {peer} says that it is agent {item.sender}")
        if item.kind not in kinds:
            raise Refused(Reason.MALFORMED, f"{item.kind.name} is not what comes here")


_KINDS = {int(kind): kind for kind in EnvelopeKind}
_WITH_CONTENT = (EnvelopeKind.HELLO, EnvelopeKind.DATA)
