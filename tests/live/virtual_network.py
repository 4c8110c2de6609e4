"""An event loop whose time jumps to the next thing that happens, and connections that exist in memory only.

Connections lose, repeat, swap and damage bytes, are cut at any byte, and die without a word. TLS is left out: without
it an agent sees damage that TLS would have hidden, and must refuse it all the same.
"""

from __future__ import annotations

import asyncio
import selectors
import socket
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.live.virtual_machine import VirtualMachine

CURRENT: ContextVar[VirtualMachine] = ContextVar("CURRENT")
"""The machine whose code runs."""
FAULTS = ("cut", "half-open", "flip", "repeat", "swap", "drop", "stall")
LATENCY = 0.01
STALL = 45.0


class _Jump(selectors.SelectSelector):
    """Waits for nothing: where a loop would sleep, its time goes on at once."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "nothing will ever happen again"
        self.time += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Virtual time, and connections over a `VirtualNetwork`."""

    def __init__(self, network: VirtualNetwork) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)
        self._network = network
        network.loop = self

    def time(self) -> float:
        return self._jump.time

    async def create_connection(self, factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        return await self._network.dial(CURRENT.get(), (host, port), factory)

    async def sock_accept(self, sock: Any) -> Any:
        return await sock.accept(), None

    async def connect_accepted_socket(self, factory: Any, sock: Any, **_: Any) -> Any:
        sock.attach(factory())
        return sock, sock.get_protocol()


class Listener:
    """Stands in for a listening socket."""

    def __init__(self, machine: VirtualMachine, address: tuple[str, int]) -> None:
        self.machine, self.address = machine, address
        self._callers: asyncio.Queue[End] = asyncio.Queue()

    def getsockname(self) -> tuple[str, int]:
        return self.address

    def ring(self, caller: End) -> None:
        self._callers.put_nowait(caller)

    async def accept(self) -> End:
        return await self._callers.get()

    def close(self) -> None:
        self.machine.network.listeners.pop(self.address, None)


class _NoSocket:
    family = socket.AF_INET

    def getsockopt(self, *_: int) -> bytes:
        raise OSError("a virtual connection has no socket")


@dataclass
class VirtualNetwork:
    """All connections of one schedule; `faulty` is the share of connections that something happens to."""

    chance: Random
    faulty: float
    tap: Callable[[VirtualMachine, bytes], None]
    listeners: dict[tuple[str, int], Listener] = field(default_factory=dict)
    loop: asyncio.AbstractEventLoop = field(init=False)
    quiet_from: float = float("inf")
    """The time from which on nothing goes wrong any more."""

    async def dial(
        self, machine: VirtualMachine, address: tuple[str, int], factory: Callable[[], asyncio.Protocol]
    ) -> tuple[End, asyncio.Protocol]:
        await asyncio.sleep(LATENCY)
        listener = self.listeners.get(address)
        if machine.dead or listener is None or listener.machine.dead:
            raise ConnectionRefusedError("nobody listens there")
        near, far = End(machine, self), End(listener.machine, self)
        near.peer, far.peer = far, near
        if self.loop.time() < self.quiet_from and self.chance.random() < self.faulty:
            near.doom = far.doom = Doom(self.chance.choice(FAULTS), self.chance.randrange(2000))
        near.attach(factory())
        listener.ring(far)
        return near, near.get_protocol()


@dataclass
class Doom:
    """What happens to a connection once so many bytes have been written to it, from either side."""

    fault: str
    after: int


class End(asyncio.Transport):
    """One end of a connection."""

    def __init__(self, machine: VirtualMachine, network: VirtualNetwork) -> None:
        super().__init__({"socket": _NoSocket()})
        self.peer: End
        self.doom: Doom | None = None
        self._machine, self._network, self._loop = machine, network, network.loop
        self._protocol: asyncio.Protocol | None = None
        self._early: deque[bytes] = deque()
        self._held: bytes | None = None
        self._arrives = 0.0
        self._closing = self._lost = self._mute = False
        machine.ends.append(self)

    def attach(self, protocol: asyncio.Protocol) -> None:
        self._protocol = protocol
        protocol.connection_made(self)
        while self._early:
            protocol.data_received(self._early.popleft())

    def get_protocol(self) -> asyncio.Protocol:
        assert self._protocol is not None
        return self._protocol

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: Any) -> None:
        if self._closing or self._machine.dead:
            return
        data = bytes(data)
        self._network.tap(self._machine, data)
        for piece in self._spoiled(data):
            self._ship(piece)

    def _spoiled(self, data: bytes) -> list[bytes]:
        """What becomes of some bytes on their way."""
        held, self._held = self._held, None
        after = [] if held is None else [held]
        doom = self.doom
        if doom is None or doom.after >= len(data):
            if doom is not None:
                doom.after -= len(data)
            return [data, *after]
        self.doom = self.peer.doom = None
        chance = self._network.chance
        if doom.fault == "flip":
            place = chance.randrange(len(data))
            return [data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :], *after]
        if doom.fault == "repeat":
            return [data, data, *after]
        if doom.fault == "swap":
            self._held = data
            return after
        if doom.fault == "drop":
            return [data[: doom.after], *after]
        if doom.fault == "stall":
            self._arrives = self._loop.time() + STALL
            return [data, *after]
        if doom.fault == "half-open":
            self._mute = self.peer._mute = True
            return []
        self._ship(data[: doom.after])
        self._loop.call_later(LATENCY, self.break_off)
        return []

    def _ship(self, data: bytes) -> None:
        if data and not self._mute:
            self._loop.call_at(self._next(), self.peer._take, data)

    def _next(self) -> float:
        """When the next thing arrives at the other end; no two at one moment, because the loop might swap them."""
        self._arrives = max(self._arrives + 1e-6, self._loop.time() + LATENCY)
        return self._arrives

    def _take(self, data: bytes) -> None:
        if self._lost or self._mute or self._machine.dead:
            return
        if self._protocol is None:
            self._early.append(data)
        else:
            self._protocol.data_received(data)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            if not self._mute:
                self._loop.call_at(self._next(), self.peer._end)
            self._loop.call_soon(self._gone, None)

    def abort(self) -> None:
        self._closing = True
        if not self._mute:
            self._loop.call_later(LATENCY, self.peer._gone, ConnectionResetError("the other end is gone"))
        self._loop.call_soon(self._gone, None)

    def break_off(self) -> None:
        """The connection is cut: both ends are told."""
        for end in (self, self.peer):
            end._closing = True
            self._loop.call_soon(end._gone, ConnectionResetError("the connection was cut"))

    def die(self, *, silently: bool) -> None:
        """The machine of this end is gone; the other end is told, or hears nothing any more."""
        self._closing = self._lost = True
        if silently:
            self._mute = self.peer._mute = True
        else:
            self._loop.call_later(LATENCY, self.peer._gone, ConnectionResetError("the other end is gone"))

    def _end(self) -> None:
        if not self._lost and not self._machine.dead and self._protocol is not None:
            self._protocol.eof_received()

    def _gone(self, error: Exception | None) -> None:
        self._closing = True
        if not self._lost:
            self._lost = True
            if self._protocol is not None:
                self._protocol.connection_lost(error)
