"""An agent's time: how long its local work takes ([compute]), and when its round ends ([network.pacing])."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.port import Costly, Port, never
from simnet.errors import SimnetError
from simnet.network.draws import one_by_one, uniform
from simnet.network.latency import NO_TIME, AnyDuration
from simnet.parts.fields import Finder, Number, PositiveSeconds, PositiveShare, Seconds, Switch, Whole
from simnet.parts.part import OneOf, Part, Section, bare_word, table
from simnet.record.events import RoundTimeout
from simnet.streams import Streams

Skew = Annotated[float, BeforeValidator(Number("a share of at least 0 and below 1", 0, 1, open_high=True))]


WorkTime = Callable[[Costly], float]
"""How long one round's work takes; it asks for the number of gradients only where that matters."""


class Compute(Section):
    """How long local work takes."""

    time: AnyDuration = Field(NO_TIME, description="time of one round's local work")
    per_gradient: Seconds = Field(
        0.0, description="and this for each gradient that the solver evaluates, however many rows the agent has"
    )
    per_row_gradient: Seconds = Field(
        0.0, description="in place of per_gradient: this for each row of each gradient, with all its features"
    )

    @property
    def tells(self) -> bool:
        """Whether the time of local work depends on the data: how many gradients a solve needs does."""
        return bool(self.per_gradient or self.per_row_gradient)

    @model_validator(mode="after")
    def _one_price(self) -> Self:
        if self.per_gradient and self.per_row_gradient:
            raise ValueError("per_row_gradient: without per_gradient, because both are the time of a gradient")
        return self

    @property
    def leaves_out(self) -> str | None:
        """What real work has and this has not."""
        free = self.time.constant == 0 and not (self.per_gradient or self.per_row_gradient)
        return "local work takes no time" if free else None

    def read(self, find: Finder) -> Self:
        """The same with the file that it names in memory."""
        return self.model_copy(update={"time": self.time.read(find)})

    def for_agent(self, streams: Streams, agent: int, rows: int) -> WorkTime:
        """The times of one agent with so many rows, by its own stream."""
        time, each = self.time, self.per_gradient + self.per_row_gradient * rows
        value = time.constant
        if value is not None:
            return _known_time(value, each)
        rng = streams.generator("compute", agent)
        if not each:
            return lambda work: float(time.times(rng, 1)[0])
        return lambda work: float(time.times(rng, 1)[0]) + each * work.gradients


@lru_cache(maxsize=1 << 10)
def _known_time(value: float, each: float) -> WorkTime:
    """Work that takes this long and so much more for each gradient; agents that are alike share one."""
    return (lambda work: value + each * work.gradients) if each else (lambda work: value)


class Slot:
    """A time that is fixed when a round begins, at which its message leaves.

    The alarm is set at the beginning too: of two that ring at one instant, the order must not tell whose work was done
    first.
    """

    def __init__(self, port: Port, length: float) -> None:
        self._port = port
        self._length = length
        self._began = port.now
        self._alarm = port.alarm(self._began + length)

    async def wait(self, round: int) -> None:
        """Return at that time. SimnetError if it has passed: a message that leaves later would tell of the data."""
        took = self._port.now - self._began
        # A hair of tolerance: work that takes just as long has ended in time.
        if took > self._length + 1e-9:
            raise SimnetError(
                f"network.pacing.send_at = {self._length:g} s: the work of agent {self._port.agent} in round {round} "
                f"took {took:g} s; the run is invalid, because when a later message leaves would tell of the data"
            )
        await self._alarm


class Pacing(Part):
    """A rule for the end of a round. One of your own implements `enough`, and has a field `patience`."""

    says: ClassVar[tuple[str, ...]] = ("enough", "settle")

    aligned: ClassVar[bool] = False
    """Whether values of later rounds wait until the agent gets there."""
    meets: ClassVar[bool] = False
    """Whether a round ends when all agents meet: whoever has a part of it to itself meets after that part as well."""
    waits_for_all: ClassVar[bool] = False
    """Whether an agent waits for news of every neighbour in every round."""

    @property
    def tick(self) -> float | None:
        """Seconds between two rounds, if a clock and not the network decides it."""
        return None

    @property
    def leaves_out(self) -> str | None:
        """What real agents would have to cope with, and these have not."""
        return None

    @property
    def announces(self) -> bool:
        """Whether a skip is announced to the neighbours: what the field `notices` says, in a rule that has it."""
        return bool(getattr(self, "notices", False))

    def for_agent(self, streams: Streams, agent: int) -> Self:
        """The rule as one agent follows it."""
        return self

    def resume(self, rounds: int) -> None:
        """Be the rule of an agent that comes back after so many rounds: take from chance what they took."""

    def hiding(self, *, work_tells: bool) -> Self:
        """The rule that keeps what the length of local work tells to itself, if it can and there is something to keep.

        `work_tells` is whether local work takes longer on some data than on others.
        """
        return self

    @property
    def keeps_time(self) -> bool:
        """Whether messages leave at times that are fixed before the run."""
        return False

    def slot(self, port: Port) -> Slot | None:
        """When the message of a round that begins now leaves; None: as soon as it is ready."""
        return None

    def enough(self, round: int, neighbourhood: Neighbourhood) -> bool:
        """Whether the round may end with what has been heard of the neighbours until now."""
        raise NotImplementedError

    async def settle(self, round: int, port: Port, neighbourhood: Neighbourhood) -> None:
        """Return when the round may end: when there is enough, or the `patience` ends of a rule that has it."""
        patience = getattr(self, "patience", None)
        end = None if patience is None else port.now + patience
        if not await port.until(lambda: self.enough(round, neighbourhood), end):
            port.emit(RoundTimeout(port.agent, round, neighbourhood.behind(round)))


class Ideal(Pacing):
    """Every round ends when all have sent and every message has met its fate: the papers' synchronous rounds.

    An oracle, not a protocol: no agent could know this. It separates what a method does from what a network does.
    """

    kind: Literal["ideal"]
    aligned: ClassVar[bool] = True
    meets: ClassVar[bool] = True

    @property
    def leaves_out(self) -> str | None:
        return "an oracle ends every round: no real agent knows that all messages have met their fates"

    async def settle(self, round: int, port: Port, neighbourhood: Neighbourhood) -> None:
        await port.rendezvous()


class Barrier(Pacing):
    """An agent waits until it has heard of this very round from every neighbour, or its patience ends.

    News of a later round does not end the wait: it may have overtaken what is waited for. Patience is spent once for
    all that a neighbour had sent before its last news, so an agent that was down catches up. Without notices silence
    cannot be told from loss: a neighbour that skips is waited for in vain.
    """

    kind: Literal["barrier"]
    patience: PositiveSeconds = Field(1.0, description="longest wait for the neighbours' news of a round")
    notices: Switch = Field(
        True, description="a skip is announced by a header-only message; without it, silence looks like loss"
    )
    aligned: ClassVar[bool] = True
    waits_for_all: ClassVar[bool] = True

    async def settle(self, round: int, port: Port, neighbourhood: Neighbourhood) -> None:
        def all_heard() -> bool:
            return neighbourhood.awaited(round) == 0

        await port.until(all_heard, port.now + self.patience)
        if missing := neighbourhood.missing(round):
            neighbourhood.write_off(round)
            port.emit(RoundTimeout(port.agent, round, missing))


class Deadline(Pacing):
    """An agent ends its round at the next tick of its own clock, with whatever has arrived.

    An agent whose work outlasts a tick ends its round at the following one, and so falls behind its neighbours. With
    `send_at` messages leave at times that are fixed before the run, whatever the data: work that outlasts them makes
    the run invalid.
    """

    kind: Literal["deadline"]
    period: PositiveSeconds = Field(0.2, description="time between two ticks")
    skew: Skew = Field(0.0, description="an agent's clock is fast or slow by up to this share, for good")
    jitter: Seconds = Field(0.0, description="each tick is late by up to this much, below the period")
    notices: Switch = Field(False, description="announce skips by header-only messages")
    send_at: PositiveSeconds | None = Field(
        None,
        description="how long after a tick the messages of the round leave; default: half of the period where local "
        "work takes time by its gradients, so that the time tells nothing of the data, else when they are ready",
    )

    _late: Iterator[float] | None = PrivateAttr(None)
    """By which part of the jitter each tick of one agent is late."""

    @property
    def tick(self) -> float:
        return self.period

    @property
    def leaves_out(self) -> str | None:
        return None if self.skew or self.jitter else "all clocks tick at the same instants: no skew, no jitter"

    @model_validator(mode="after")
    def _ticks_in_order(self) -> Deadline:
        if self.jitter >= self.period * (1 - self.skew):
            raise ValueError("jitter: below the period of the fastest clock")
        if self.send_at is not None and self.send_at >= self.period - self.jitter:
            raise ValueError("send_at: below the period, less the jitter")
        return self

    def hiding(self, *, work_tells: bool) -> Self:
        if self.send_at is not None or not work_tells:
            return self
        return self.model_copy(update={"send_at": (self.period - self.jitter) / 2})

    @property
    def keeps_time(self) -> bool:
        return self.send_at is not None

    def slot(self, port: Port) -> Slot | None:
        return None if self.send_at is None else Slot(port, self.send_at)

    def for_agent(self, streams: Streams, agent: int) -> Self:
        if not (self.skew or self.jitter):
            return self  # all clocks are this one
        skew = self.skew * (2 * streams.generator("skew", agent).random() - 1) if self.skew else 0.0
        send_at = None if self.send_at is None else self.send_at * (1 + skew)
        clock = self.model_copy(update={"period": self.period * (1 + skew), "send_at": send_at})
        clock._late = one_by_one(streams, "jitter", str(agent), uniform) if self.jitter else None
        return clock

    def resume(self, rounds: int) -> None:
        for _ in islice(self._late or (), rounds):
            pass

    def next_tick(self, now: float) -> float:
        """The time of the tick after now."""
        # A hair of tolerance keeps an agent that wakes exactly on a tick from ending a round twice on it when the
        # division rounds down.
        tick = (math.floor(now / self.period + 1e-9) + 1) * self.period
        # `jitter` first: pydantic takes long to find what is private.
        return tick + self.jitter * next(self._late) if self.jitter and self._late else tick

    async def settle(self, round: int, port: Port, neighbourhood: Neighbourhood) -> None:
        await port.until(never, self.next_tick(port.now))


class Quorum(Pacing):
    """An agent waits for news of this round from a share of its neighbours, and lets none of them become too old.

    News of a later round counts: the newest value is used at once, and nobody is in step here.
    """

    kind: Literal["quorum"]
    quorum: PositiveShare = Field(0.5, description="share of the neighbours that must have been heard of in this round")
    max_staleness: Whole = Field(5, description="rounds since each neighbour was last heard of, at most")
    patience: PositiveSeconds = Field(1.0, description="longest wait")
    notices: Switch = Field(True, description="a skip is announced by a header-only message")

    def enough(self, round: int, neighbourhood: Neighbourhood) -> bool:
        neighbours = len(neighbourhood.peers)
        # A hair of tolerance: 0.1 · 30 neighbours are 3 of them, whatever the rounding.
        may_miss = neighbours - math.ceil(self.quorum * neighbours - 1e-9)
        return neighbourhood.behind(round) <= may_miss and neighbourhood.behind(round - self.max_staleness) == 0


class Free(Pacing):
    """An agent never waits: it works with what it knows."""

    kind: Literal["free"]
    notices: Switch = Field(False, description="announce skips by header-only messages")

    async def settle(self, round: int, port: Port, neighbourhood: Neighbourhood) -> None:
        return


PACINGS = table(Ideal, Barrier, Deadline, Quorum, Free)
ALIGNED = frozenset(kind for kind, pacing in PACINGS.items() if pacing.aligned)
AnyPacing = Annotated[Pacing, OneOf(PACINGS, bare_word)]
