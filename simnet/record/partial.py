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
import signal
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

_TRIES = 100
_LEFTOVER = re.compile(r"\.partial-([0-9a-f]{8})-([0-9]+)-[0-9]+")


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
                self._unmake()
                raise

    def become(self, target: Path) -> None:
        """Take the final name, or file by file the place of an earlier folder that has it already.

        Equal names mean equal runs, so a reader in between sees old and new files that say the same.
        """
        _sync(self.path)
        try:
            self.path.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            for file in sorted(self.path.iterdir()):
                file.replace(target / file.name)
            _sync(target)
            self.path.rmdir()
        _sync(self._parent)

    def vanish(self) -> None:
        """Leave no trace; does nothing to a folder that has taken its place."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._unmake()

    def _unmake(self) -> None:
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()


def hold_interrupts() -> set[int] | None:
    """Let Ctrl-C and SIGTERM wait while a folder is made or removed; what `release_interrupts` needs to undo it."""
    if not hasattr(signal, "pthread_sigmask"):
        return None
    return set(signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM}))


def release_interrupts(held: set[int] | None) -> None:
    """Let them through again; one that came meanwhile is raised here."""
    if held is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _make(folder: Path) -> list[Path]:
    """Make a folder and those above it; those that were missing, the innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _sweep(parent: Path) -> None:
    """Remove what processes of this machine left here when they were killed."""
    for entry in parent.iterdir():
        found = _LEFTOVER.fullmatch(entry.name)
        if found is not None and found[1] == _here() and not _lives(int(found[2])):
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
