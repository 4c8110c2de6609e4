"""A compressed file that shows every change of every byte.

zstd's own checksum covers the content, not its compressed form: a byte of that form can change without changing the
content. So a seal follows the compressed data: a skippable frame, which every zstd tool passes over, with the sha256 of
all bytes before it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import zstandard

from simnet.errors import LogError

# Level 1 packs event logs as small as level 3 does, in less than half the time.
_LEVEL = 1
_SEAL = b"\x50\x2a\x4d\x18" + (32).to_bytes(4, "little")
_HELD = 1 << 16
"""Bytes read at a time."""
# Bytes unpacked at a time. zstd packs at most 128 KiB into four bytes: no step gives more than 32 MiB.
_CHUNK = 1 << 10
_WINDOW = 1 << 23
"""What zstd may look back on while it unpacks; a file may ask for more, and does not get it."""


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
        while not packed.eof and (held := handle.read(_HELD)):
            empty = False
            for place in range(0, len(held), _CHUNK):
                yield packed.decompress(held[place : place + _CHUNK])
                if packed.eof:
                    rest = packed.unused_data + held[place + _CHUNK :]
                    break
            total.update(held[: len(held) - len(rest)])
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
