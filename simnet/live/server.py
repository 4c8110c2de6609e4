"""Those who dial this agent: let in one by one, each neighbour once, under its own name.

A caller is a stranger until TLS has seen its certificate and it has said hello, and has a few seconds for both. When
too many are at it at once, the one that has taken longest is sent away: a neighbour needs milliseconds, so that a crowd
of callers that say nothing cannot keep it out. A neighbour that calls again replaces its earlier connection, which may
have died without a word.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine, Mapping

from simnet.errors import LiveError
from simnet.live.certificates import agent_of
from simnet.live.envelope import Envelope, Kind
from simnet.live.frame_inbox import Inbox
from simnet.live.identity import Speaker
from simnet.live.limits import Limits
from simnet.live.refusal import Reason, Refused
from simnet.live.stream import Stream, accept

_BREATHER = 0.1
"""Seconds to wait when the system has no more sockets to give."""


class Reception:
    """Takes envelopes from the neighbours that `inboxes` names, and answers each.

    `hand_over` gets what each envelope holds, once and in order; `on_call` hears who has just introduced itself. With
    `keep` arrivals get a receipt, and the acknowledgement waits for `confirm`.
    """

    def __init__(
        self,
        me: Speaker,
        inboxes: Mapping[int, Inbox],
        tls: ssl.SSLContext | None,
        limits: Limits,
        keep: bool,
        hand_over: Callable[[int, bytes], None],
        report: Callable[[int | None, Reason], None],
        on_call: Callable[[int], None],
    ) -> None:
        self._me = me
        self._inboxes = inboxes
        self._tls = tls
        self._limits = limits
        self._keep = keep
        self._hand_over = hand_over
        self._report = report
        self._on_call = on_call
        self._strangers: dict[asyncio.Task[None], None] = {}
        self._neighbours: dict[int, tuple[asyncio.Task[None], Stream]] = {}
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
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            family, _, _, _, address = found[0]
            self._listener = socket.create_server(address[:2], family=family, backlog=128)
        except OSError as error:
            raise LiveError(
                f"agent {self._me.agent} cannot listen on {host}:{port} ({error.strerror}): "
                "give it an address of this machine and a free port"
            ) from None
        self._listener.setblocking(False)
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
            _, stream = self._neighbours[peer]
            stream.write(self._me.say(Kind.ACK, self._inboxes[peer].confirmed))

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
            if len(self._strangers) >= self._limits.introductions:
                self._dismiss()
            self._strangers[self._start(self._meet(sock))] = None

    def _dismiss(self) -> None:
        oldest = next(iter(self._strangers), None)
        if oldest is not None:
            del self._strangers[oldest]
            oldest.cancel()
            self._report(None, Reason.CROWDED)

    async def _meet(self, sock: socket.socket) -> None:
        task = asyncio.current_task()
        assert task is not None
        peer: int | None = None
        stream: Stream | None = None
        try:
            try:
                async with asyncio.timeout(self._limits.introduction):
                    stream = await accept(sock, self._tls)
                    peer = self._identify(stream)
                    hello = await stream.receive(0, self._limits.introduction)
            except TimeoutError:
                raise Refused(Reason.SLOW, f"no hello after {self._limits.introduction} s") from None
            if hello is None:
                raise Refused(Reason.HANDSHAKE, "the connection ended before a hello")
            peer = self._admit(peer, hello)
            self._strangers.pop(task, None)
            await self._serve(peer, stream, task)
        except Refused as refused:
            self._report(peer, refused.reason)
            if stream is not None:
                stream.abort()
        except OSError:
            pass  # The neighbour is gone; it will call again.
        finally:
            if task in self._strangers:
                del self._strangers[task]
                if stream is not None:
                    stream.abort()
            if stream is not None:
                await stream.close()

    def _identify(self, stream: Stream) -> int | None:
        """The neighbour that the certificate names; without TLS nobody is named."""
        if self._tls is None:
            return None
        agent = agent_of(stream.certificate)
        if agent not in self._inboxes:
            raise Refused(Reason.STRANGER, f"agent {agent} of this deployment is no neighbour")
        return agent

    def _admit(self, peer: int | None, hello: Envelope) -> int:
        if peer is None:
            peer = hello.sender
            if peer not in self._inboxes:
                raise Refused(Reason.STRANGER, f"agent {peer} is no neighbour")
        self._me.expect(hello, peer, Kind.HELLO)
        inbox = self._inboxes[peer]
        inbox.greet(hello.incarnation)
        inbox.start(hello.sequence)
        return peer

    async def _serve(self, peer: int, stream: Stream, task: asyncio.Task[None]) -> None:
        if peer in self._neighbours:
            earlier, _ = self._neighbours[peer]
            earlier.cancel()
        self._neighbours[peer] = task, stream
        inbox = self._inboxes[peer]
        stream.write(self._me.say(Kind.HELLO, inbox.received))
        stream.write(self._me.say(Kind.ACK, inbox.confirmed))
        self._on_call(peer)
        try:
            while (item := await stream.receive(self._limits.frame_bytes, self._limits.envelope)) is not None:
                self._me.expect(item, peer, Kind.DATA)
                inbox.judge(item)
                self._hand_over(peer, item.content)
                inbox.take(item)
                if self._keep:
                    stream.write(self._me.say(Kind.RECEIPT, inbox.received))
                else:
                    inbox.confirm(*inbox.seen)
                    stream.write(self._me.say(Kind.ACK, inbox.confirmed))
                await stream.flush(self._limits.envelope)
        finally:
            if self._neighbours.get(peer, (None,))[0] is task:
                del self._neighbours[peer]

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
