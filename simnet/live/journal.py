"""An agent's journal: everything that it must not forget, in the order in which it happened, in one file.

A record is a head of 13 bytes (little-endian: the body's kind, length and CRC-32, and the CRC-32 of these three), then
the body. A record that is written survives the death of the process; one that is followed by `sync` survives that of
the machine. Because there is one file and one order, whatever is safe is everything up to some moment: a crash can only
take the end away. A record that a crash has torn is therefore always the last one, and is dropped; damage anywhere else
is an error.

The bodies of START, HEARD, SENDING and RESULT are the structs below as MessagePack, those of LINK and HELD are in
`simnet.live.chain`. EVENT is a line of a log, STATE a checkpoint (`simnet.live.checkpoint`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from enum import IntEnum
from pathlib import Path
from struct import Struct
from zlib import crc32

import msgspec
import numpy as np
from msgspec.msgpack import decode

from simnet.errors import LiveError
from simnet.learning.evaluation import State
from simnet.live.machine import HERE, Machine
from simnet.record import events
from simnet.record.atomic import refusing
from simnet.record.lines import line, parse
from simnet.vectors import Vector

_FIELDS, _CHECKSUM = Struct("<BII"), Struct("<I")
_HEAD = _FIELDS.size + _CHECKSUM.size

Record = tuple["RecordKind", bytes]
Timed = tuple[float, events.Event]


class RecordKind(IntEnum):
    """What a record holds."""

    START = 1
    """who keeps the journal, and of which run"""
    EVENT = 2
    """an event, as a line of a log"""
    HEARD = 3
    """a frame that has come in, with the event that says so"""
    SENDING = 4
    """the frames that a round lets out: from here on they may have left"""
    RESULT = 5
    """model, dual and outputs at the end of a round, for the evaluation"""
    STATE = 6
    """a checkpoint: everything that the rounds to come depend on"""
    LINK = 7
    """what a round adds to the chain of charges and releases"""
    HELD = 8
    """the head of its sender's chain that came with a frame"""


_PASSING = frozenset({RecordKind.HEARD, RecordKind.SENDING, RecordKind.STATE})


class Start(msgspec.Struct, frozen=True):
    """The first record: whose journal it is."""

    agent: int
    run: str
    """the deployment or run; agents of different ones have nothing to say to each other"""
    version: str
    """simnet's version"""
    epoch: float
    """the Unix time from which the agent counts its seconds"""


class Heard(msgspec.Struct, frozen=True):
    """A frame that has come in, and the event that says so: one record, so that no crash comes between them."""

    note: bytes
    raw: bytes


class Sending(msgspec.Struct, frozen=True):
    """A round's frames, by neighbour."""

    round: int
    frames: dict[int, bytes]


class RoundResult(msgspec.Struct, frozen=True):
    """Model, dual and outputs at the end of a round, as little-endian float64."""

    round: int
    theta: bytes
    dual: bytes
    outputs: list[bytes] = []

    @classmethod
    def of(cls, round: int, state: State) -> RoundResult:
        return cls(round, _bytes(state.theta), _bytes(state.dual), [_bytes(output) for output in state.outputs])

    @property
    def state(self) -> State:
        theta, dual, *outputs = (
            np.frombuffer(part, "<f8").astype(np.float64) for part in (self.theta, self.dual, *self.outputs)
        )
        return State(theta, dual, outputs)


def _bytes(vector: Vector) -> bytes:
    return np.ascontiguousarray(vector, dtype="<f8").tobytes()


class Journal:
    """An open journal; records go to its end."""

    def __init__(self, path: Path, machine: Machine = HERE) -> None:
        self.path = path
        self._machine = machine
        with self._sentences():
            self._file = machine.open_end(path)
        self.superfluous = 0
        """Bytes of records that were of use only until the checkpoint after them, since the last `rewrite`."""

    def add(self, kind: RecordKind, body: bytes) -> None:
        """Write a record; it outlives this process."""
        with self._sentences():
            self._machine.write(self._file, _packed(kind, body))
        if kind in _PASSING:
            self.superfluous += len(body)

    def sync(self) -> None:
        """What has been written outlives the machine."""
        with self._sentences():
            self._machine.sync(self._file)

    def rewrite(self, records: Iterable[Record]) -> None:
        """Let these records take the place of all, at once or not at all."""
        with self._sentences():
            self._machine.replace(self.path, b"".join(_packed(kind, body) for kind, body in records))
            file = self._machine.open_end(self.path)
        self._machine.close(self._file)
        self._file, self.superfluous = file, 0

    def records(self) -> Iterator[Record]:
        """All that was written."""
        return read(self.path, self._machine)

    def close(self) -> None:
        """Make everything safe and close the file."""
        try:
            self.sync()
        finally:
            self._machine.close(self._file)

    def _sentences(self) -> AbstractContextManager[None]:
        """An agent that cannot remember must not go on: the sentence ends it."""
        return refusing(self.path, "the journal cannot be written", LiveError)


def read(path: Path, machine: Machine = HERE) -> Iterator[Record]:
    """The records of a journal, without one that a crash has torn."""
    with refusing(path, "the journal cannot be read", LiveError):
        data = machine.read(path)
    place = 0
    while place < len(data):
        head = data[place : place + _HEAD]
        if len(head) < _HEAD or not any(data[place:]):
            return  # torn in its head, or never written by a machine that lost its power
        kind, length, checksum = _FIELDS.unpack_from(head)
        sound = _CHECKSUM.pack(crc32(head[: _FIELDS.size])) == head[_FIELDS.size :]
        body, end = data[place + _HEAD : place + _HEAD + length], place + _HEAD + length
        if not sound and not any(data[place + _HEAD :]):
            return  # torn in its head, zeros after it
        if sound and (end > len(data) or (crc32(body) != checksum and not any(data[end:]))):
            return  # torn in its body, perhaps with zeros after it
        if not sound or kind not in _KINDS or crc32(body) != checksum:
            raise LiveError(f"{path}: the journal is damaged at byte {place}; the agent cannot go on from it")
        yield _KINDS[kind], body
        place = end


def start_of(first: Record) -> Start:
    """The first record of a journal: whose it is."""
    kind, body = first
    if kind is RecordKind.START:
        with suppress(msgspec.MsgspecError):
            return decode(body, type=Start)
    raise LiveError("the journal does not begin with who keeps it: it is damaged, or none of this version")


def event_body(t: float, event: events.Event) -> bytes:
    """An event as a body: a line of a log, whose number means nothing before all agents' logs are one."""
    return line(0, round(t, 9), event)


def event_of(kind: RecordKind, body: bytes) -> Timed | None:
    """The event in a record, if it holds one."""
    if kind is RecordKind.HEARD:
        body = decode(body, type=Heard).note
    elif kind is not RecordKind.EVENT:
        return None
    _, t, found = parse(body)
    return t, found


def compacted(records: Iterable[Record]) -> Iterator[Record]:
    """The records without what the last checkpoint makes superfluous; no event is lost."""
    every = list(records)
    last = max((place for place, (kind, _) in enumerate(every) if kind is RecordKind.STATE), default=-1)
    for place, (kind, body) in enumerate(every):
        if place >= last or kind not in _PASSING:
            yield kind, body
        elif kind is RecordKind.HEARD:
            yield RecordKind.EVENT, decode(body, type=Heard).note


def _packed(kind: RecordKind, body: bytes) -> bytes:
    fields = _FIELDS.pack(kind, len(body), crc32(body))
    return b"".join((fields, _CHECKSUM.pack(crc32(fields)), body))


_KINDS = {int(kind): kind for kind in RecordKind}
