"""A folder in the making: hidden beside its final place, which it takes as a whole or not at all.

A process that is killed leaves its hidden folder behind. The folder's name tells the process, so that the next one can
see that nobody works on it any more.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

_TRIES = 100
_LEFTOVER = re.compile(r"\.(partial|replaced)-([0-9a-f]{8})-([0-9]+)-")


class PartialFolder:
    """A hidden folder inside `parent`, which is made if need be. OSError if it cannot be."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._made: list[Path] = []
        for number in range(_TRIES):
            self.path = parent / f".partial-{_here()}-{os.getpid()}-{number}"
            try:
                self._made += _make(parent)
                _sweep(parent)
                self.path.mkdir()
                return
            except (FileExistsError, FileNotFoundError):
                # Another run of this process has the name, or one that failed has just removed the folder above.
                if number + 1 == _TRIES:
                    raise
            except OSError:
                self.vanish()
                raise

    def become(self, target: Path) -> None:
        """Take the final name; an earlier folder there makes way first, so that nobody sees a mixture of the two."""
        replaced = self._parent / f".replaced-{_here()}-{os.getpid()}-{target.name}"
        _sync(self.path)
        while True:
            try:
                self.path.rename(target)
                break
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            shutil.rmtree(replaced, ignore_errors=True)
            with suppress(FileNotFoundError):
                target.rename(replaced)
        _sync(self._parent)
        shutil.rmtree(replaced, ignore_errors=True)

    def vanish(self) -> None:
        """Leave no trace; does nothing to a folder that has taken its place."""
        shutil.rmtree(self.path, ignore_errors=True)
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()


def _make(folder: Path) -> list[Path]:
    """Make a folder and those above it; those that were missing, the innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _sweep(parent: Path) -> None:
    """Remove what processes of this machine left here when they were killed."""
    for entry in parent.iterdir():
        found = _LEFTOVER.match(entry.name)
        if found is None or found[2] != _here() or _lives(int(found[3])):
            continue
        target = parent / entry.name[found.end() :]
        if found[1] == "replaced" and not target.exists():
            with suppress(OSError):
                entry.rename(target)
        else:
            shutil.rmtree(entry, ignore_errors=True)


def _here() -> str:
    """Names this machine, or this container on it, without telling which it is: process numbers mean something here."""
    try:
        space = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        space = 0
    return sha256(f"{platform.node()}/{space}".encode()).hexdigest()[:8]


def _lives(process: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _sync(folder: Path) -> None:
    """Make what a folder lists durable, where a folder can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
