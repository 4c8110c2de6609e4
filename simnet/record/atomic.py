"""Files and folders that are there as a whole or not at all, even when the machine loses its power.

Each is made under a hidden name beside its final place, written down to the disk, and then renamed. A process that is
killed leaves its hidden file or folder behind. The hidden name tells the process, so that `sweep` can see that nobody
works on it any more.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from simnet.errors import SimnetError

_TRIES = 100
_LEFTOVER = re.compile(r"\..*partial-([0-9a-f]{8})-([0-9]+)(-[0-9]+)?")


def write_file(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Let a file with this content take the place of whatever file is there."""
    partial = path.with_name(f".{path.name}.partial-{_here()}-{os.getpid()}")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(content)
            finish(file)
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    sync_folder(path.parent)


class AtomicFolder:
    """A hidden folder inside `parent`, which is made if need be. OSError if it cannot be."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._made: list[Path] = []
        for number in range(_TRIES):
            self.path = parent / f".partial-{_here()}-{os.getpid()}-{number}"
            try:
                self._made += _make(parent)
                sweep(parent)
                self.path.mkdir()
                return
            except (FileExistsError, FileNotFoundError):
                # Another run of this process has the name, or one that failed has just removed the folder above.
                if number + 1 == _TRIES:
                    raise
            except OSError:
                self._unmake()
                raise

    def add(self, name: str, content: bytes) -> None:
        """Put a file into it."""
        with (self.path / name).open("wb") as file:
            file.write(content)
            finish(file)

    def commit(self, target: Path) -> None:
        """Take the final name, or file by file the place of an earlier folder that has it already.

        Equal names mean equal content, so a reader in between sees old and new files that say the same.
        """
        sync_folder(self.path)
        try:
            self.path.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            for file in sorted(self.path.iterdir()):
                file.replace(target / file.name)
            sync_folder(target)
            self.path.rmdir()
        sync_folder(self._parent)

    def discard(self) -> None:
        """Leave no trace; a folder that was committed stays."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._unmake()

    def _unmake(self) -> None:
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()


def finish(file: IO[bytes]) -> None:
    """Write a file out, down to the disk, and close it."""
    file.flush()
    os.fsync(file.fileno())
    file.close()


def sync_folder(folder: Path) -> None:
    """Make what a folder lists durable, on systems where a folder can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sweep(folder: Path) -> None:
    """Remove what processes of this machine left in a folder when they were killed."""
    for entry in folder.iterdir():
        found = _LEFTOVER.fullmatch(entry.name)
        if found is None or found[1] != _here() or _lives(int(found[2])):
            continue
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


@contextmanager
def refusing(path: Path, failure: str, error: type[SimnetError] = SimnetError) -> Iterator[None]:
    """Turn what the system says into a sentence about a path, such as "runs/x: the run cannot be stored (…)"."""
    try:
        yield
    except OSError as reason:
        raise error(f"{path}: {failure} ({reason.strerror or reason})") from None


@contextmanager
def temporary_folder(what: str) -> Iterator[Path]:
    """A folder that is gone afterwards; SimnetError, a sentence about TMPDIR, if there can be none for `what`."""
    try:
        folder = TemporaryDirectory(prefix="simnet-")
    except OSError as error:
        raise SimnetError(
            f"TMPDIR: {what} is kept in a temporary folder, and there can be none ({error.strerror})"
        ) from None
    with folder as name:
        yield Path(name)


@contextmanager
def interrupts_waiting() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait while a folder is made or removed; one that came meanwhile is raised at the end."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _make(folder: Path) -> list[Path]:
    """Make a folder and those above it; those that were missing, the innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


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
