"""The event log: written through structlog as it happens, sealed at the end, read back with every check on the way.

The last line seals the log: `digest` is the sha256 of the canonical events (the run's identity), `sha256` that of the
bytes of all lines before. A reader that meets anything else than a sealed, unaltered log raises `LogError`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import structlog
from msgspec.structs import astuple

from simnet.errors import LogError
from simnet.record.events import (
    SCHEMA,
    Event,
    RunFinished,
    RunStarted,
)
from simnet.record.lines import LINES, ROUNDED, canonical, encode_lines, line, parse, stamp
from simnet.record.sealed import SealedWriter, unpack_sealed
from simnet.record.thinning import Thinning

Recorded = tuple[int, float, Event]
"""An event with its number and time."""

_BLOCK = 1 << 16
_WAITING = 512
"""Lines that wait to be written together: some 60 KiB."""
_SCHEMA = re.compile(rb'\{"seq":1,"t":[^,]*,"event":"run\.started","schema":([0-9]+)')
_NULL = re.compile(rb'^\{"seq":([0-9]+),"t":[^,]*,"event":"([a-z.]+)",.*:null', re.MULTILINE)


class LogWriter:
    """A subscriber that writes events to a compressed, sealed file and computes the digest.

    Events that hold collections go through structlog one by one. Those of plain numbers and words, such as messages,
    are written together, many at a time.
    """

    def __init__(self, sink: BinaryIO) -> None:
        self._file = SealedWriter(sink)
        self._lines = _Lines(self._file.write)
        logger = structlog.wrap_logger(self._lines, processors=[self._render], wrapper_class=_EventLogger)
        self._record: Callable[[int, float, Event], None] = logger.bind().record
        self._put = self._lines.put
        self._now, self._stamp = 0.0, stamp(0.0)
        self.digest = ""

    def __call__(self, seq: int, t: float, event: Event) -> None:
        kind = LINES.get(type(event))
        if kind is None:
            self._record(seq, t, event)
            return
        if t != self._now:
            self._now, self._stamp = t, stamp(t)
        self._put(kind(seq, self._stamp, event.kind, *astuple(event)))

    def _render(self, _logger: Any, _method: str, fields: MutableMapping[str, Any]) -> tuple[bytes, bytes]:
        """An event's line, and what the digest hashes for it."""
        seq, t, event = fields["seq"], fields["t"], fields["record"]
        raw = line(seq, t, event)
        if b":null" in raw and type(event) is not RunStarted:
            raise _not_finite(seq, event.kind)
        if type(event) not in ROUNDED:
            return raw, raw
        hashed = canonical(seq, t, event, raw)
        if type(event) is RunFinished:
            checksum, self.digest = self._lines.seal(hashed)
            raw = line(seq, t, msgspec.structs.replace(event, digest=self.digest, sha256=checksum))
        return raw, hashed

    def close(self) -> None:
        """Write out what is buffered, and the seal; the sink stays open."""
        self._lines.flush()
        self._file.close()


def _not_finite(seq: int, kind: str) -> LogError:
    return LogError(f"event {seq}, {kind}: a number is not finite, and a log holds only finite ones")


class _EventLogger(structlog.BoundLoggerBase):
    """structlog's pipeline without its per-call copy of a context, which events do not have."""

    def record(self, seq: int, t: float, event: Event) -> None:
        fields: Any = {"seq": seq, "t": t, "record": event}
        for process in self._processors:
            fields = process(self._logger, "add", fields)
        self._logger.add(*fields)


class _Lines:
    """The lines of a log: encoded, hashed twice and written in blocks; a call a line would cost more than the work."""

    def __init__(self, write: Callable[[bytes], None] | None = None) -> None:
        self._write = write
        self._bytes, self._digest = sha256(), sha256()
        self._waiting: list[Any] = []
        self._raw: list[bytes] = []
        self._hashed: list[bytes] = []
        self._size = 0

    def put(self, entry: msgspec.Struct) -> None:
        """A line to be written when there are more: one of `LINES`, which is what the digest hashes too."""
        self._waiting.append(entry)
        if len(self._waiting) >= _WAITING:
            self._encode()

    def add(self, raw: bytes, hashed: bytes) -> None:
        """A line, and what the digest hashes for it."""
        self._encode()
        self._keep(raw + b"\n", hashed + b"\n")

    def seal(self, hashed: bytes) -> tuple[str, str]:
        """The sha256 of the lines so far, and the digest with the last event's share."""
        self.flush()
        digest = self._digest.copy()
        digest.update(hashed + b"\n")
        return self._bytes.hexdigest(), digest.hexdigest()

    def flush(self) -> None:
        """Hash and write what waits."""
        self._encode()
        if self._raw:
            block = b"".join(self._raw)
            self._bytes.update(block)
            self._digest.update(b"".join(self._hashed))
            if self._write is not None:
                self._write(block)
            self._raw, self._hashed, self._size = [], [], 0

    def _encode(self) -> None:
        if self._waiting:
            block = encode_lines(self._waiting)
            self._waiting.clear()
            if b":null" in block and (found := _NULL.search(block)):
                raise _not_finite(int(found[1]), found[2].decode())
            self._keep(block, block)

    def _keep(self, raw: bytes, hashed: bytes) -> None:
        self._raw.append(raw)
        self._hashed.append(hashed)
        self._size += len(raw)
        if self._size > _BLOCK:
            self.flush()


def read(source: Path | bytes) -> Iterator[Recorded]:
    """The events of a log, checked as they come: schema, order, seal.

    The check of the seals comes last, so a caller must not act on events before the iterator is exhausted.
    """
    expected, before, sealed, thinned = 1, 0.0, False, False
    hashes = _Lines()
    lines = _split(unpack_sealed(source))
    while True:
        try:
            raw = next(lines, None)
        except LogError as error:
            raise LogError(f"{error}; what can be read ends {_place(expected - 1, before)}") from None
        if raw is None:
            break
        if sealed:
            raise LogError(f"line {expected}: something follows the run's last event")
        try:
            seq, t, event = _checked(raw, expected, before, thinned)
            if type(event) is RunStarted:
                thinned = Thinning.of(event.scenario) is not None
            hashed = canonical(seq, t, event, raw) if type(event) in ROUNDED else raw
        except LogError as error:
            raise LogError(f"line {expected}: {error}") from None
        if type(event) is RunFinished:
            sealed = True
            if (event.sha256, event.digest) != hashes.seal(hashed):
                raise LogError("altered: the events do not match the seal in the last line")
        hashes.add(raw, hashed)
        yield seq, t, event
        expected, before = seq + 1, t
    if not sealed:
        raise LogError(f"cut short: there is no run.finished, the log ends {_place(expected - 1, before)}")


def _checked(raw: bytes, expected: int, before: float, thinned: bool) -> Recorded:
    """The event of a line that should be the `expected`-th, or a later one if the log is thinned."""
    if expected == 1:
        schema = _SCHEMA.match(raw)
        if schema is not None and int(schema[1]) != SCHEMA:
            raise LogError(f"written with event schema {int(schema[1])}, and this simnet reads schema {SCHEMA}")
    seq, t, event = parse(raw)
    if seq != expected and not (thinned and seq > expected):
        raise LogError(f"event {expected} should come here, not {seq}")
    if not before <= t < math.inf:
        raise LogError(f"time runs from {before!r} to {t!r}")
    if (seq == 1) != (type(event) is RunStarted):
        raise LogError("a log starts with run.started, once")
    return seq, t, event


def _place(seq: int, t: float) -> str:
    return f"after event {seq} at t = {t:g} s" if seq else "before its first event"


def _split(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines, whatever the blocks they come in."""
    pieces: list[bytes] = []
    for block in blocks:
        first, *others = block.split(b"\n")
        pieces.append(first)
        if others:
            yield b"".join(pieces)
            yield from others[:-1]
            pieces = others[-1:]
    if any(pieces):
        raise LogError("altered: the last line has no end")
