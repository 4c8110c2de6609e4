"""When a station sends: by a rule of its own (TDMA, ALOHA), or by listening first (CSMA/CA, the DCF of IEEE 802.11).

Every station has one queue, and its frames wait for each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import floor, inf
from typing import Literal, cast

from simnet.sim.air import Air, Transmission

_ROUNDING = 1e-6
"""Of a slot: what floating point may be wrong by when slots are counted."""


End = Literal["retries", "sender-down"]
"""Why a job ends before all of it has been sent: no acknowledgement came, or its station's host went down."""


class Job:
    """What a station has to send: `frames` with so many bytes on the air each, one after another, to `targets`.

    With `acknowledged` there is one target, which answers.
    """

    def __init__(self, targets: tuple[int, ...], frames: list[int], *, acknowledged: bool = False) -> None:
        self.targets = targets
        self.frames = deque(frames)
        self.acknowledged = acknowledged

    def sent(self, attempt: int, size: int) -> None:
        """A frame leaves, for the `attempt`-th time."""

    def received(self, target: int) -> bool:
        """A frame reached a target undisturbed; False if it is lost all the same."""
        return True

    def missed(self, target: int) -> None:
        """A frame was lost at a target by a collision, or its station gave it up."""

    def over(self, why: End | None) -> None:
        """Nothing of it will be sent any more: all of it was, or why not."""


class Station:
    """One queue of jobs and its place on the air. `limit` is how many jobs may wait behind the one being sent."""

    def __init__(self, air: Air, agent: int, seconds: Callable[[int], float], limit: int | None) -> None:
        self._air, self._agent, self._seconds = air, agent, seconds
        self._limit = inf if limit is None else limit
        self._queue: deque[Job] = deque()
        self._turn = 0
        """Which of its plans to send counts: the others are out of date."""
        self._broken = False
        """Its host went down while the first job was on the air, and nothing follows the frame that was."""

    @property
    def full(self) -> bool:
        """Whether too many wait for one more."""
        return len(self._queue) > self._limit

    def offer(self, job: Job) -> None:
        """Take a job; not for a station that is full."""
        self._queue.append(job)
        if len(self._queue) == 1:
            self._begin_job(fresh=True)

    def _begin_job(self, *, fresh: bool) -> None:
        """The first job of the queue is next; `fresh` if the station had nothing to send before."""
        raise NotImplementedError

    @property
    def _on_air(self) -> bool:
        """Whether a frame of the first job is being sent."""
        return self._air.sending(self._agent)

    def halt(self) -> None:
        """The host went down: what waits here is lost. A frame on the air is finished, and nothing follows it."""
        kept = 1 if self._queue and self._on_air else 0
        self._broken = bool(kept)
        self._turn += 1
        lost = [self._queue.pop() for _ in range(len(self._queue) - kept)]
        for job in reversed(lost):
            job.over("sender-down")

    def _plan_to_send(self, time: float) -> None:
        """Send at a point in time, unless another plan is made before."""
        self._turn += 1
        turn = self._turn
        self._air.clock.at(time, lambda: self._send() if turn == self._turn else None)

    def _send(self) -> None:
        """Begin to send the next frame of the first job."""
        raise NotImplementedError

    def _next_frame(self, *, given_up: bool = False) -> None:
        """A frame of the first job is done with, or the whole job is given up."""
        job = self._queue[0]
        job.frames.popleft()
        why: End | None = "retries" if given_up else None
        if self._broken and (given_up or job.frames):
            why = "sender-down"
        if why or not job.frames:
            self._broken = False
            self._queue.popleft()
            job.over(why)

    def grew_busy(self) -> None:
        """Somebody in range begins to send; nobody did before, and this station is silent."""

    def grew_idle(self) -> None:
        """Nobody in range sends any more."""

    def overheard(self, sent: Transmission, intact: bool) -> None:
        """A transmission in range is over."""


def hand_over(job: Job, sent: Transmission) -> None:
    """Tell a job whom a transmission without acknowledgement has reached."""
    for target in job.targets:
        if target in sent.spoiled:
            job.missed(target)
        else:
            job.received(target)


class DeafStation(Station):
    """Sends at times that a rule gives, whatever it hears: `opening(now, seconds)` is the next time for a frame.

    After a transmission of `a` seconds it is silent for a·(1/duty − 1).
    """

    def __init__(
        self,
        air: Air,
        agent: int,
        seconds: Callable[[int], float],
        limit: int | None,
        opening: Callable[[float, float], float],
        duty: float = 1.0,
    ) -> None:
        super().__init__(air, agent, seconds, limit)
        self._opening, self._duty = opening, duty
        self._silent_until = 0.0

    def _begin_job(self, *, fresh: bool) -> None:
        clock = self._air.clock
        now = max(clock.now, self._silent_until)
        self._plan_to_send(self._opening(now, self._seconds(self._queue[0].frames[0])))

    def _send(self) -> None:
        job = self._queue[0]
        size = job.frames[0]
        seconds = self._seconds(size)
        self._silent_until = self._air.clock.now + seconds / self._duty
        job.sent(1, size)
        self._air.begin(self._agent, seconds, self._sent)

    def _sent(self, sent: Transmission) -> None:
        hand_over(self._queue[0], sent)
        self._next_frame()
        if self._queue:
            self._begin_job(fresh=False)


def at_once(now: float, seconds: float) -> float:
    """Pure ALOHA."""
    return now


def at_slots(slot: float) -> Callable[[float, float], float]:
    """Slotted ALOHA: at the next boundary of a slot."""

    def opening(now: float, seconds: float) -> float:
        return slot * -floor(_ROUNDING - now / slot)

    return opening


def in_turn(slot: float, place: int, places: int) -> Callable[[float, float], float]:
    """TDMA: in slots number place, place + places, … , from which no frame may reach into the next."""

    def opening(now: float, seconds: float) -> float:
        number = floor(now / slot + _ROUNDING)
        if number % places == place and now + seconds <= (number + 1 + _ROUNDING) * slot:
            return now
        number += 1 + (place - number - 1) % places
        return number * slot

    return opening


@dataclass(frozen=True)
class Dcf:
    """The times and windows of the distributed coordination function."""

    slot: float
    sifs: float
    difs: float
    preamble: float
    """until a receiver knows that a frame comes"""
    acknowledgement: float
    """seconds on the air"""
    sensing: float
    """until a station notices that another has begun"""
    smallest: int
    largest: int
    attempts: int

    @property
    def eifs(self) -> float:
        """The pause after a frame that was heard and not understood: it may have been answered."""
        return self.sifs + self.acknowledgement + self.difs

    @property
    def patience(self) -> float:
        """How long the answer to a frame is waited for."""
        return self.sifs + self.slot + self.preamble


class DcfStation(Station):
    """CSMA/CA as in IEEE 802.11-2016, clause 10.3.4, basic access.

    A frame that finds the channel idle for DIFS leaves at once; what others began within the last moments (`sensing`)
    is not noticed yet, and the two collide. Otherwise, and after every transmission, the station
    draws a number of slots from its window, counts the idle ones, stands still while the channel is busy, and
    sends at 0. The count begins DIFS after the channel grew idle, EIFS after a frame that could not be understood.
    Who hears a frame that is for another leaves the channel to its acknowledgement. Without an acknowledgement a frame
    is sent again, its window doubled, until it has been sent `attempts` times. A frame for all is sent once.
    """

    def __init__(
        self,
        air: Air,
        agent: int,
        seconds: Callable[[int], float],
        limit: int | None,
        rules: Dcf,
        uniforms: Iterator[float],
    ) -> None:
        super().__init__(air, agent, seconds, limit)
        self._rules, self._uniforms = rules, uniforms
        self._window = rules.smallest
        self._slots = 0
        self._attempt = 0
        self._waiting = False
        """A frame is on the air, or its acknowledgement is waited for."""
        self._plan = inf
        """When it will send if nothing happens."""
        # From when on slots count: after what was heard, after what it sent, after what others reserved.
        self._after_heard = self._after_sent = self._after_reserved = 0.0

    @property
    def _ready(self) -> float:
        return max(self._after_heard, self._after_sent, self._after_reserved)

    @property
    def _on_air(self) -> bool:
        return self._waiting

    def halt(self) -> None:
        super().halt()
        if not self._waiting:
            self._window, self._attempt, self._plan = self._rules.smallest, 0, inf

    def _begin_job(self, *, fresh: bool) -> None:
        if fresh and not self._slots and self._senses(self._air.clock.now):
            self._slots = self._drawn()
        self._contend()

    def _senses(self, time: float) -> bool:
        """Whether what is on the air now will have been noticed at some time."""
        noticed = self._air.heard_since(self._agent) + self._rules.sensing
        return time >= noticed or self._air.sending(self._agent)

    def _drawn(self) -> int:
        return int(next(self._uniforms) * (self._window + 1))

    def _contend(self) -> None:
        """Plan to send, unless there is nothing, or the channel will be busy: then `grew_idle` comes back to it."""
        self._turn += 1
        self._plan = inf
        time = max(self._air.clock.now, self._ready + self._slots * self._rules.slot)
        if not self._waiting and self._queue and not self._senses(time):
            self._plan = time
            self._plan_to_send(time)

    def grew_busy(self) -> None:
        if self._plan - self._air.clock.now >= self._rules.sensing:  # otherwise it is too late to notice
            self._freeze()

    def _freeze(self) -> None:
        """Stand still: idle slots that have passed are counted, the others wait."""
        passed = floor((self._air.clock.now - self._ready) / self._rules.slot + _ROUNDING)
        self._slots = max(0, self._slots - max(0, passed))
        self._turn += 1
        self._plan = inf

    def grew_idle(self) -> None:
        self._contend()

    def overheard(self, sent: Transmission, intact: bool) -> None:
        now, rules = self._air.clock.now, self._rules
        if self._agent in sent.unheard:
            self._after_heard = max(self._after_heard, now + rules.difs)
            return
        self._after_heard = now + (rules.difs if intact else rules.eifs)
        if intact and sent.reserved and sent.target != self._agent:
            self._after_reserved = max(self._after_reserved, now + sent.reserved + rules.difs)

    def _send(self) -> None:
        job = self._queue[0]
        self._plan, self._slots = inf, 0
        self._attempt += 1
        self._waiting = True
        job.sent(self._attempt, job.frames[0])
        seconds, rules = self._seconds(job.frames[0]), self._rules
        if job.acknowledged:
            reserved = rules.sifs + rules.acknowledgement
            self._air.begin(self._agent, seconds, self._await_answer, job.targets[0], reserved)
        else:
            self._air.begin(self._agent, seconds, self._sent_to_all)

    def _sent_to_all(self, sent: Transmission) -> None:
        hand_over(self._queue[0], sent)
        self._done()

    def _await_answer(self, sent: Transmission) -> None:
        """The frame is over. Its receiver answers if it understood it and does not send itself."""
        air, job = self._air, self._queue[0]
        target = job.targets[0]
        if target not in sent.spoiled and job.received(target):
            receiver = cast(DcfStation, air.stations[target])
            air.clock.at(air.clock.now + self._rules.sifs, lambda: receiver.answer(self))
        else:
            air.clock.at(air.clock.now + self._rules.patience, self._fail)

    def answer(self, asker: DcfStation) -> None:
        """Acknowledge a frame, without listening first."""
        if not self._air.busy(self._agent):
            self._freeze()
        self._air.begin(self._agent, self._rules.acknowledgement, lambda sent: self._answered(asker, sent))

    def _answered(self, asker: DcfStation, sent: Transmission) -> None:
        self._after_sent = self._air.clock.now + self._rules.difs
        self._contend()
        if asker._agent in sent.spoiled:
            asker._fail()
        else:
            asker._done()

    def _fail(self) -> None:
        """No acknowledgement came."""
        if self._broken or self._attempt >= self._rules.attempts:
            self._done(given_up=True)
            return
        self._window = min(2 * self._window + 1, self._rules.largest)
        self._pause()

    def _done(self, *, given_up: bool = False) -> None:
        self._window, self._attempt = self._rules.smallest, 0
        self._next_frame(given_up=given_up)
        self._pause()

    def _pause(self) -> None:
        """The station is free for its next transmission, after so many slots as it draws now."""
        self._after_sent = self._air.clock.now + self._rules.difs
        self._waiting = False
        self._slots = self._drawn()
        self._contend()
