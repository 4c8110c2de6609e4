"""The side that is dialled: it lets in neighbours, each once and under its own name, and nobody else.

A caller is a stranger until TLS has seen its certificate and it has said hello, and has a few seconds for both. When
too many are at it at once, the one that has taken longest is sent away: a neighbour needs milliseconds, so a crowd of
callers that say nothing cannot keep it out. A neighbour that calls again replaces its earlier connection, which may
have died without a word.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass

from simnet.errors import LiveError
from simnet.live.certificates import agent_of
from simnet.live.connection import Connection, Limits, accept
from simnet.live.envelope import (
    GREETING_BYTES,
    HEAD_BYTES,
    Envelope,
    EnvelopeKind,
    Greeting,
    Identity,
    Reason,
    Refused,
)
from simnet.live.machine import Machine
from simnet.live.sequencing import PeerInbox
from simnet.live.socket_bytes import Sockets

_BREATHER = 0.1
"""Seconds to wait when the system has no more sockets to give."""


@dataclass(eq=False)
class Server:
    """Takes envelopes from the neighbours that `inboxes` names, and answers each.

    `hand_over` gets what each envelope holds, once and in order; `on_call` hears who has just introduced itself.
    Arrivals get a receipt; the acknowledgement waits for `confirm`. `greeting` and `on_greeting` are as a `Dialer` has
    them.
    """

    me: Identity
    inboxes: Mapping[int, PeerInbox]
    tls: ssl.SSLContext | None
    limits: Limits
    hand_over: Callable[[int, bytes], None]
    report: Callable[[int | None, Reason], None]
    on_call: Callable[[int], None]
    greeting: Callable[[int], Greeting]
    on_greeting: Callable[[int, Greeting], None]
    sockets: Sockets
    machine: Machine

    def __post_init__(self) -> None:
        self._strangers: dict[asyncio.Task[None], None] = {}
        self._neighbours: dict[int, tuple[asyncio.Task[None], Connection]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener: socket.socket | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        assert self._listener is not None
        host, port, *_ = self._listener.getsockname()
        return host, port

    async def open(self, host: str, port: int) -> None:
        """Bind, and let callers in."""
        try:
            self._listener = await self.machine.listen(host, port)
        except OSError as error:
            raise LiveError(
                f"agent {self.me.agent} cannot listen on {host}:{port} ({error.strerror}): "
                "give it an address of this machine and a free port"
            ) from None
        self._start(self._listen(self._listener))

    async def close(self) -> None:
        """Let nobody in any more, and say goodbye to those inside."""
        if self._listener is not None:
            self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def confirm(self, peer: int) -> None:
        """Tell a neighbour, if it is connected, what it may forget."""
        if peer in self._neighbours:
            _, connection = self._neighbours[peer]
            connection.write(self.me.say(EnvelopeKind.ACK, self.inboxes[peer].confirmed))

    async def _listen(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, _ = await loop.sock_accept(listener)
            except ConnectionError:
                continue
            except OSError:
                self._dismiss()
                await asyncio.sleep(_BREATHER)
                continue
            if len(self._strangers) >= self.limits.introductions:
                self._dismiss()
            self._strangers[self._start(self._meet(sock))] = None

    def _dismiss(self) -> None:
        oldest = next(iter(self._strangers), None)
        if oldest is not None:
            del self._strangers[oldest]
            oldest.cancel()
            self.report(None, Reason.CROWDED)

    async def _meet(self, sock: socket.socket) -> None:
        task = asyncio.current_task()
        assert task is not None
        peer: int | None = None
        connection: Connection | None = None
        try:
            try:
                async with asyncio.timeout(self.limits.introduction):
                    connection = await accept(sock, self.tls, self.sockets)
                    peer = self._identify(connection)
                    hello = await connection.receive(GREETING_BYTES, self.limits.introduction)
            except TimeoutError:
                raise Refused(Reason.SLOW, f"no hello after {self.limits.introduction} s") from None
            if hello is None:
                raise Refused(Reason.HANDSHAKE, "the connection ended before a hello")
            peer = self._admit(peer, hello)
            self._strangers.pop(task, None)
            try:
                self.inboxes[peer].greet(hello.incarnation)
            except Refused:
                # It was put back. A connection to its later process may look alive for ever, so nobody else tells it.
                self._say_hello(peer, connection)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.limits.introduction):
                        await connection.receive(0, self.limits.introduction)  # until it has read that and hangs up
                raise
            self.inboxes[peer].start(hello.sequence)
            await self._serve(peer, connection, task)
        except Refused as refused:
            self.report(peer, refused.reason)
            if connection is not None:
                connection.abort()
        except OSError:
            pass  # The neighbour is gone; it will call again.
        finally:
            if task in self._strangers:
                del self._strangers[task]
                if connection is not None:
                    connection.abort()
            if connection is not None:
                await connection.close()

    def _identify(self, connection: Connection) -> int | None:
        """The neighbour that the certificate names; without TLS nobody is named."""
        if self.tls is None:
            return None
        agent = agent_of(connection.certificate)
        if agent not in self.inboxes:
            raise Refused(Reason.STRANGER, f"agent {agent} of this deployment is no neighbour")
        return agent

    def _admit(self, peer: int | None, hello: Envelope) -> int:
        if peer is None:
            peer = hello.sender
            if peer not in self.inboxes:
                raise Refused(Reason.STRANGER, f"agent {peer} is no neighbour")
        self.me.expect(hello, peer, EnvelopeKind.HELLO)
        self.on_greeting(peer, Greeting.decode(hello.content))
        return peer

    def _say_hello(self, peer: int, connection: Connection) -> None:
        connection.write(self.me.say(EnvelopeKind.HELLO, self.inboxes[peer].received, self.greeting(peer).encode()))

    async def _serve(self, peer: int, connection: Connection, task: asyncio.Task[None]) -> None:
        if peer in self._neighbours:
            earlier, _ = self._neighbours[peer]
            earlier.cancel()
        self._neighbours[peer] = task, connection
        inbox = self.inboxes[peer]
        self._say_hello(peer, connection)
        connection.write(self.me.say(EnvelopeKind.ACK, inbox.confirmed))
        self.on_call(peer)
        try:
            most = HEAD_BYTES + self.limits.frame_bytes
            while (item := await connection.receive(most, self.limits.envelope)) is not None:
                self.me.expect(item, peer, EnvelopeKind.DATA)
                inbox.judge(item)
                self.hand_over(peer, item.content)
                inbox.take(item)
                connection.write(self.me.say(EnvelopeKind.RECEIPT, inbox.received))
                await connection.flush(self.limits.envelope)
        finally:
            if self._neighbours.get(peer, (None,))[0] is task:
                del self._neighbours[peer]

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
