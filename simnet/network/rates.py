"""Bandwidth that changes over time, by a file: delivery opportunities of Mahimahi, or bit rates by time.

The rule of Mahimahi's mm-link, exactly. Every line of the file is a millisecond at which 1500 bytes may leave. A packet
that came before that instant takes what it needs of them: large packets take several opportunities, several small ones
share one. What nobody takes is wasted. The file begins again at its last time, for ever.

A packet *waits* until its first byte leaves, also if the line is idle: so with an opportunity per millisecond a queue
of 0 takes nothing at all. mm-link counts its queue in the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import floor, inf
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, PrivateAttr

from simnet.errors import ScenarioError
from simnet.network.measured_times import Unit, read_table, seconds_in
from simnet.parts.fields import BIT_RATE, BITS_PER_SECOND, FileName, Finder
from simnet.parts.part import OneOf, Part, table
from simnet.streams import Streams

OPPORTUNITY = 1500
"""Bytes that may leave at one line of a Mahimahi file."""


NOTICED = 0.1
"""Seconds: a line on which nothing leaves for longer than this counts as down."""

_DIGITS = 15
"""Of a time in milliseconds: more are no time."""

_ROUNDING = 1e-6
"""Bits: a packet that ends where a rate does must not wait for the next one because of a rounding."""


class Cycle:
    """Points in time that repeat for ever, numbered from the first one on."""

    __slots__ = ("_period", "_scale", "_shift", "_times")

    def __init__(self, times: Sequence[float], period: float, scale: float, shift: float) -> None:
        self._times, self._period, self._scale, self._shift = times, period, scale, shift

    def time(self, index: int) -> float:
        """When the point of this number is."""
        cycle, place = divmod(index, len(self._times))
        return (cycle * self._period + self._times[place]) / self._scale - self._shift

    def after(self, now: float) -> int:
        """The number of the first point that comes after now."""
        within = (now + self._shift) * self._scale
        cycle = floor(within / self._period)
        found = cycle * len(self._times) + bisect_right(self._times, within - cycle * self._period)
        # The division above may be off by a rounding; `time` decides.
        while self.time(found) <= now:
            found += 1
        while found > 0 and self.time(found - 1) > now:
            found -= 1
        return found


class Pace(ABC):
    """How much one line can carry when, and how much of it is taken."""

    @abstractmethod
    def begins(self, now: float) -> float:
        """When the first bit of a packet that is handed over now would leave."""

    @abstractmethod
    def serve(self, now: float, weight: int) -> float:
        """When the last bit leaves of so many bytes that are handed over now; they take their part of the line."""

    @abstractmethod
    def halt(self, now: float) -> None:
        """Let go of all that has not left."""


class OpportunityPace(Pace):
    """Bytes leave at points in time, as many as there are at each."""

    __slots__ = ("_at", "_cycle", "_left", "_upto")

    def __init__(self, cycle: Cycle, sizes: Sequence[int]) -> None:
        self._cycle = cycle
        self._upto = list(accumulate(sizes))
        self._at, self._left = -1, 0
        """The last point of which bytes were taken, and what is left of it for whoever waited then."""

    def begins(self, now: float) -> float:
        return self._cycle.time(self._next(now)[0])

    def serve(self, now: float, weight: int) -> float:
        at, left = self._next(now)
        self._at, self._left = self._reaching(self._all_until(at) - left + weight)
        return self._cycle.time(self._at)

    def halt(self, now: float) -> None:
        self._at, self._left = self._cycle.after(now) - 1, 0

    def _next(self, now: float) -> tuple[int, int]:
        """The first point from which a packet that is handed over now may take bytes, and how many are left there."""
        if self._left and self._cycle.time(self._at) > now:
            return self._at, self._left
        at = max(self._at + 1, self._cycle.after(now))
        return at, self._all_until(at) - self._all_until(at - 1)

    def _all_until(self, index: int) -> int:
        """The bytes of all points up to this one."""
        cycle, place = divmod(index, len(self._upto))
        return cycle * self._upto[-1] + self._upto[place]

    def _reaching(self, total: int) -> tuple[int, int]:
        """The point at which so many bytes are reached, and how many more it has."""
        cycle, rest = divmod(total - 1, self._upto[-1])
        place = bisect_right(self._upto, rest)
        return cycle * len(self._upto) + place, self._upto[place] - rest - 1


class StepPace(Pace):
    """A bit rate that is constant between points in time."""

    __slots__ = ("_cycle", "_free", "_rates")

    def __init__(self, cycle: Cycle, rates: Sequence[float]) -> None:
        self._cycle, self._rates = cycle, rates
        self._free = -inf

    def begins(self, now: float) -> float:
        time = max(now, self._free)
        at = self._cycle.after(time) - 1
        while not self._rates[at % len(self._rates)]:
            at += 1
            time = self._cycle.time(at)
        return time

    def serve(self, now: float, weight: int) -> float:
        time, bits = self.begins(now), weight * 8.0
        at = self._cycle.after(time) - 1
        while True:
            rate, end = self._rates[at % len(self._rates)], self._end(at)
            if rate and bits <= (end - time) * rate + _ROUNDING:
                self._free = min(time + bits / rate, end)
                return self._free
            bits -= (end - time) * rate
            time, at = end, at + 1

    def halt(self, now: float) -> None:
        self._free = min(self._free, now)

    def _end(self, at: int) -> float:
        """When the rate of this number ends; one that is alone never does."""
        return inf if len(self._rates) == 1 else self._cycle.time(at + 1)


class VaryingRate(Part):
    """A bandwidth that changes over time."""

    file: FileName = Field(description="where its times are")
    begin: Literal["start", "anywhere"] = Field(
        "start",
        description="`start`: every line begins with the file; `anywhere`: each at a place of its own, by its stream",
    )

    _times: list[float] = PrivateAttr([])
    _amounts: list[float] = PrivateAttr([])
    _period: float = PrivateAttr(0.0)

    @abstractmethod
    def read(self, find: Finder) -> Self:
        """The same with its file in memory."""

    @abstractmethod
    def pace(self, streams: Streams, name: str) -> Pace:
        """The line of this name."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Bits per second on average."""

    @property
    @abstractmethod
    def duration(self) -> float:
        """Seconds until it begins again."""

    @property
    @abstractmethod
    def pauses(self) -> list[float]:
        """For how long nothing leaves, each time."""

    def told(self) -> str:
        """What it is like, in words; a pause that nobody would notice is none."""
        noticed = [pause for pause in self.pauses if pause > NOTICED]
        return (
            f"{self.word}, {self.mean / 1e6:.4g} Mbit/s on average, repeats after {self.duration:g} s, "
            f"up for {100 * (1 - sum(noticed) / self.duration):.3g} % of it, longest pause {max(self.pauses):.3g} s"
        )

    def _cycle(self, streams: Streams, name: str, scale: float) -> Cycle:
        somewhere = self.begin == "anywhere"
        shift = streams.generator("bandwidth", name).random() * self.duration if somewhere else 0.0
        return Cycle(self._times, self._period, scale, shift)


class Mahimahi(VaryingRate):
    """A trace of Mahimahi's mm-link: each line is a millisecond at which 1500 bytes may leave; it repeats for ever."""

    kind: Literal["mahimahi"]

    def read(self, find: Finder) -> Mahimahi:
        path = find(self.file)
        where = f"bandwidth.file = {path}"
        try:
            lines = path.read_text(encoding="ascii").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError(f"{where}: cannot be read ({error})") from error
        times: list[int] = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            if not line.strip().isdecimal() or len(line.strip()) > _DIGITS:
                raise ScenarioError(f"{where}: line {number} is {line.strip()[:40]!r}, not a whole number of ms")
            times.append(int(line))
            if len(times) > 1 and times[-1] < times[-2]:
                raise ScenarioError(f"{where}: line {number} is earlier than the one before")
        if not times or not times[-1]:
            raise ScenarioError(f"{where}: needs a time above 0, at which something may leave")
        period = times[-1]
        # Time 0 of the next turn is the last time of this one.
        sizes = Counter(time or period for time in times)
        found = self.model_copy()
        found._times, found._period = [float(time) for time in sorted(sizes)], float(period)
        found._amounts = [float(OPPORTUNITY * sizes[time]) for time in sorted(sizes)]
        return found

    def pace(self, streams: Streams, name: str) -> OpportunityPace:
        return OpportunityPace(self._cycle(streams, name, 1e3), list(map(int, self._amounts)))

    @property
    def mean(self) -> float:
        return 8.0 * sum(self._amounts) / self.duration

    @property
    def duration(self) -> float:
        return self._period / 1e3

    @property
    def pauses(self) -> list[float]:
        turns = [self._times[-1] - self._period, *self._times]
        return [(after - before) / 1e3 for before, after in pairwise(turns)]


class Steps(VaryingRate):
    """Bit rates by time: each counts until the next; the last one as long as one does on average, then it repeats."""

    kind: Literal["steps"]
    file: FileName = Field(description="CSV file of two columns: time, bit rate")
    unit: Literal["bit/s", "kbit/s", "Mbit/s", "Gbit/s"] = Field("bit/s", description="what the rates count")
    time_unit: Unit | None = Field(None, description="what the times count; seconds if absent")

    def read(self, find: Finder) -> Steps:
        path = find(self.file)
        where = f"bandwidth.file = {path}"
        found = read_table(path, where, 2, "a time and a bit rate")
        if len(found.rows) < 2:
            raise ScenarioError(f"{where}: holds {len(found.rows)} rates, a trace has at least 2")
        times, rates = np.array(found.rows).T
        headings = found.headings or ["", ""]
        self._refuse_other_unit(headings[1], where)
        times = times * seconds_in(headings[0], self.time_unit, False, where, "time_unit")
        for number, before, after in zip(found.lines[1:], times, times[1:], strict=False):
            if not -inf < before < after < inf:
                raise ScenarioError(f"{where}: line {number} is not later than the one before")
        bad = ~((rates >= 0) & (rates < inf))
        if bad.any() or not rates.any():
            line = found.lines[int(np.argmax(bad))] if bad.any() else None
            raise ScenarioError(f"{where}: " + (f"line {line} is no bit rate of 0 or more" if line else "is never up"))
        rates = rates * float(BITS_PER_SECOND[self.unit])
        # Equal rates that follow each other are one: nothing changes between them.
        kept = [0] + [i for i in range(1, len(rates)) if rates[i] != rates[i - 1]]
        new = self.model_copy()
        new._times, new._amounts = (times[kept] - times[0]).tolist(), rates[kept].tolist()
        new._period = float((times[-1] - times[0]) * len(times) / (len(times) - 1))
        return new

    def _refuse_other_unit(self, heading: str, where: str) -> None:
        """Refuse a heading that names another unit than the field."""
        said = heading.strip().lower().replace("bps", "bit/s")
        for unit in ("gbit", "mbit", "kbit"):
            if unit in said and not self.unit.lower().startswith(unit):
                raise ScenarioError(f'{where}: its rates are headed {heading!r}, which is not unit = "{self.unit}"')

    def pace(self, streams: Streams, name: str) -> StepPace:
        return StepPace(self._cycle(streams, name, 1.0), self._amounts)

    @property
    def mean(self) -> float:
        return sum(lasts * rate for lasts, rate in zip(self._lasts, self._amounts, strict=True)) / self._period

    @property
    def duration(self) -> float:
        return self._period

    @property
    def pauses(self) -> list[float]:
        return [0.0, *(lasts for lasts, rate in zip(self._lasts, self._amounts, strict=True) if not rate)]

    @property
    def _lasts(self) -> list[float]:
        return [after - before for before, after in pairwise([*self._times, self._period])]


RATES = table(Mahimahi, Steps)
AnyRate = Annotated[float | VaryingRate, OneOf(RATES, plain=BIT_RATE)]


def read_rate(rate: float | VaryingRate | None, find: Finder) -> float | VaryingRate | None:
    """The same with the file that it may name in memory."""
    return rate if rate is None or isinstance(rate, float) else rate.read(find)
