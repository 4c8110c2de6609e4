"""The lines of text files, compressed or not, in bounded memory however they were packed."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from simnet.allowance import Allowance
from simnet.errors import DataError

_CHUNK = 1 << 14
_OFTEN = 1 << 16
"""Characters after which the memory is looked at."""
_BEST_XZ = 66 << 20
"""Bytes that `xz -9` asks its reader for. They are taken as they are needed, so a small file takes few of them."""
_IDLE = 100_000
"""Lines in a row that may be blank or comments: millions would take an hour."""


class _Unpacked(io.RawIOBase):
    """What an .xz file holds. Unlike `lzma.open` it refuses a file that asks for more memory than it may have."""

    def __init__(self, packed: BinaryIO, memory: int) -> None:
        super().__init__()
        self._packed, self._memory = packed, memory
        self._decoder = lzma.LZMADecompressor(memlimit=memory)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = b""
        while not found:
            if self._decoder.eof:
                # Several streams may follow each other, with zeros between them.
                rest = self._decoder.unused_data.lstrip(b"\0")
                while not rest and (more := self._packed.read(_CHUNK)):
                    rest = more.lstrip(b"\0")
                if not rest:
                    return 0
                self._decoder = lzma.LZMADecompressor(memlimit=self._memory)
            else:
                rest = self._packed.read(_CHUNK) if self._decoder.needs_input else b""
                if self._decoder.needs_input and not rest:
                    raise EOFError("the compressed data have no end")
            found = self._decoder.decompress(rest, len(buffer))
        buffer[: len(found)] = found
        return len(found)


def _xz(packed: BinaryIO, memory: int) -> io.BufferedIOBase:
    return io.BufferedReader(_Unpacked(packed, max(memory, _BEST_XZ)))


def _bz2(packed: BinaryIO, _memory: int) -> io.BufferedIOBase:
    return bz2.BZ2File(packed)


def _gz(packed: BinaryIO, _memory: int) -> io.BufferedIOBase:
    return gzip.GzipFile(fileobj=packed)


def _plain(text: BinaryIO, _memory: int) -> BinaryIO:
    return text


OPENERS: dict[str, Callable[[BinaryIO, int], Any]] = {".xz": _xz, ".bz2": _bz2, ".gz": _gz}
"""How compressed files are unpacked, by suffix, with so much memory."""


@contextmanager
def text_lines(path: Path, allowance: Allowance) -> Iterator[Iterator[str]]:
    """The lines of a text file, with their ends; what goes wrong while they are read becomes one sentence."""
    unpacked = OPENERS.get(path.suffix.lower(), _plain)
    try:
        with path.open("rb") as packed, unpacked(packed, allowance.bytes) as content:
            yield _lines(io.TextIOWrapper(content, encoding="utf-8-sig", newline=""), allowance)
    except FileNotFoundError:
        raise DataError(f"there is no data file {path}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: this is not text in UTF-8") from None
    except (OSError, EOFError, lzma.LZMAError, zlib.error, csv.Error, MemoryError, _Idle) as problem:
        raise DataError(f"{path}: the file cannot be read ({problem})") from None


class _Idle(Exception):
    """Nothing comes."""


def _lines(text: TextIO, allowance: Allowance) -> Iterator[str]:
    since = idle = 0
    while line := text.readline(allowance.longest_line):
        since += len(line)
        if len(line) == allowance.longest_line:
            raise allowance.refusal(f"a line of {allowance.longest_line:,} characters")
        if since > _OFTEN:
            allowance.check()
            since = 0
        idle = 0 if line.strip() and line[0] != "#" else idle + 1
        if idle > _IDLE:
            raise _Idle(f"{_IDLE:,} lines in a row say nothing")
        yield line
