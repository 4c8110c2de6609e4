"""A channel that stations share: who hears whom, half duplex, and collisions.

The rules.

Hearing.    A transmission is heard by every station in range of its sender, from its first bit to its last. How long a
            signal travels is left out here: it is microseconds at most, and the links' latency delays what arrives.
Collisions. Of two transmissions that overlap at a station that hears both, both are lost there, however strong they
            are: there is no capture effect. Elsewhere each may be received. What ends when another begins does not
            overlap it.
Half duplex. A station that sends receives nothing meanwhile.
The stations decide when to send (`simnet.sim.stations`). The air tells them when it becomes busy and idle where they
            are, and how what they heard has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from simnet.sim.stations import Station

TOUCH = 1e-9
"""Seconds by which two transmissions may overlap by rounding."""


class AirClock(Protocol):
    """What the air needs of an engine."""

    @property
    def now(self) -> float: ...

    def at(self, time: float, then: Callable[[], None], /) -> None:
        """Call `then` at a point in time."""


class Use:
    """What one transmission made of the channel, for the record."""

    __slots__ = ("airtime", "busy", "heard", "sender")

    def __init__(self, sender: int, airtime: float, heard: float, busy: float) -> None:
        self.sender = sender
        self.airtime = airtime
        self.heard = heard
        """seconds that all stations together have listened since the end of the last transmission that was heard"""
        self.busy = busy
        """seconds for which somebody was sending without a pause, told with the transmission that ends it"""


class Transmission:
    """A frame on the air; `reserved` is how long after it the channel belongs to the answer."""

    __slots__ = ("end", "reserved", "sender", "spoiled", "start", "target", "then", "unheard")

    def __init__(
        self,
        sender: int,
        start: float,
        end: float,
        then: Callable[[Transmission], None],
        target: int | None,
        reserved: float,
    ) -> None:
        self.sender, self.start, self.end, self.then = sender, start, end, then
        self.target = target
        """the only station that it is for; None: it is for all"""
        self.reserved = reserved
        self.spoiled: set[int] = set()
        """where it cannot be received"""
        self.unheard: set[int] = set()
        """who sent meanwhile, and did not even hear it"""

    def overlaps(self, now: float) -> bool:
        """Whether it goes on."""
        return self.end > now + TOUCH


class _Ear:
    """What a station hears and sends at the moment, and since when it has listened to something."""

    __slots__ = ("heard", "sending", "since")

    def __init__(self) -> None:
        self.heard: list[Transmission] = []
        self.sending: Transmission | None = None
        self.since: float | None = None


class Air:
    """The channel. `hears[i]` are the stations in range of station i; `tell` is told of every use of the channel."""

    def __init__(self, clock: AirClock, hears: Sequence[Sequence[int]], tell: Callable[[Use], None]) -> None:
        self.clock = clock
        self.stations: list[Station] = []
        self._hears = hears
        self._tell = tell
        self._ears = [_Ear() for _ in hears]
        self._active = 0
        self._busy_since = 0.0
        self._listened = 0.0

    def busy(self, station: int) -> bool:
        """Whether a station hears something, or sends itself."""
        ear = self._ears[station]
        return ear.sending is not None or bool(ear.heard)

    def sending(self, station: int) -> bool:
        """Whether a station sends."""
        return self._ears[station].sending is not None

    def heard_since(self, station: int) -> float:
        """Since when a station has heard something without a pause; infinite if it hears nothing."""
        since = self._ears[station].since
        return inf if since is None else since

    def begin(
        self,
        sender: int,
        seconds: float,
        then: Callable[[Transmission], None],
        target: int | None = None,
        reserved: float = 0.0,
    ) -> None:
        """A station begins to send, now; `then` is called with the transmission when it is over."""
        now = self.clock.now
        sent = Transmission(sender, now, now + seconds, then, target, reserved)
        ear = self._ears[sender]
        for other in ear.heard:
            if other.overlaps(now):
                other.spoiled.add(sender)
                other.unheard.add(sender)
        self._stop_listening(ear, now)
        ear.sending = sent
        if not self._active:
            self._busy_since = now
        self._active += 1
        for station in self._hears[sender]:
            self._reach(station, sent, now)
        self.clock.at(sent.end, lambda: self._finish(sent))

    def _reach(self, station: int, sent: Transmission, now: float) -> None:
        """The first bit of a transmission reaches a station."""
        ear = self._ears[station]
        if ear.sending is not None and ear.sending.overlaps(now):
            sent.spoiled.add(station)
            sent.unheard.add(station)
        for other in ear.heard:
            if other.overlaps(now):
                other.spoiled.add(station)
                sent.spoiled.add(station)
        ear.heard.append(sent)
        if ear.sending is None and ear.since is None:
            ear.since = now
            self.stations[station].grew_busy()

    def _finish(self, sent: Transmission) -> None:
        now, hearers = self.clock.now, self._hears[sent.sender]
        own = self._ears[sent.sender]
        own.sending = None
        if own.heard:
            own.since = now
        for station in hearers:
            ear = self._ears[station]
            ear.heard.remove(sent)
            if not ear.heard:
                self._stop_listening(ear, now)
        self._active -= 1
        busy = 0.0 if self._active else now - self._busy_since
        heard, self._listened = self._listened, 0.0
        self._tell(Use(sent.sender, sent.end - sent.start, heard, busy))
        for station in hearers:
            self.stations[station].overheard(sent, station not in sent.spoiled)
        sent.then(sent)
        for station in hearers:
            if not self.busy(station):
                self.stations[station].grew_idle()

    def _stop_listening(self, ear: _Ear, now: float) -> None:
        if ear.since is not None:
            self._listened += now - ear.since
            ear.since = None
