"""What an agent's sockets have carried, as the kernel counts it: frames in envelopes, in TLS, and what TCP sent again.

Linux tells it of every TCP connection (`TCP_INFO`, since 4.19). A system that does not tell it gets no number, rather
than a wrong one. The kernel counts what is inside TCP. Headers of IP and TCP are estimated from the segments that were
sent, acknowledgements without data included.

A process appends what its sockets have carried so far to a file in the agent's folder, at the end of each round and of
its life. Of each process the last line counts. What a process that is killed carried after its last round is missing.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import Struct

import msgspec

_TCP_INFO: int | None = getattr(socket, "TCP_INFO", None)
_OPTIONS, _RECEIVED, _SEGMENTS, _SENT = 5, 128, 136, 200
"""Places in the kernel's `struct tcp_info`."""
_TIMESTAMPS = 1
_WHOLE = _SENT + 8
_U32, _U64 = Struct("=I"), Struct("=Q")

FILE = "sockets"


class Carried(msgspec.Struct, frozen=True):
    """Bytes inside TCP, and the segments in which they left."""

    sent: int = 0
    received: int = 0
    segments: int = 0
    """segments sent, acknowledgements without data included"""
    headers: int = 0
    """bytes of IP and TCP headers that these segments had, estimated"""

    def __add__(self, other: Carried) -> Carried:
        return Carried(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


def carried(sock: socket.socket) -> Carried | None:
    """What a TCP socket has carried; None if it is closed, or the system does not tell."""
    if _TCP_INFO is None:
        return None
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 512)
    except OSError:
        return None
    if len(info) < _WHOLE:
        return None
    (sent,), (received,) = _U64.unpack_from(info, _SENT), _U64.unpack_from(info, _RECEIVED)
    (segments,) = _U32.unpack_from(info, _SEGMENTS)
    network = 40 if sock.family == socket.AF_INET6 else 20
    transport = 32 if info[_OPTIONS] & _TIMESTAMPS else 20
    return Carried(sent, received, segments, segments * (network + transport))


class Sockets:
    """All sockets of one process, open and closed."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[socket.socket, Carried]] = {}
        self._closed = Carried()
        self._told = True
        """Whether the kernel has told of every socket."""

    def opened(self, which: int, sock: socket.socket) -> None:
        """A connection has been made, known by a number of its own while it is open."""
        found = carried(sock)
        self._told &= found is not None
        self._open[which] = sock, found or Carried()

    def closing(self, which: int) -> None:
        """A connection is about to end, or has: what was last known of it counts."""
        if which in self._open:
            sock, before = self._open.pop(which)
            self._closed += carried(sock) or before

    @property
    def total(self) -> Carried | None:
        """What all of them have carried; None if the system does not tell."""
        self._open = {which: (sock, carried(sock) or before) for which, (sock, before) in self._open.items()}
        total = self._closed
        for _, found in self._open.values():
            total += found
        return total if self._told else None


class _Line(msgspec.Struct):
    incarnation: int
    carried: Carried


def note(folder: Path, incarnation: int, total: Carried | None) -> None:
    """Append what one process has carried so far; an agent does not stop because it cannot."""
    if total is not None:
        with suppress(OSError), (folder / FILE).open("ab") as file:
            # The newline comes first: what stands before it may have been torn.
            file.write(b"\n" + msgspec.json.encode(_Line(incarnation, total)))


def noted(folder: Path) -> Carried | None:
    """What all processes of an agent have carried; None if none of them was told."""
    if not (folder / FILE).exists():
        return None
    last = {line.incarnation: line.carried for line in _lines(folder / FILE)}
    return sum(last.values(), Carried()) if last else None


def _lines(path: Path) -> Iterator[_Line]:
    for raw in path.read_bytes().splitlines():
        try:
            yield msgspec.json.decode(raw, type=_Line)
        except msgspec.DecodeError:
            continue  # torn by a crash
