"""Times that vary: how long a message is under way once its last bit has left the sender, and how long work takes.

`draw(rng, n)` gives `n` independent times in seconds, none below 0. The k-th message of a link gets the k-th draw of
the link's stream. A latency that is `timed` depends on when a message leaves instead: it gives each link a `clock`.
Everybody else asks for `times`, which hands a latency of the user's own one generator at a time and checks its draws.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, PrivateAttr

from simnet.errors import ScenarioError
from simnet.network.draws import Numbers, Source
from simnet.network.latency_matrix import read_matrix
from simnet.network.measured_times import Unit, delays, impossible, read_delays, seconds_in
from simnet.parts.fields import FileName, Finder, Seconds, Switch
from simnet.parts.part import OneOf, Part, PartTable, table


class Latency(Part):
    """A distribution of times."""

    needs_length: ClassVar[bool] = False
    """Whether it depends on the distance between two agents."""
    needs_ends: ClassVar[bool] = False
    """Whether it depends on which two agents they are."""
    timed: ClassVar[bool] = False
    """Whether it depends on the time at which a message leaves."""
    together: ClassVar[bool] = False
    """Whether `draw` takes any `Source`: then several links are drawn in one go."""

    @property
    def constant(self) -> float | None:
        """The time, if it is always the same; None if it is drawn."""
        return None

    @property
    def needs_kilometres(self) -> bool:
        """Whether a length in any other unit means nothing to it."""
        return False

    @property
    def leaves_out(self) -> str | None:
        """What real delays have and these have not."""
        return "each message's delay is drawn by itself: no two that leave together are late together"

    def read(self, find: Finder) -> Latency:
        """The same with the file that it names in memory."""
        return self

    def over(self, length: float) -> Latency:
        """The same for a link of this length."""
        return self

    def between(self, sender: int, receiver: int) -> Latency:
        """The same for one direction between two agents."""
        return self

    def clock(self, offset: float) -> Callable[[float], float]:
        """If it is timed: the delay of what leaves at a time, for a link with an offset from 0 to 1 of its own."""
        raise NotImplementedError(f"{self.word} does not depend on the time")

    @abstractmethod
    def draw(self, rng: Any, n: int) -> Numbers:
        """`n` independent times; `rng` is a generator of numpy."""

    def times(self, source: Source, n: int) -> Numbers:
        """The same from any source."""
        if self.together:
            return self.draw(source, n)
        return self._checked(source, n) if isinstance(source, np.random.Generator) else source.apart(self._checked, n)

    def _checked(self, rng: np.random.Generator, n: int) -> Numbers:
        found = np.asarray(self.draw(rng, n), dtype=np.float64)
        if found.shape != (n,):
            raise ScenarioError(f"{self.word}: draw gives {n} times, not numbers of shape {found.shape}")
        if not ((found >= 0) & (found < np.inf)).all():
            raise ScenarioError(f"{self.word}: draw gives times of at least 0, and finite, not {found.min():g}")
        return found


class Constant(Latency):
    """Always the same."""

    kind: Literal["constant"]
    together: ClassVar[bool] = True
    value: Seconds = Field(description="the time")

    @property
    def constant(self) -> float:
        return self.value

    @property
    def leaves_out(self) -> str | None:
        return "always the same: no jitter" if self.value else "none: distance and routers take no time"

    def draw(self, rng: Source, n: int) -> Numbers:
        return np.full(n, self.value)


class _Measured(Latency):
    unit: Unit | None = Field(None, description="what its numbers count; seconds if absent")
    round_trip: Switch | None = Field(None, description="`true`: they are there and back, and are halved")


class Empirical(_Measured):
    """Measured times, each equally likely.

    A heading that names a unit or a round trip (`rtt_ms`) must be confirmed by `unit` and `round_trip`.
    """

    kind: Literal["empirical"]
    together: ClassVar[bool] = True
    file: FileName = Field(description="CSV file of one column, or what `ping` printed, looked up beside the scenario")

    _measured: Numbers | None = PrivateAttr(None)

    def read(self, find: Finder) -> Empirical:
        path = find(self.file)
        where = f"latency.file = {path}"
        table = read_delays(path, where, 1, f"one number of {_UNIT_NAMES[self.unit]}")
        if not table.rows:
            raise ScenarioError(f"{where}: holds no delay, one number of seconds per line is needed")
        found = self.model_copy()
        found._measured = _delays(table.lines, [value for (value,) in table.rows], table.headings, self, where)
        return found

    def draw(self, rng: Source, n: int) -> Numbers:
        assert self._measured is not None, "its file has been read"
        return self._measured[rng.integers(len(self._measured), size=n)]


class DelayTrace(_Measured):
    """Measured times in their order, played by simulated time: messages that leave together meet like delays.

    A message gets the last delay measured before it leaves. Each link begins at a place of its own, and the trace
    begins again when it ends.
    """

    kind: Literal["trace"]
    together: ClassVar[bool] = True
    file: FileName = Field(description="CSV file of two columns, time and delay, or what `ping` printed")
    time_unit: Unit | None = Field(None, description="what the times of the measurements count; seconds if absent")
    timed: ClassVar[bool] = True

    _times: list[float] = PrivateAttr([])
    _delays: list[float] = PrivateAttr([])

    def read(self, find: Finder) -> DelayTrace:
        path = find(self.file)
        where = f"latency.file = {path}"
        table = read_delays(path, where, 2, "a time and a delay")
        if len(table.rows) < 2:
            raise ScenarioError(f"{where}: holds {len(table.rows)} measurements, a trace has at least 2")
        times, measured = np.array(table.rows).T
        heading = None if table.headings is None else table.headings[0]
        times = times * seconds_in(heading, self.time_unit, False, where, "time_unit")
        if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
            late = int(np.argmin(np.isfinite(times[1:]) & (np.diff(times) > 0)))
            raise ScenarioError(f"{where}: line {table.lines[late + 1]} is not later than the one before")
        found = self.model_copy()
        found._times = (times - times[0]).tolist()
        found._delays = _delays(table.lines, measured.tolist(), table.headings, self, where).tolist()
        return found

    @property
    def leaves_out(self) -> str | None:
        return None

    @property
    def period(self) -> float:
        """After how many seconds it begins again: the last delay counts as long as one does on average."""
        return self._times[-1] * len(self._times) / (len(self._times) - 1)

    def clock(self, offset: float) -> Callable[[float], float]:
        times, measured, period = self._times, self._delays, self.period
        begin = offset * period

        # What was refused leaves at infinity, and gets some delay: it takes part in nothing.
        def at(time: float) -> float:
            return measured[bisect_right(times, (begin + time) % period) - 1]

        return at

    def draw(self, rng: Source, n: int) -> Numbers:
        assert self._times, "its file has been read"
        places = np.searchsorted(self._times, rng.random(n) * self.period, side="right") - 1
        return np.array(self._delays)[places]


class Matrix(_Measured):
    """Always the same for one direction between two agents, by a square matrix: row sender, column receiver.

    A link without an entry is refused. The topology `matrix` takes the links from the file as well.
    """

    kind: Literal["matrix"]
    together: ClassVar[bool] = True
    file: FileName = Field(description="CSV file, a row and a column per agent; a line of names may come first")
    needs_ends: ClassVar[bool] = True

    _entries: Numbers | None = PrivateAttr(None)

    def read(self, find: Finder) -> Matrix:
        found = self.model_copy()
        found._entries = read_matrix(find(self.file), "latency.file", self.unit, self.round_trip)[1]
        return found

    def between(self, sender: int, receiver: int) -> Constant:
        assert self._entries is not None, "its file has been read"
        agents = len(self._entries)
        if max(sender, receiver) >= agents:
            raise ScenarioError(
                f"latency.file = {self.file}: has {agents} rows, there is an agent {max(sender, receiver)}"
            )
        value = float(self._entries[sender, receiver])
        if value != value:
            raise ScenarioError(
                f"latency.file = {self.file}: has no entry for the link from {sender} to {receiver} "
                "(row sender, column receiver; the first is 0)"
            )
        return _constant(value)

    def draw(self, rng: Source, n: int) -> Numbers:
        raise NotImplementedError("a link has its own entry: `between` gives it")


class Distance(Latency):
    """In proportion to the distance between the two ends; the topology must have positions.

    Where the agents have latitudes and longitudes the unit of length is a kilometre along the great circle, and light
    in fibre takes 4.9 µs for it, which is the default there.
    """

    kind: Literal["distance"]
    together: ClassVar[bool] = True
    per_unit: Seconds | None = Field(
        None, description="time for one unit of length; 4.9 µs per kilometre if absent, refused if there are none"
    )
    base: Seconds = Field(0.0, description="time for no length at all")
    needs_length: ClassVar[bool] = True

    def over(self, length: float) -> Constant:
        return _constant(self.base + (FIBRE if self.per_unit is None else self.per_unit) * length)

    @property
    def needs_kilometres(self) -> bool:
        return self.per_unit is None

    def draw(self, rng: Source, n: int) -> Numbers:
        return self.over(0.0).draw(rng, n)


FIBRE = 4.9e-6
"""Seconds that light in fibre takes for a kilometre."""


_KINDS = ("Uniform", "Normal", "Lognormal", "Gamma", "Pareto")
_DRAWN = [(kind.lower(), f"simnet.library.delay_kinds:{kind}") for kind in _KINDS]
LATENCIES: PartTable[Latency] = table(Constant, *_DRAWN, Empirical, Distance, DelayTrace, Matrix)
DURATIONS: PartTable[Latency] = table(Constant, *_DRAWN, Empirical)
"""Those that local work may take: it has no length, no two ends, and its draws are independent."""


def _bare_time(value: object) -> object:
    """A bare time stands for a constant one."""
    return {"kind": "constant", "value": value} if isinstance(value, (str, int, float)) else value


def _no_duration(latency: type[Latency]) -> str | None:
    """Why local work cannot take such a time."""
    needs = {"a length": latency.needs_length, "two ends": latency.needs_ends, "a time of sending": latency.timed}
    return next((f"local work has no {what.removeprefix('a ')}" for what, needed in needs.items() if needed), None)


AnyLatency = Annotated[Latency, OneOf(LATENCIES, _bare_time)]
AnyDuration = Annotated[Latency, OneOf(DURATIONS, _bare_time, unfit=_no_duration)]
NO_TIME = Constant(kind="constant", value=0.0)


_UNIT_NAMES = {
    None: "seconds",
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "min": "minutes",
    "h": "hours",
}


def _constant(value: float) -> Constant:
    # Not validated again: a million links may each have a value of their own.
    return Constant.model_construct(kind="constant", value=value)


def _delays(
    lines: list[int], values: list[float], headings: list[str] | None, measured: _Measured, where: str
) -> Numbers:
    """The delays in the last column, in seconds."""
    bad = impossible(np.array(values))
    if bad.any():
        first = int(np.argmax(bad))
        raise ScenarioError(f"{where}: line {lines[first]} is {values[first]}, not a delay of 0 or more")
    return delays(values, None if headings is None else headings[-1], measured.unit, measured.round_trip, where)
