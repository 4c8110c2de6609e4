"""How much memory a file may take while it is read.

Files come from strangers, and a few kilobytes can unpack to gigabytes. So every reader of files looks at what it is
about to take: the length of a line, what a text will be as objects, the sizes that a header states. What grows little
by little is found by looking at the process itself. Whoever trusts a large file says so by `SIMNET_MEMORY`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")

VARIABLE = "SIMNET_MEMORY"
"""The environment's word for the most that reading may add to the process, in megabytes."""
_DEFAULT = 64
_MEGABYTE = 1_000_000
_CONTAINER, _ENTRY = 72, 40
"""Bytes that Python takes for a list or a table, and for an entry of one."""
_LINES = 16
"""A line may take this part of the memory; beside it stand its objects and what is made of them."""
_OFTEN = 1 << 10
_SHORT = 1 << 16
"""Bytes of a text that need no look: they are no bomb."""


class Allowance:
    """What one reading may take; `error` makes the exception for what would take more out of one sentence."""

    def __init__(self, error: Callable[[str], Exception], megabytes: float | None = None) -> None:
        self._error = error
        given = os.environ.get(VARIABLE, "")
        self._megabytes = megabytes or (float(given) if given.isdecimal() and int(given) else _DEFAULT)
        self.bytes = int(self._megabytes * _MEGABYTE)
        self.longest_line = self.bytes // _LINES
        self._before = resident()
        self._taken = 0.0

    def check(self) -> None:
        """Refuse to go on if the process has grown too much since this reading began."""
        if resident() - self._before > self.bytes:
            raise self.refusal("what it holds")

    def need(self, size: float, what: str) -> None:
        """Refuse what would take so many bytes."""
        if size > self.bytes:
            raise self.refusal(what)

    def take(self, size: float, what: str) -> None:
        """Refuse what would take so many bytes beside all that was taken before."""
        self._taken += size
        self.need(self._taken, what)

    def json(self, raw: bytes) -> None:
        """Refuse a text whose objects would take half of the memory."""
        if len(raw) < _SHORT:
            return
        self.need(_LINES * len(raw), f"a text of {len(raw):,} bytes")
        containers = raw.count(b"[") + raw.count(b"{")
        size = _CONTAINER * containers + _ENTRY * raw.count(b",")
        self.need(2 * size, f"what a text of {len(raw):,} bytes lists")

    def refusal(self, what: str) -> Exception:
        """The error for what would take too much."""
        return self._error(
            f"{what} would take more than {self._megabytes:g} MB of memory; {VARIABLE}=1000 in the environment allows "
            "1000 MB, if you trust the file"
        )


def checked(items: Iterable[Item], allowance: Allowance) -> Iterator[Item]:
    """The same items, with a look at the memory now and then."""
    for number, item in enumerate(items):
        if number % _OFTEN == 0:
            allowance.check()
        yield item


def read_whole(path: Path, allowance: Allowance, share: int = 1) -> bytes:
    """What a file holds, if `share` times as much fits into the memory. OSError if it is no plain file."""
    most = allowance.bytes // share
    if path.exists() and not path.is_file():
        raise OSError(0, "not a plain file")
    with path.open("rb") as handle:
        # Python makes room at once for all that is asked for: no more than there seems to be.
        found = handle.read(min(most, max(path.stat().st_size, _SHORT)) + 1)
    if len(found) > most:
        raise allowance.refusal(f"a file of more than {most:,} bytes")
    return found


def read_own(path: Path, allowance: Allowance, share: int = 1) -> bytes:
    """What a file of a folder holds, which speaks for itself only. OSError if it is a link out of the folder."""
    try:
        if path.resolve().parent != path.parent.resolve():
            raise OSError(0, "it is a link out of its folder")
    except RuntimeError:
        raise OSError(0, "it is a link to itself") from None
    return read_whole(path, allowance, share)


def resident() -> int:
    """Bytes of memory that this process holds; where the system does not tell, the most that it has held, or 0."""
    try:
        with open("/proc/self/statm", "rb") as handle:
            return int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
