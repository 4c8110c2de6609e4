"""Bandwidth that changes over time, by a file: delivery opportunities of Mahimahi, or bit rates by time.

The rule of Mahimahi's mm-link, exactly. Every line of the file is a millisecond at which 1500 bytes may leave. A packet
that came before that instant takes what it needs of them: large packets take several opportunities, several small ones
share one. What nobody takes is wasted. The file begins again at its last time, for ever.

A packet *waits* until its first byte leaves, also if the line is idle: so with an opportunity per millisecond a queue
of 0 takes nothing at all. mm-link counts its queue in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate, pairwise
from math import inf
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, PrivateAttr

from simnet.errors import ScenarioError
from simnet.network.measured_times import Unit, read_lines, read_table, seconds_in
from simnet.network.paces import Cycle, OpportunityPace, Pace, StepPace
from simnet.parts.fields import BIT_RATE, BITS_PER_SECOND, FileName, Finder
from simnet.parts.part import OneOf, Part, table
from simnet.streams import Streams

OPPORTUNITY = 1500
"""Bytes that may leave at one line of a Mahimahi file."""


NOTICED = 0.1
"""Seconds: a line on which nothing leaves for longer than this counts as down."""

_DIGITS = 15
"""Of a time in milliseconds: more are no time."""


class VaryingRate(Part):
    """A bandwidth that changes over time. One of your own implements `steps`."""

    says: ClassVar[tuple[str, ...]] = ("steps", "pace")

    def steps(self, rng: np.random.Generator) -> Iterable[tuple[float, float]]:
        """For how many seconds each bit rate lasts on one line; they repeat for ever."""
        raise NotImplementedError

    def read(self, find: Finder) -> Self:
        """The same with the file that it may name in memory."""
        return self

    def pace(self, streams: Streams, name: str) -> Pace:
        """The line of this name."""
        lasting = self._lasting(streams.generator("bandwidth", name))
        ends = list(accumulate(seconds for seconds, _ in lasting))
        return StepPace(Cycle([0.0, *ends[:-1]], ends[-1], 1.0, 0.0), [rate for _, rate in lasting])

    def _lasting(self, rng: np.random.Generator) -> list[tuple[float, float]]:
        found = [(float(seconds), float(rate)) for seconds, rate in self.steps(rng)]
        proper = all(0 < seconds < inf and 0 <= rate < inf for seconds, rate in found)
        if not proper or not any(rate for _, rate in found):
            raise ScenarioError(f"bandwidth.kind = {self.word!r}: steps last above 0 s, and one rate is above 0")
        return found

    @cached_property
    def _typical(self) -> list[tuple[float, float]]:
        """The steps of some line: what is said about it before a run."""
        return self._lasting(np.random.default_rng(0))

    @property
    def mean(self) -> float:
        """Bits per second on average."""
        return sum(seconds * rate for seconds, rate in self._typical) / self.duration

    @property
    def duration(self) -> float:
        """Seconds until it begins again."""
        return sum(seconds for seconds, _ in self._typical)

    @property
    def pauses(self) -> list[float]:
        """For how long nothing leaves, each time."""
        return [0.0, *(seconds for seconds, rate in self._typical if not rate)]

    def told(self) -> str:
        """What it is like, in words; a pause that nobody would notice is none."""
        noticed = [pause for pause in self.pauses if pause > NOTICED]
        return (
            f"{self.word}, {self.mean / 1e6:.4g} Mbit/s on average, repeats after {self.duration:g} s, "
            f"up for {100 * (1 - sum(noticed) / self.duration):.3g} % of it, longest pause {max(self.pauses):.3g} s"
        )


class _FromFile(VaryingRate):
    file: FileName
    begin: Literal["start", "anywhere"] = Field(
        "start",
        description="`start`: every line begins with the file; `anywhere`: each at a place of its own, by its stream",
    )

    _times: list[float] = PrivateAttr([])
    _period: float = PrivateAttr(0.0)
    """Times and period in the unit of the file, from its start on."""
    _mean: float = PrivateAttr(0.0)

    @property
    def mean(self) -> float:
        return self._mean

    def _cycle(self, streams: Streams, name: str, scale: float) -> Cycle:
        somewhere = self.begin == "anywhere"
        shift = streams.generator("bandwidth", name).random() * self.duration if somewhere else 0.0
        return Cycle(self._times, self._period, scale, shift)


class Mahimahi(_FromFile):
    """A trace of Mahimahi's mm-link: each line is a millisecond at which 1500 bytes may leave; it repeats for ever."""

    kind: Literal["mahimahi"]
    file: FileName = Field(description="text file, a whole number of milliseconds per line")

    _upto: list[int] = PrivateAttr([])
    """How many bytes may leave up to each time."""

    def read(self, find: Finder) -> Mahimahi:
        path = find(self.file)
        where = f"bandwidth.file = {path}"
        times: list[int] = []
        for number, line in read_lines(path, where, "ascii"):
            if not line.isdecimal() or len(line) > _DIGITS:
                told = f"{line[:40]!r}, not" if times else "not"
                raise ScenarioError(f"{where}: line {number} is {told} a whole number of ms")
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
        found._upto = list(accumulate(OPPORTUNITY * sizes[time] for time in sorted(sizes)))
        found._mean = 8.0 * found._upto[-1] / found.duration
        return found

    def pace(self, streams: Streams, name: str) -> OpportunityPace:
        return OpportunityPace(self._cycle(streams, name, 1e3), self._upto)

    @property
    def duration(self) -> float:
        return self._period / 1e3

    @property
    def pauses(self) -> list[float]:
        turns = [self._times[-1] - self._period, *self._times]
        return [(after - before) / 1e3 for before, after in pairwise(turns)]


class Steps(_FromFile):
    """Bit rates by time: each counts until the next; the last one as long as one does on average, then it repeats."""

    kind: Literal["steps"]
    file: FileName = Field(description="CSV file of two columns: time, bit rate")
    unit: Literal["bit/s", "kbit/s", "Mbit/s", "Gbit/s"] = Field("bit/s", description="what the rates count")
    time_unit: Unit | None = Field(None, description="what the times count; seconds if absent")

    _rates: list[float] = PrivateAttr([])

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
        new._times, new._rates = (times[kept] - times[0]).tolist(), rates[kept].tolist()
        new._period = float((times[-1] - times[0]) * len(times) / (len(times) - 1))
        new._mean = sum(lasts * rate for lasts, rate in new._intervals) / new._period
        return new

    def _refuse_other_unit(self, heading: str, where: str) -> None:
        """Refuse a heading that names another unit than the field."""
        said = heading.strip().lower().replace("bps", "bit/s")
        for unit in ("gbit", "mbit", "kbit"):
            if unit in said and not self.unit.lower().startswith(unit):
                raise ScenarioError(f'{where}: its rates are headed {heading!r}, which is not unit = "{self.unit}"')

    def pace(self, streams: Streams, name: str) -> StepPace:
        return StepPace(self._cycle(streams, name, 1.0), self._rates)

    @property
    def duration(self) -> float:
        return self._period

    @property
    def pauses(self) -> list[float]:
        return [0.0, *(lasts for lasts, rate in self._intervals if not rate)]

    @property
    def _intervals(self) -> list[tuple[float, float]]:
        """For how long each rate counts."""
        ends = [*self._times, self._period]
        return [(after - before, rate) for (before, after), rate in zip(pairwise(ends), self._rates, strict=True)]


RATES = table(Mahimahi, Steps)
AnyRate = Annotated[float | VaryingRate, OneOf(RATES, plain=BIT_RATE, of=VaryingRate)]


def read_rate(rate: float | VaryingRate | None, find: Finder) -> float | VaryingRate | None:
    """The same with the file that it may name in memory."""
    return rate if rate is None or isinstance(rate, float) else rate.read(find)
