"""The channel: frames between one agent and its neighbours, each once and in order, from nobody else.

Over TCP with mutual TLS 1.3 (`certificates`). An agent listens (`server`) and dials each neighbour (`dialer`). A frame
is numbered, kept until the neighbour's channel has acknowledged it, and written again after a reconnection; the
neighbour lets in each number once (`sequencing`). A frame is acknowledged when `confirm` is called with what `seen` was
when all of it was safe. Whatever else arrives is refused, counted and reported. That costs its sender the connection,
never the agent its life.

A failure of the agent itself is another matter. What a callback raises, save a `FrameError` about a frame, means that
the agent cannot go on: the frame at hand counts as not received, no other is handed over, the task that started the
channel is cancelled, and `close` raises what went wrong.

A process that restarts comes back with a higher `incarnation`. What neighbours sent and it had not confirmed comes
again. What was `pending`, if the checkpoint has it, is for the new process to `send` under new numbers. Whoever gets a
frame twice tells by sender and round.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address

from simnet.diagnostics import milestone, tell, warn
from simnet.errors import FrameError, LiveError
from simnet.live.certificates import Certificates
from simnet.live.connection import Limits
from simnet.live.dialer import Dialer
from simnet.live.envelope import HEAD_BYTES, Greeting, Identity, Reason, Refused, run_id
from simnet.live.machine import HERE, Machine
from simnet.live.sequencing import PeerInbox
from simnet.live.server import Server
from simnet.live.socket_bytes import Sockets
from simnet.network import frame


@dataclass(eq=False)
class Channel:
    """One agent's channel to its neighbours, inside a running event loop.

    `peers` says where each neighbour listens; it is looked up at every attempt to dial. `tls=None` is for loopback
    only. `on_frame(peer, frame, head)` gets each frame, with the head of its sender's chain (`simnet.live.chain`); a
    `FrameError` that it raises refuses the frame. `on_refusal(peer, reason)` hears of all that was refused, with the
    neighbour if it is known who it was. `on_state(peer, up)` hears whether frames can leave for a
    neighbour. `on_overflow(peer, frame)` gets each frame that had to be dropped, unsent, because too many were waiting
    for a neighbour (`Limits.outbox_bytes`). `greeting(peer, incarnation)` says what a neighbour is told when a
    connection begins. `on_greeting(peer, greeting)` hears what a neighbour told, before anything is sent to it.
    """

    me: int
    listen: tuple[str, int]
    peers: Mapping[int, tuple[str, int]]
    tls: Certificates | None
    run: str
    incarnation: int
    on_frame: Callable[[int, bytes, bytes], None]
    on_refusal: Callable[[int | None, str], None]
    on_state: Callable[[int, bool], None]
    on_overflow: Callable[[int, bytes], None]
    limits: Limits = field(default_factory=Limits)
    greeting: Callable[[int, int], Greeting] = lambda peer, incarnation: Greeting(incarnation)
    on_greeting: Callable[[int, Greeting], None] = lambda peer, said: None
    machine: Machine = HERE

    def __post_init__(self) -> None:
        exposed = next((host for host, _ in (self.listen, *self.peers.values()) if not _is_loopback(host)), None)
        if self.tls is None and exposed is not None:
            raise LiveError(
                f"agent {self.me} would speak without TLS at {exposed}: only loopback goes without, "
                "make certificates with `simnet live init`"
            )
        self.refusals: Counter[str] = Counter()
        """How often something was refused, by reason (`simnet.live.envelope`)."""
        self.sockets = Sockets()
        self._inboxes = {peer: PeerInbox() for peer in self.peers}
        identity = Identity(run_id(self.run), self.me, self.incarnation)
        client, server = (self.tls.client(), self.tls.server()) if self.tls is not None else (None, None)
        self._dialers = {
            peer: Dialer(
                identity,
                peer,
                self.peers,
                client,
                inbox,
                self.limits,
                self._refuse,
                self._changed,
                self._greeting,
                self._greeted,
                self.sockets,
            )
            for peer, inbox in self._inboxes.items()
        }
        self._server = Server(
            identity,
            self._inboxes,
            server,
            self.limits,
            self._hand_over,
            self._refuse,
            lambda peer: self._dialers[peer].rouse(),
            self._greeting,
            self._greeted,
            self.sockets,
            self.machine,
        )
        self._dialling: list[asyncio.Task[None]] = []
        self._owner: asyncio.Task[object] | None = None
        self._failure: BaseException | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Where the channel listens, once it has started; port 0 has become a real one."""
        return self._server.address

    @property
    def seen(self) -> dict[int, tuple[int, int]]:
        """What has been taken from each neighbour: its incarnation and its last number."""
        return {peer: inbox.seen for peer, inbox in self._inboxes.items()}

    @property
    def pending(self) -> dict[int, tuple[bytes, ...]]:
        """The frames that each neighbour has not acknowledged, in order."""
        return {
            peer: tuple(content[HEAD_BYTES:] for content in dialer.outbox.pending)
            for peer, dialer in self._dialers.items()
        }

    async def start(self) -> None:
        """Listen, and dial the neighbours in the background."""
        self._owner = asyncio.current_task()
        await self._server.open(*self.listen)
        self._dialling = [asyncio.create_task(dialer.keep()) for dialer in self._dialers.values()]
        for task in self._dialling:
            task.add_done_callback(self._stopped)

    def send(self, peer: int, frame: bytes, head: bytes) -> None:
        """Queue a frame for a neighbour, with the head of its round; frames arrive in the order of their sending."""
        if len(frame) > self.limits.frame_bytes:
            raise FrameError(
                f"a frame of {len(frame)} bytes is too long for the channel: {self.limits.frame_bytes} at most"
            )
        dialer = self._dialers[peer]
        dropped = dialer.outbox.put(head + frame)
        dialer.push()
        for old in dropped:
            self.on_overflow(peer, old[HEAD_BYTES:])

    def confirm(self, seen: Mapping[int, tuple[int, int]]) -> None:
        """What `seen` was when a checkpoint was made is safe: neighbours may forget it."""
        for peer, (incarnation, sequence) in seen.items():
            if self._inboxes[peer].confirm(incarnation, sequence):
                self._server.confirm(peer)

    async def close(self) -> None:
        """End all connections; what was not acknowledged is not sent any more. Raises what made the agent fail."""
        self._owner = None
        for task in self._dialling:
            task.cancel()
        await asyncio.gather(self._server.close(), *self._dialling, return_exceptions=True)
        if self._failure is not None:
            raise self._failure

    def _hand_over(self, peer: int, content: bytes) -> None:
        """A frame in an envelope in order: it counts as taken, for if it is no good another copy would be no better."""
        head, raw = content[:HEAD_BYTES], content[HEAD_BYTES:]
        try:
            sender = frame.decode(raw).sender
            if sender != peer:
                raise Refused(Reason.IMPOSTOR, f"agent {peer} sent a frame of agent {sender}")
            self._tell(self.on_frame, peer, raw, head)
        except Refused as refused:
            self._refuse(peer, refused.reason)
        except FrameError:
            self._refuse(peer, Reason.UNUSABLE)

    def _greeting(self, peer: int) -> Greeting:
        return self.greeting(peer, self._inboxes[peer].incarnation)

    def _greeted(self, peer: int, said: Greeting, more: bool = False) -> None:
        """What a neighbour holds of this agent; `more` than this process has sent under its incarnation."""
        if more and said.incarnation == self.incarnation:
            said = replace(said, incarnation=said.incarnation + 1)  # an earlier process had the same number
        self._tell(self.on_greeting, peer, said)

    def _refuse(self, peer: int | None, reason: Reason) -> None:
        self.refusals[reason.value] += 1
        count = self.refusals[reason.value]
        if milestone(count):
            warn("refused", agent=self.me, peer=peer, reason=reason.value, count=count)
        self._tell(self.on_refusal, peer, reason.value)

    def _changed(self, peer: int, up: bool) -> None:
        tell("connected" if up else "disconnected", agent=self.me, peer=peer)
        if self._failure is None:  # what `_tell` raises after a failure would hide that the dialler was cancelled
            self._tell(self.on_state, peer, up)

    def _tell(self, callback: Callable[..., None], *news: object) -> None:
        """Call back; a failure there ends the connection that brought the news, and the agent."""
        if self._failure is not None:
            raise ConnectionAbortedError("the agent has failed")
        try:
            callback(*news)
        except FrameError:
            raise
        except Exception as error:
            self._fail(error)
            raise ConnectionAbortedError("the agent has failed") from error

    def _stopped(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
            if self._owner is not None:
                self._owner.cancel()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
