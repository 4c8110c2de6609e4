"""What keeps memory quick in a large run: no garbage collection where there is no garbage, and large pages.

A run makes millions of objects that all stay, or that go as soon as nobody needs them. None of them form cycles, and
Python's collector of cycles would visit all of them again and again. Pages of 2 MiB make visits to memory that is in no
cache quicker (docs/performance.md). Linux has them from 6.1 on, but most systems give them only to those who ask.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from mmap import PAGESIZE
from pathlib import Path

LARGE = 256 << 20
"""Bytes below which it is not worth a thought."""
GROWTH = 1.5
"""How many times larger than the last time memory must be to be looked at again."""

_PAGE = 2 << 20
_MADV_COLLAPSE = 25
_PROCESS = Path("/proc/self")


@contextmanager
def gc_paused() -> Iterator[None]:
    """No collection inside; whoever calls it inside another changes nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class HugePages:
    """Keeps the memory of a growing process on large pages; changes nothing but time."""

    def __init__(self) -> None:
        self._next = max(LARGE, int(GROWTH * _resident()))

    def collapse(self) -> None:
        """Gather memory into large pages if there is much of it that is new."""
        resident = _resident()
        if resident < self._next:
            return
        self._next = int(GROWTH * resident)
        advise = _advise()
        for first, last in _anonymous():
            # Where there is none to be had the system says so and goes on; nothing depends on it.
            advise(first, last - first, _MADV_COLLAPSE)


def _resident() -> int:
    """Bytes of memory that the process has made itself and holds now; 0 where the system does not tell."""
    try:
        _, resident, shared, *_ = (_PROCESS / "statm").read_text().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * PAGESIZE


def _anonymous() -> Iterator[tuple[int, int]]:
    """Where the process keeps what it has made itself, as whole large pages."""
    for line in (_PROCESS / "maps").read_text().splitlines():
        addresses, rights, _, _, inode, *name = line.split()
        first, last = (int(end, 16) for end in addresses.split("-"))
        first, last = -(-first // _PAGE) * _PAGE, last // _PAGE * _PAGE
        if rights == "rw-p" and inode == "0" and name in ([], ["[heap]"]) and first < last:
            yield first, last


def _advise() -> Callable[[int, int, int], int]:
    """The system's `madvise(address, bytes, advice)`."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return madvise
