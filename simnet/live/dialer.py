"""The side that dials: a connection to one peer, kept up and made again for as long as the agent lives.

Either agent of a pair dials the other, and frames travel only from the one that dialled; acknowledgements come back on
the same connection. So nobody has to agree on who calls, and what a connection carries has one sender.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from simnet.live.certificates import name_of
from simnet.live.connection import Connection, Limits, dial
from simnet.live.envelope import GREETING_BYTES, EnvelopeKind, Greeting, Identity, Reason, Refused
from simnet.live.sequencing import PeerInbox, PeerOutbox
from simnet.live.socket_bytes import Sockets


@dataclass(eq=False)
class Dialer:
    """Sends what is in `outbox` to `peer`.

    `inbox` knows the peer's latest incarnation. `addresses` is asked anew at each attempt. `on_state` hears when frames
    can leave and when they cannot. `greeting` says what is held of the peer. `on_greeting` hears what the peer holds
    before anything is sent to it, and whether it got more under this incarnation than this process has sent.
    """

    me: Identity
    peer: int
    addresses: Mapping[int, tuple[str, int]]
    tls: ssl.SSLContext | None
    inbox: PeerInbox
    limits: Limits
    report: Callable[[int, Reason], None]
    on_state: Callable[[int, bool], None]
    greeting: Callable[[int], Greeting]
    on_greeting: Callable[[int, Greeting, bool], None]
    sockets: Sockets

    def __post_init__(self) -> None:
        self.outbox = PeerOutbox(self.limits.window_bytes, self.limits.outbox_bytes)
        self._connection: Connection | None = None
        self._met = 0
        """The peer's incarnation on the present connection."""
        self._alarm: asyncio.TimerHandle | None = None
        self._roused = asyncio.Event()
        # Agents that lost each other at the same moment must not dial in step.
        self._chance = Random(f"{self.me.run.hex()}/{self.me.agent}/{self.me.incarnation}/{self.peer}")

    async def keep(self) -> None:
        """Dial, talk until the connection ends, rest, and dial again, until cancelled."""
        clock = asyncio.get_running_loop().time
        failures = 0
        while True:
            began = clock()
            try:
                await self._talk(await self._meet())
            except Refused as refused:
                self.report(self.peer, refused.reason)
            except OSError:
                pass  # Nobody there yet, or no longer: nothing to refuse.
            # A connection that is made and lost at once, again and again, is a failure as well.
            failures = 0 if clock() - began > self.limits.longest_pause else failures + 1
            await self._rest(failures)

    def push(self) -> None:
        """Write what may be written now."""
        if self._connection is None:
            return
        while (item := self.outbox.next()) is not None:
            self._connection.write(self.me.say(EnvelopeKind.DATA, *item))
        if self._alarm is None and self.outbox.unheard:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(self.limits.silence, self._connection.abort)

    def rouse(self) -> None:
        """The peer was heard just now: dial it without delay, and drop a connection to its earlier incarnation."""
        if self._connection is None:
            self._roused.set()
        elif self._met < self.inbox.incarnation:
            self._connection.abort()
            self._roused.set()

    async def _meet(self) -> Connection:
        async with asyncio.timeout(self.limits.introduction):
            connection = await dial(self.addresses[self.peer], self.tls, name_of(self.peer), self.sockets)
            try:
                held = self.greeting(self.peer).encode()
                connection.write(self.me.say(EnvelopeKind.HELLO, self.outbox.acknowledged, held))
                answer = await connection.receive(GREETING_BYTES, self.limits.introduction)
                if answer is None:
                    raise ConnectionResetError("the peer hung up before it said hello")
                self.me.expect(answer, self.peer, EnvelopeKind.HELLO)
                more = answer.sequence > self.outbox.last
                self.on_greeting(self.peer, Greeting.decode(answer.content), more)
                self.inbox.greet(answer.incarnation)
                self.outbox.resume(answer.sequence)
            except BaseException:
                connection.abort()
                raise
        self._met = answer.incarnation
        return connection

    async def _talk(self, connection: Connection) -> None:
        self._connection = connection
        self.on_state(self.peer, True)
        try:
            self.push()
            while (item := await connection.receive(0, self.limits.envelope)) is not None:
                self._stop_alarm()
                self.me.expect(item, self.peer, EnvelopeKind.ACK, EnvelopeKind.RECEIPT)
                if item.incarnation != self._met:
                    raise Refused(Reason.OUT_OF_DATE, f"incarnation {item.incarnation} answers, not {self._met}")
                if item.kind is EnvelopeKind.RECEIPT:
                    self.outbox.receipt(item.sequence)
                else:
                    self.outbox.acknowledge(item.sequence)
                self.push()
        except Refused:
            connection.abort()
            raise
        finally:
            self._connection = None
            self._stop_alarm()
            self.on_state(self.peer, False)
            await connection.close()

    async def _rest(self, failures: int) -> None:
        """Pause, longer after each failure.

        `rouse` ends the pause, but not before the shortest one is over: no peer sets our pace.
        """
        length = 0.5 + 0.5 * self._chance.random()
        longest = min(self.limits.longest_pause, self.limits.first_pause * 2.0 ** min(failures, 32))
        await asyncio.sleep(length * self.limits.first_pause)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(length * (longest - self.limits.first_pause)):
                await self._roused.wait()
        self._roused.clear()

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
