"""The event log: written through structlog as it happens, sealed at the end, read back with every check on the way.

The last line seals the log: `digest` is the sha256 of the canonical events (the run's identity), `sha256` that of the
bytes of all lines before. A reader that meets anything else than a sealed, unaltered log raises `LogError`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, MutableMapping
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import structlog
import zstandard

from simnet.errors import LogError
from simnet.record.events import Event, RunFinished, RunStarted
from simnet.record.lines import canonical, line, parse

_LEVEL = 3


class LogWriter:
    """A subscriber that writes events to a zstd-compressed stream and computes the digest."""

    def __init__(self, sink: BinaryIO) -> None:
        self._stream = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).stream_writer(sink, closefd=False)
        self._digest = sha256()
        self._bytes = sha256()
        self._log = structlog.wrap_logger(
            _Lines(self._stream.write), processors=[self._render], wrapper_class=structlog.BoundLoggerBase
        )
        self.digest = ""

    def __call__(self, seq: int, t: float, event: Event) -> None:
        self._log._proxy_to_logger("msg", None, seq=seq, t=t, record=event)

    def _render(self, _logger: Any, _method: str, fields: MutableMapping[str, Any]) -> bytes:
        event: Event = fields["record"]
        raw = line(fields["seq"], fields["t"], event)
        if isinstance(event, RunFinished):
            self.digest, raw = self._seal(fields["seq"], fields["t"], event)
        else:
            self._digest.update(canonical(raw, event) + b"\n")
            self._bytes.update(raw + b"\n")
        return raw

    def _seal(self, seq: int, t: float, event: RunFinished) -> tuple[str, bytes]:
        self._digest.update(canonical(line(seq, t, event), event) + b"\n")
        digest = self._digest.hexdigest()
        return digest, line(seq, t, RunFinished(event.rounds, digest, self._bytes.hexdigest()))

    def close(self) -> None:
        """Flush what is compressed; the sink stays open."""
        self._stream.close()  # type: ignore[no-untyped-call]


class _Lines:
    """The logger that structlog wraps: a line is a write."""

    def __init__(self, write: Any) -> None:
        self._write = write

    def msg(self, raw: bytes) -> None:
        self._write(raw + b"\n")


def read(source: Path | bytes) -> Iterator[tuple[int, float, Event]]:
    """The events of a log, checked as they come: schema, order, seal.

    The check of the seal comes last, so a caller must not act on events before the iterator is exhausted.
    """
    digest, checksum = sha256(), sha256()
    expected, before, sealed = 1, 0.0, False
    for number, raw in enumerate(_lines(source), start=1):
        if sealed:
            raise LogError(f"line {number}: something follows the run's last event")
        try:
            seq, t, event = parse(raw)
        except LogError as error:
            raise LogError(f"line {number}: {error}") from None
        if seq != expected:
            raise LogError(f"line {number}: event {expected} should come here, not {seq}")
        if t < before:
            raise LogError(f"line {number}: time runs backwards, from {before} to {t}")
        if (seq == 1) != isinstance(event, RunStarted):
            raise LogError(f"line {number}: a log starts with run.started, once")
        if line(seq, t, event) != raw:
            raise LogError(f"line {number}: altered: the line is not written the way simnet writes it")
        try:
            digest.update(canonical(raw, event) + b"\n")
        except ValueError:
            raise LogError(f"line {number}: {event.kind}: the value is not a packed vector") from None
        if isinstance(event, RunFinished):
            sealed = True
            if event.sha256 != checksum.hexdigest():
                raise LogError("altered: the log's bytes do not match its seal")
            if event.digest != digest.hexdigest():
                raise LogError("altered: the log's events do not match its digest")
        checksum.update(raw + b"\n")
        yield seq, t, event
        expected, before = seq + 1, t
    if not sealed:
        last = f"after event {expected - 1} at t = {before:g} s" if expected > 1 else "before its first event"
        raise LogError(f"cut short {last}: there is no run.finished")


def _lines(source: Path | bytes) -> Iterator[bytes]:
    handle: BinaryIO
    if isinstance(source, bytes):
        handle = io.BytesIO(source)
    else:
        try:
            handle = source.open("rb")
        except OSError as error:
            raise LogError(f"{source}: {error.strerror}") from None
    with handle:
        rest, total, packed = b"", 0, zstandard.ZstdDecompressor().decompressobj()
        try:
            while chunk := handle.read(1 << 16):
                if packed.eof:
                    raise LogError("altered: bytes follow the end of the compressed log")
                rest += packed.decompress(chunk)
                total += len(chunk)
                *whole, rest = rest.split(b"\n")
                yield from whole
        except zstandard.ZstdError as error:
            raise LogError(f"altered or not a log: it cannot be decompressed ({error})") from None
        if not total:
            raise LogError("cut short before its first event: the file is empty")
        if packed.unused_data:
            raise LogError("altered: bytes follow the end of the compressed log")
        if rest:
            raise LogError(f"cut short in the middle of a line: {rest[:40]!r}")
        if not packed.eof:
            raise LogError("cut short: the compressed stream has no end")
