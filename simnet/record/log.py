"""The event log: written as it happens, sealed at the end, read back with every check on the way.

The last line seals the log: `digest` is the sha256 of the canonical events (the run's identity), `sha256` that of the
bytes of all lines before. A reader that meets anything else than a sealed, unaltered log raises `LogError`.

The file is compressed. zstd's own checksum covers the content, not its compressed form: a byte of that form can change
without changing the content. So a second seal follows the compressed data: a skippable frame, which every zstd tool
passes over, with the sha256 of all bytes before it. Every byte of the file is checked.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import zstandard
from msgspec.structs import astuple

from simnet.allowance import Allowance
from simnet.errors import LogError
from simnet.record.events import SCHEMA, Event, RunFinished, RunStarted
from simnet.record.lines import LINES, canonical, encode_lines, line, parse, stamp
from simnet.record.thinning import Thinning

LOG = "events.jsonl.zst"
"""Its name in a run folder."""
Recorded = tuple[int, float, Event]
"""An event with its number and time."""

_BLOCK = 1 << 16
_WAITING = 512
"""Lines that wait to be written together: some 60 KiB."""
_SCHEMA = re.compile(rb'\{"seq":1,"t":[^,]*,"event":"run\.started","schema":([0-9]+)')
_NULL = re.compile(rb'^\{"seq":([0-9]+),"t":[^,]*,"event":"([a-z.]+)",.*:null', re.MULTILINE)
# Level 1 packs event logs as small as level 3 does, in less than half the time.
_LEVEL = 1
_SEAL = b"\x50\x2a\x4d\x18" + (32).to_bytes(4, "little")
# Bytes unpacked at a time. zstd packs at most 128 KiB into four bytes: no step gives more than 8 MiB.
_CHUNK = 1 << 8
_WINDOW = 1 << 23
"""What zstd may look back on while it unpacks; a file may ask for more, and does not get it."""
_AGENT, _LINK = 1500, 1000
"""Bytes that whoever checks or counts a run keeps for each."""


class LogWriter:
    """A subscriber that writes events to a compressed, sealed file and computes the digest; with no file only that.

    Events of plain numbers and words, such as messages, are written together, many at a time.
    """

    def __init__(self, sink: BinaryIO | None) -> None:
        self._file = None if sink is None else SealedWriter(sink)
        self._lines = _Digest() if self._file is None else _Lines(self._file.write)
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
        if self._file is not None:
            self._file.close()


def _not_finite(seq: int, kind: str) -> LogError:
    return LogError(f"event {seq}, {kind}: a number is not finite, and a log holds only finite ones")


class _Lines:
    """The lines of a log, encoded, hashed twice and written in blocks: line by line would cost more than the work."""

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


class _Digest(_Lines):
    """Only the digest: a log that nobody will read is neither hashed as a file nor written."""

    def _keep(self, raw: bytes, hashed: bytes) -> None:
        self._digest.update(hashed)


class SealedWriter:
    """Compresses into an open file; `close` adds the seal and leaves the file open."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._sum = sha256()
        self._packer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compressobj()

    def write(self, block: bytes) -> None:
        """Add a block; the larger, the cheaper."""
        self._put(self._packer.compress(block))

    def close(self) -> None:
        """End the frame and seal it."""
        self._put(self._packer.flush())
        self._sink.write(_SEAL + self._sum.digest())

    def _put(self, packed: bytes) -> None:
        if packed:
            self._sum.update(packed)
            self._sink.write(packed)


def find_log(path: Path) -> Path:
    """The event log of a run folder, or the log itself."""
    path = Path(path)
    if not path.is_dir():
        return path
    if not (path / LOG).is_file():
        raise LogError(f"{path} is not a run folder: it holds no {LOG}")
    return path / LOG


def read(source: Path | bytes, allowance: Allowance | None = None) -> Iterator[Recorded]:
    """The events of a run folder, a log or its bytes, checked as they come: schema, order, seal.

    The check of the seals comes last, so a caller must not act on events before the iterator is exhausted. What the
    caller keeps of the events counts too: a log is refused when the process has grown by more than the `allowance`.
    """
    expected, before, sealed, thinned = 1, 0.0, False, False
    hashes, allowance = _Lines(), allowance or Allowance(LogError)
    lines = _split(unpack_sealed(source if isinstance(source, bytes) else find_log(source)), allowance)
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
            allowance.json(raw)
            seq, t, event = _checked(raw, expected, before, thinned)
            if type(event) is RunStarted:
                _fits(event, allowance)
                thinned = Thinning.of(event.scenario) is not None
            hashed = canonical(seq, t, event, raw)
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


def _fits(start: RunStarted, allowance: Allowance) -> None:
    agents, links = len(start.rows), len(start.edges)
    allowance.need(_AGENT * agents + _LINK * links, f"a run of {agents:,} agents and {links:,} links")


def _place(seq: int, t: float) -> str:
    return f"after event {seq} at t = {t:g} s" if seq else "before its first event"


def _split(blocks: Iterable[bytes], allowance: Allowance) -> Iterator[bytes]:
    """Lines, whatever the blocks they come in."""
    pieces: list[bytes] = []
    length = since = 0
    for block in blocks:
        # Millions of short lines would take fifty times the memory of their block.
        for place in range(0, len(block), _BLOCK):
            first, *others = block[place : place + _BLOCK].split(b"\n")
            pieces.append(first)
            length += len(first)
            if length > allowance.longest_line:
                raise allowance.refusal(f"a line of more than {allowance.longest_line:,} bytes")
            if others:
                yield b"".join(pieces)
                yield from others[:-1]
                pieces, length = others[-1:], len(others[-1])
        since += len(block)
        if since > _BLOCK:
            allowance.check()
            since = 0
    if any(pieces):
        raise LogError("altered: the last line has no end")


def unpack_sealed(source: Path | bytes) -> Iterator[bytes]:
    """The blocks of a sealed file. LogError at the end, or as soon as it shows, if the file was cut or altered."""
    try:
        with source.open("rb") if isinstance(source, Path) else io.BytesIO(source) as handle:
            yield from _unpack(handle)
    except OSError as error:
        raise LogError(f"{source if isinstance(source, Path) else 'log'}: {error.strerror}") from None


def _unpack(handle: BinaryIO) -> Iterator[bytes]:
    packed, total = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj(), sha256()
    rest, empty = b"", True
    try:
        while not packed.eof and (chunk := handle.read(_CHUNK)):
            empty = False
            block = packed.decompress(chunk)
            rest = packed.unused_data
            total.update(chunk[: len(chunk) - len(rest)])
            yield block
    except zstandard.ZstdError as error:
        raise LogError(f"altered, or not a log: it cannot be decompressed ({error})") from None
    if empty:
        raise LogError("cut short: the file is empty")
    if not packed.eof:
        raise LogError("cut short: the compressed data have no end")
    seal = _SEAL + total.digest()
    rest += handle.read(len(seal) + 1)
    if rest == seal:
        return
    if seal.startswith(rest):
        raise LogError("cut short: the seal after the compressed data is missing")
    if rest.startswith(seal):
        raise LogError("altered: bytes follow the end of the log")
    raise LogError("altered: the compressed data do not match their seal")
