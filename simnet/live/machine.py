"""The machine that an agent runs on: its files, its clocks and the port that it listens on.

Everything that a live agent asks of the system goes through one `Machine`, save its connections, which are those of the
event loop. So the very same agent can run on a simulated machine, whose disk tears and forgets and whose clock jumps.
Whatever fails raises OSError.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simnet.record.atomic import sweep, sync_folder, write_file


class Machine:
    """The one that this process runs on."""

    def now(self) -> float:
        """The Unix time, which somebody may set."""
        return time.time()

    def ticks(self) -> float:
        """Seconds since some moment, which nobody can set."""
        return time.monotonic()

    @contextmanager
    def alone_in(self, folder: Path) -> Iterator[None]:
        """Make a folder if need be, and be its only user until a crash; BlockingIOError if there is another."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            sweep(folder)
            yield
        finally:
            os.close(lock)

    def exists(self, path: Path) -> bool:
        """Whether there is such a file."""
        return path.exists()

    def read(self, path: Path) -> bytes:
        """All of a file."""
        return path.read_bytes()

    def replace(self, path: Path, content: bytes) -> None:
        """Let a file with this content, for its owner alone, take the place of what is there, safely."""
        write_file(path, content, mode=0o600)

    def open_end(self, path: Path) -> int:
        """A file to write at its end; if it is new, its name is safe when this returns."""
        fresh = not path.exists()
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
        if fresh:
            sync_folder(path.parent)
        return file

    def write(self, file: int, data: bytes) -> None:
        """Write all of it: it outlives this process."""
        left = memoryview(data)
        while left:
            left = left[os.write(file, left) :]

    def sync(self, file: int) -> None:
        """What was written outlives the machine's power."""
        getattr(os, "fdatasync", os.fsync)(file)

    def close(self, file: int) -> None:
        """Close a file that was opened to be written."""
        os.close(file)

    async def listen(self, host: str, port: int) -> socket.socket:
        """A socket that takes callers at an address; port 0 is one that is free."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, _, _, _, address = found[0]
        listener = socket.create_server(address[:2], family=family, backlog=128)
        listener.setblocking(False)
        return listener


HERE = Machine()
