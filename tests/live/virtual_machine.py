"""A machine that exists in memory only: a disk that tears, forgets, lies and runs full, and a clock that jumps.

What a process has written outlives the process. What it has also made safe outlives a power cut, unless the disk lies.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from simnet.live.machine import Machine
from tests.live.virtual_network import End, Listener, VirtualNetwork


class Killed(BaseException):
    """The process ends here and now."""


@dataclass(eq=False)
class File:
    """What a process sees of a file, and how much of it is safe."""

    data: bytearray
    safe: int
    looked_at: int = 0
    """what `VirtualDisk.on_safe` has looked at already"""


class VirtualDisk:
    """An agent's files; they stay when its process or its power goes.

    `lies` says whether the disk calls safe what is not. `room` are the bytes that it has left. `on_safe` gets a file
    each time that the disk has called it safe.
    """

    def __init__(self, chance: Random, on_safe: Callable[[Path, File], None]) -> None:
        self.names: dict[Path, File] = {}
        self._safe_names: dict[Path, File] = {}
        self._chance = chance
        self.on_safe = on_safe
        self.lies = False
        self.room: int | None = None

    def content(self, path: Path) -> bytes:
        return bytes(self.names[path].data) if path in self.names else b""

    def room_for(self, size: int) -> int:
        """How many of so many bytes there is room for."""
        if self.room is None:
            return size
        size = min(size, self.room)
        self.room -= size
        return size

    def put(self, path: Path, file: File) -> None:
        """A file takes a name; whether that is safe is another matter."""
        self.names[path] = file
        if not self.lies:
            self._safe_names[path] = file
            file.safe = len(file.data)
        self.on_safe(path, file)

    def sync(self, path: Path, file: File) -> None:
        if not self.lies:
            file.safe = len(file.data)
        self.on_safe(path, file)

    def lose_power(self) -> None:
        """Of what was not safe an arbitrary beginning is left, with zeros after it now and then."""
        self.names = dict(self._safe_names)
        for file in self.names.values():
            unsafe = len(file.data) - file.safe
            if unsafe:
                kept = file.safe + self._chance.randint(0, unsafe)
                zeros = self._chance.choice((0, 0, 0, self._chance.randint(1, 40)))
                file.data[kept:] = bytes(min(zeros, len(file.data) - kept))
                file.safe = len(file.data)

    def snapshot(self) -> dict[Path, bytes]:
        return {path: bytes(file.data) for path, file in self.names.items()}

    def restore(self, backup: dict[Path, bytes]) -> None:
        self.names = {path: File(bytearray(data), len(data)) for path, data in backup.items()}
        self._safe_names = dict(self.names)


@dataclass(eq=False)
class VirtualMachine(Machine):
    """One life of an agent's machine, from a start to a crash: `jump` is how far its clock is off.

    `doom` is asked before every step of the disk whether the process dies there, and dies with the step half done.
    """

    agent: int
    disk: VirtualDisk
    network: VirtualNetwork
    jump: float
    doom: Callable[[VirtualMachine], bool]
    dead: bool = False
    steps: int = 0
    ends: list[End] = field(default_factory=list)
    on_death: Callable[[], Any] = lambda: None
    drawn: bytes | None = None
    """the noise that was drawn last: that of the round"""

    def __post_init__(self) -> None:
        self._handles: dict[int, tuple[Path, File]] = {}

    def die(self, *, silently: bool) -> None:
        self.dead = True
        for address in [at for at, listener in self.network.listeners.items() if listener.machine is self]:
            del self.network.listeners[address]
        for end in self.ends:
            end.die(silently=silently)
        self.on_death()

    def _step(self) -> bool:
        """Count a step; False if there is nobody any more to take it."""
        if self.dead:
            return False
        self.steps += 1
        return True

    def _doomed(self) -> None:
        if self.doom(self):
            raise Killed

    def now(self) -> float:
        return 1.7e9 + self.network.loop.time() + self.jump

    def ticks(self) -> float:
        return self.network.loop.time()

    @contextmanager
    def alone_in(self, folder: Path) -> Iterator[None]:
        yield

    def exists(self, path: Path) -> bool:
        return path in self.disk.names

    def read(self, path: Path) -> bytes:
        return self.disk.content(path)

    def replace(self, path: Path, content: bytes) -> None:
        if self._step():
            self._doomed()
            if self.disk.room_for(len(content)) < len(content):
                raise OSError(errno.ENOSPC, "No space left on device")
            self.disk.put(path, File(bytearray(content), 0))

    def open_end(self, path: Path) -> int:
        if self._step():
            self._doomed()
            if path not in self.disk.names:
                self.disk.put(path, File(bytearray(), 0))
            self._handles[self.steps] = path, self.disk.names[path]
        return self.steps

    def write(self, file: int, data: bytes) -> None:
        if self._step():
            _, open_file = self._handles[file]
            fits = self.disk.room_for(len(data))
            open_file.data += data[: fits // 2]
            self._doomed()
            open_file.data += data[fits // 2 : fits]
            if fits < len(data):
                raise OSError(errno.ENOSPC, "No space left on device")

    def sync(self, file: int) -> None:
        if self._step():
            self._doomed()
            self.disk.sync(*self._handles[file])
            self._doomed()

    def close(self, file: int) -> None:
        self._handles.pop(file, None)

    async def listen(self, host: str, port: int) -> Any:
        if (host, port) in self.network.listeners:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        return self.network.listeners.setdefault((host, port), Listener(self, (host, port)))
