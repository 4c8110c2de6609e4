"""Agents' channels on loopback, with what each got and refused, and a way to wait for it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from simnet.live import certificates
from simnet.live.chain import ORIGIN
from simnet.live.channel import Channel
from simnet.live.connection import Connection, Limits
from simnet.live.envelope import GREETING_BYTES, Envelope, EnvelopeKind, Greeting, encode, run_id
from simnet.network import frame

HOST = "127.0.0.1"
NOWHERE = (HOST, 1)
"""An address where nobody listens."""
RUN = "a run"
PATIENCE = 60.0
"""How long a test waits for what must come; only a broken channel makes it wait so long."""


def value(sender: int, round: int, payload: bytes = b"model") -> bytes:
    return frame.encode(frame.Kind.VALUE, sender=sender, round=round, payload=payload)


def hello(
    sender: int, *, incarnation: int = 1, sequence: int = 0, run: str = RUN, held: Greeting | None = None
) -> bytes:
    content = (held or Greeting()).encode()
    return encode(Envelope(EnvelopeKind.HELLO, run_id(run), sender, incarnation, sequence, content))


def data(
    sender: int, sequence: int, *, incarnation: int = 1, run: str = RUN, content: bytes | None = None, round: int = 0
) -> bytes:
    content = ORIGIN + (value(sender, round) if content is None else content)
    return encode(Envelope(EnvelopeKind.DATA, run_id(run), sender, incarnation, sequence, content))


class Party:
    """One agent's channel. `peers` can be filled after it was made; unless `keep`, whatever came is safe at once."""

    def __init__(
        self, folder: Path | None, me: int, peers: dict[int, tuple[str, int]], *, run: str = RUN, incarnation: int = 1,
        listen: tuple[str, int] = (HOST, 0), on_frame: Callable[[int, bytes], None] | None = None, keep: bool = False,
        limits: Limits | None = None
    ) -> None:  # fmt: skip
        self.me = me
        self.peers = peers
        self.got: list[tuple[int, int]] = []
        """Sender and round of each frame that came."""
        self.refused: list[tuple[int | None, str]] = []
        self.states: list[tuple[int, bool]] = []
        self.overflowed: list[int] = []
        self._on_frame = on_frame
        self._keep = keep
        self._news = asyncio.Event()
        self.channel = Channel(
            me,
            listen,
            peers,
            certificates.load(folder, me) if folder is not None else None,
            run,
            incarnation,
            self._take,
            self._note(lambda peer, reason: self.refused.append((peer, reason))),
            self._note(lambda peer, up: self.states.append((peer, up))),
            lambda _, old: self.overflowed.append(frame.decode(old).round),
            limits or Limits(),
        )

    def _note(self, append: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def note(first: Any, second: Any) -> None:
            append(first, second)
            self._news.set()

        return note

    def _take(self, peer: int, raw: bytes, head: bytes) -> None:
        if self._on_frame is not None:
            self._on_frame(peer, raw)
        self.got.append((peer, frame.decode(raw).round))
        self._news.set()
        if not self._keep:
            asyncio.get_running_loop().call_soon(lambda: self.channel.confirm(self.channel.seen))

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait until `ready` holds, looked at whenever something happened here."""
        async with asyncio.timeout(PATIENCE):
            while not ready():
                self._news.clear()
                await self._news.wait()

    async def has(self, *got: tuple[int, int]) -> None:
        """Wait until this came: exactly this, in this order."""
        await self.until(lambda: len(self.got) >= len(got))
        assert self.got == list(got)

    async def refuses(self, reason: str, count: int = 1) -> None:
        await self.until(lambda: self.channel.refusals.get(reason, 0) >= count)

    async def is_rid_of_all(self) -> None:
        """Wait until everything that was sent has been acknowledged."""
        async with asyncio.timeout(PATIENCE):
            while any(self.channel.pending.values()):
                await asyncio.sleep(0.005)

    def send(self, peer: int, *rounds: int) -> None:
        for round in rounds:
            self.channel.send(peer, value(self.me, round), ORIGIN)


@asynccontextmanager
async def running(*parties: Party) -> AsyncIterator[None]:
    """Start them, tell each where the others are, and close them at the end."""
    try:
        for party in parties:
            await party.channel.start()
        for party in parties:
            for other in parties:
                if party.peers.get(other.me) == NOWHERE:
                    party.peers[other.me] = other.channel.address
        yield
    finally:
        for party in parties:
            await party.channel.close()


def pair(folder: Path | None, **options: Any) -> tuple[Party, Party]:
    """Agents 0 and 1, neighbours."""
    return Party(folder, 0, {1: NOWHERE}, **options), Party(folder, 1, {0: NOWHERE}, **options)


class Caller:
    """A client of our own that can say anything."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def dial(cls, address: tuple[str, int], tls: ssl.SSLContext | None, name: str | None = None) -> Caller:
        return cls(*await asyncio.open_connection(*address, ssl=tls, server_hostname=name if tls else None))

    def say(self, *pieces: bytes) -> None:
        self.writer.write(b"".join(pieces))

    async def hear(self, limit: int = GREETING_BYTES) -> Envelope:
        """The next envelope, with at most so many bytes of content."""
        async with asyncio.timeout(PATIENCE):
            item = await Connection(self.reader, self.writer).receive(limit, PATIENCE)
        assert item is not None
        return item

    async def hears_the_end(self) -> bytes:
        """What still came before the connection ended."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await self.reader.read()
        except (ConnectionError, ssl.SSLError):
            return b""

    def hang_up(self) -> None:
        self.writer.transport.abort()


async def caller(party: Party, folder: Path, agent: int) -> Caller:
    """A client with an agent's own certificate."""
    tls = certificates.load(folder, agent).client()
    return await Caller.dial(party.channel.address, tls, certificates.name_of(party.me))


class Proxy:
    """A TCP relay that cuts its k-th connection after `budgets[k]` bytes towards `target`; later ones stay."""

    def __init__(self, target: Callable[[], tuple[str, int]], budgets: list[int]) -> None:
        self._target = target
        self._budgets = iter(budgets)
        self.cuts = 0
        self.writers: list[asyncio.StreamWriter] = []

    async def start(self) -> tuple[str, int]:
        self._server = await asyncio.start_server(self._relay, HOST, 0)
        host, port = self._server.sockets[0].getsockname()
        return host, port

    async def close(self) -> None:
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """Cut all connections now."""
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        budget = next(self._budgets, None)
        far_reader, far_writer = await asyncio.open_connection(*self._target())
        self.writers += [writer, far_writer]
        back = asyncio.create_task(_copy(far_reader, writer, None))
        if await _copy(reader, far_writer, budget):
            self.cuts += 1
        for end in (writer, far_writer):
            end.transport.abort()
        await back


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, budget: int | None) -> bool:
    """Copy until the end, or until the budget is used up; whether it was."""
    try:
        while budget is None or budget > 0:
            piece = await reader.read(1 << 16 if budget is None else min(budget, 1 << 16))
            if not piece:
                return False
            writer.write(piece)
            await writer.drain()
            budget = None if budget is None else budget - len(piece)
    except (ConnectionError, asyncio.IncompleteReadError):
        return False
    return True


def run(story: Callable[[], Awaitable[None]]) -> None:
    """Run a test's story."""

    async def tell() -> None:
        await story()

    asyncio.run(tell())


QUICK = Limits(first_pause=0.01, longest_pause=0.1)


def counts(party: Party) -> Mapping[str, int]:
    return dict(party.channel.refusals)
