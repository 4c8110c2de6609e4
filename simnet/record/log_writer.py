"""The event log as it is written: while things happen, sealed at the end.

Lines are encoded, hashed and compressed many at a time: one by one they would cost more than what they tell of.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import astuple

from simnet.errors import LogError
from simnet.record.events import Event, RunFinished, RunStarted
from simnet.record.lines import LINES, canonical, encode_lines, line, stamp
from simnet.record.sealed import SealedWriter
from simnet.record.sums import Sums

_BLOCK = 1 << 16
_WAITING = 512
"""Lines that wait to be written together: some 60 KiB."""
_NULL = re.compile(rb'^\{"seq":([0-9]+),"t":[^,]*,"event":"([a-z.]+)",.*:null', re.MULTILINE)


class LogWriter:
    """A subscriber that writes events to a compressed, sealed file and computes the digest.

    Events of plain numbers and words, such as messages, are written together, many at a time.
    """

    def __init__(self, sink: BinaryIO) -> None:
        self._file = SealedWriter(sink)
        self._lines = _Lines(self._file.write)
        self._put = self._lines.put
        self._now, self._stamp = 0.0, stamp(0.0)
        self.digest = ""

    def __call__(self, seq: int, t: float, event: Event) -> None:
        kind = LINES.get(type(event))
        if kind is None:
            self._write(seq, t, event)
            return
        if t != self._now:
            self._now, self._stamp = t, stamp(t)
        self._put(kind(seq, self._stamp, event.kind, *astuple(event)))

    def _write(self, seq: int, t: float, event: Event) -> None:
        raw = line(seq, t, event)
        if b":null" in raw and type(event) is not RunStarted:
            raise _not_finite(seq, event.kind)
        hashed = canonical(seq, t, event, raw)
        if isinstance(event, RunFinished):
            checksum, self.digest = self._lines.seal(hashed)
            raw = line(seq, t, msgspec.structs.replace(event, digest=self.digest, sha256=checksum))
        self._lines.add(raw, hashed)

    def close(self) -> None:
        """Write out what is buffered, and the seal; the sink stays open."""
        self._lines.flush()
        self._file.close()


def _not_finite(seq: int, kind: str) -> LogError:
    return LogError(f"event {seq}, {kind}: a number is not finite, and a log holds only finite ones")


class _Lines:
    """The lines of a log, encoded, hashed twice and written in blocks: line by line would cost more than the work."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._sums = Sums()
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
        return self._sums.seal(hashed + b"\n")

    def flush(self) -> None:
        """Hash and write what waits."""
        self._encode()
        if self._raw:
            block = b"".join(self._raw)
            self._sums.add(block, self._hashed)
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
