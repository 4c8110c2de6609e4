"""Times that vary: how long a message is under way once its last bit has left the sender, and how long work takes.

`draw(rng, n)` gives `n` independent times in seconds, none below 0. The k-th message of a link gets the k-th draw of
the link's stream.
"""

from __future__ import annotations

import csv
from abc import abstractmethod
from math import inf
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import scipy
from pydantic import Field, PrivateAttr, model_validator

from simnet.errors import ScenarioError
from simnet.network.draws import Numbers, Source
from simnet.parts.fields import FileName, Finder, NonNegative, Positive, PositiveSeconds, Seconds
from simnet.parts.part import OneOf, Part, table


class Latency(Part):
    """A distribution of times."""

    needs_length: ClassVar[bool] = False
    """Whether it depends on the distance between two agents."""

    @property
    def constant(self) -> float | None:
        """The time, if it is always the same; None if it is drawn."""
        return None

    def read(self, find: Finder) -> Latency:
        """The same with the file that it names in memory."""
        return self

    def over(self, length: float) -> Latency:
        """The same for a link of this length."""
        return self

    @abstractmethod
    def draw(self, rng: Source, n: int) -> Numbers:
        """`n` independent times."""


class Constant(Latency):
    """Always the same."""

    kind: Literal["constant"]
    value: Seconds = Field(description="the time")

    @property
    def constant(self) -> float:
        return self.value

    def draw(self, rng: Source, n: int) -> Numbers:
        return np.full(n, self.value)


class Uniform(Latency):
    """Anything between two bounds alike."""

    kind: Literal["uniform"]
    low: Seconds = Field(description="least")
    high: Seconds = Field(description="most")

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.low > self.high:
            raise ValueError(f"low: at most high, which is {self.high:g} s")
        return self

    def draw(self, rng: Source, n: int) -> Numbers:
        return self.low + (self.high - self.low) * rng.random(n)


class Normal(Latency):
    """A bell curve, cut off below 0.

    It is the normal distribution N(`mean`, `std`²) given that it is not negative. One uniform number per time is put
    through the inverse of its distribution function, so that no draw is thrown away.
    """

    kind: Literal["normal"]
    mean: Seconds = Field(description="mean before the cut")
    std: Seconds = Field(description="standard deviation before the cut")

    def draw(self, rng: Source, n: int) -> Numbers:
        if self.std == 0:
            return np.full(n, self.mean)
        # The upper tail is inverted from the left: 1 − u would lose the digits that make a far tail.
        u = rng.random(n) * scipy.special.ndtr(self.mean / self.std)
        times: Numbers = self.mean - self.std * scipy.special.ndtri(np.maximum(u, np.finfo(np.float64).tiny))
        return np.maximum(times, 0.0)


class Lognormal(Latency):
    """The logarithm is normal: most are near the median, some are late."""

    kind: Literal["lognormal"]
    median: PositiveSeconds = Field(description="half are shorter")
    sigma: NonNegative = Field(0.5, description="standard deviation of the logarithm")

    def draw(self, rng: Source, n: int) -> Numbers:
        return self.median * np.exp(self.sigma * rng.standard_normal(n))


class Gamma(Latency):
    """A gamma distribution; shape 1 is the exponential, a large one nearly constant."""

    kind: Literal["gamma"]
    mean: PositiveSeconds = Field(description="mean")
    shape: Positive = Field(1.0, description="the standard deviation is mean/√shape")

    def draw(self, rng: Source, n: int) -> Numbers:
        return (self.mean / self.shape) * rng.standard_gamma(self.shape, n)


class Pareto(Latency):
    """A heavy tail: the share (scale/x)^alpha is longer than x."""

    kind: Literal["pareto"]
    scale: PositiveSeconds = Field(description="least")
    alpha: Positive = Field(2.5, description="exponent of the tail; the mean is infinite up to 1")

    def draw(self, rng: Source, n: int) -> Numbers:
        return self.scale * (1 - rng.random(n)) ** (-1 / self.alpha)


class Empirical(Latency):
    """Measured times, each equally likely."""

    kind: Literal["empirical"]
    file: FileName = Field(description="CSV file of one column, in seconds, looked up beside the scenario first")

    _measured: Numbers | None = PrivateAttr(None)

    def read(self, find: Finder) -> Empirical:
        found = self.model_copy()
        found._measured = np.array(_column(find(self.file)))
        return found

    def draw(self, rng: Source, n: int) -> Numbers:
        assert self._measured is not None, "its file has been read"
        return self._measured[rng.integers(len(self._measured), size=n)]


class Distance(Latency):
    """In proportion to the distance between the two ends; the topology must have positions.

    Light in fibre takes 4.9 µs per kilometre.
    """

    kind: Literal["distance"]
    per_unit: Seconds = Field(description="time for one unit of length")
    base: Seconds = Field(0.0, description="time for no length at all")
    needs_length: ClassVar[bool] = True

    def over(self, length: float) -> Constant:
        # Not validated again: a million links may each have a length of their own.
        return Constant.model_construct(kind="constant", value=self.base + self.per_unit * length)

    def draw(self, rng: Source, n: int) -> Numbers:
        return self.over(0.0).draw(rng, n)


LATENCIES = table(Constant, Uniform, Normal, Lognormal, Gamma, Pareto, Empirical, Distance)
DURATIONS = {word: part for word, part in LATENCIES.items() if not part.needs_length}
"""Those that local work may take: it has no length."""


def _bare_time(value: object) -> object:
    """A bare time stands for a constant one."""
    return {"kind": "constant", "value": value} if isinstance(value, (str, int, float)) else value


AnyLatency = Annotated[Latency, OneOf(LATENCIES, _bare_time)]
AnyDuration = Annotated[Latency, OneOf(DURATIONS, _bare_time)]
NO_TIME = Constant(kind="constant", value=0.0)


def _column(path: Path) -> list[float]:
    """Times in seconds from a CSV file of one column, with or without a heading."""
    try:
        with open(path, newline="", encoding="utf-8") as lines:
            rows = [(number, row) for number, row in enumerate(csv.reader(lines), 1) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"latency.file = {path}: cannot be read ({error})") from error
    times = []
    for number, row in rows:
        try:
            (cell,) = row
            value = float(cell)
        except ValueError:
            if number == rows[0][0] and len(row) == 1:
                continue
            raise ScenarioError(
                f"latency.file = {path}: line {number} is {','.join(row)!r}, not one number of seconds"
            ) from None
        if not 0 <= value < inf:
            raise ScenarioError(f"latency.file = {path}: line {number} is {value}, not a delay of 0 or more")
        times.append(value)
    if not times:
        raise ScenarioError(f"latency.file = {path}: holds no delay, one number of seconds per line is needed")
    return times
