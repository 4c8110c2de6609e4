"""Propagation delay: how long a message is under way once its last bit has left the sender.

Every model is a frozen record with `draw(rng, n)`, which gives `n` independent delays in seconds, none below 0, and
`expectation`, which is infinite where the distribution has none. The k-th message of a link gets the k-th draw of the
link's stream.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from math import exp, inf, pi, sqrt
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from simnet.errors import ScenarioError
from simnet.network.checks import not_negative, positive
from simnet.network.draws import Source

Delays = npt.NDArray[np.float64]


class Latency(Protocol):
    """What a link asks of a delay model."""

    @property
    def expectation(self) -> float: ...

    def draw(self, rng: Source, n: int) -> Delays: ...


@dataclass(frozen=True)
class Constant:
    """The same delay for every message; it needs no random numbers."""

    value: float = 0.0

    def __post_init__(self) -> None:
        not_negative("latency.value", self.value)

    @property
    def expectation(self) -> float:
        return self.value

    def draw(self, rng: Source, n: int) -> Delays:
        return np.full(n, float(self.value))


@dataclass(frozen=True)
class Uniform:
    """Any delay between `low` and `high`, all equally likely."""

    low: float
    high: float

    def __post_init__(self) -> None:
        not_negative("latency.low", self.low)
        not_negative("latency.high", self.high)
        if self.high < self.low:
            raise ScenarioError(f"latency.high = {self.high}: must be at least latency.low = {self.low}")

    @property
    def expectation(self) -> float:
        return (self.low + self.high) / 2

    def draw(self, rng: Source, n: int) -> Delays:
        return self.low + (self.high - self.low) * rng.random(n)


@dataclass(frozen=True)
class Normal:
    """The normal distribution N(`mean`, `std`²) given that it is not negative.

    The condition moves the expectation above `mean` by std·φ(z)/Φ(z), z = mean/std (Johnson, Kotz & Balakrishnan 1994,
    section 13.10.1). Drawn by inverting the distribution function, one uniform a delay, so that no draw is thrown away.
    """

    mean: float
    std: float

    def __post_init__(self) -> None:
        not_negative("latency.mean", self.mean)
        not_negative("latency.std", self.std)

    @property
    def expectation(self) -> float:
        if self.std == 0:
            return self.mean
        z = self.mean / self.std
        return float(self.mean + self.std * exp(-z * z / 2) / sqrt(2 * pi) / ndtr(z))

    def draw(self, rng: Source, n: int) -> Delays:
        if self.std == 0:
            return np.full(n, float(self.mean))
        # The upper tail is inverted from the left: 1 − u would lose the digits that make a far tail.
        u = rng.random(n) * ndtr(self.mean / self.std)
        delays: Delays = self.mean - self.std * ndtri(np.maximum(u, np.finfo(np.float64).tiny))
        return np.maximum(delays, 0.0)


@dataclass(frozen=True)
class Lognormal:
    """A delay whose logarithm is normal with mean ln `median` and deviation `sigma`."""

    median: float
    sigma: float

    def __post_init__(self) -> None:
        positive("latency.median", self.median)
        not_negative("latency.sigma", self.sigma)

    @property
    def expectation(self) -> float:
        return self.median * exp(self.sigma**2 / 2)

    def draw(self, rng: Source, n: int) -> Delays:
        return self.median * np.exp(self.sigma * rng.standard_normal(n))


@dataclass(frozen=True)
class Gamma:
    """The gamma distribution with this `mean`; `shape` 1 is the exponential, a large one nearly constant."""

    mean: float
    shape: float

    def __post_init__(self) -> None:
        positive("latency.mean", self.mean)
        positive("latency.shape", self.shape)

    @property
    def expectation(self) -> float:
        return self.mean

    def draw(self, rng: Source, n: int) -> Delays:
        return (self.mean / self.shape) * rng.standard_gamma(self.shape, n)


@dataclass(frozen=True)
class Pareto:
    """A heavy tail: P(delay > x) = (scale/x)^alpha for x ≥ `scale`; the mean is infinite for `alpha` ≤ 1."""

    scale: float
    alpha: float

    def __post_init__(self) -> None:
        positive("latency.scale", self.scale)
        positive("latency.alpha", self.alpha)

    @property
    def expectation(self) -> float:
        return self.alpha * self.scale / (self.alpha - 1) if self.alpha > 1 else inf

    def draw(self, rng: Source, n: int) -> Delays:
        return self.scale * (1 - rng.random(n)) ** (-1 / self.alpha)


@dataclass(frozen=True)
class Empirical:
    """Delays that somebody measured, each drawn with the same probability (the bootstrap)."""

    delays: tuple[float, ...]
    _array: Delays = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.delays:
            raise ScenarioError("latency.delays is empty: give at least one measured delay")
        array = np.array(self.delays, dtype=np.float64)
        if not (np.isfinite(array).all() and array.min() >= 0):
            raise ScenarioError("latency.delays: every measured delay must be finite and at least 0")
        object.__setattr__(self, "_array", array)

    @classmethod
    def read(cls, path: str | Path) -> Empirical:
        """Delays in seconds from a CSV file of one column, with or without a heading."""
        try:
            with open(path, newline="", encoding="utf-8") as lines:
                rows = [(number, row) for number, row in enumerate(csv.reader(lines), 1) if row]
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError(f"latency.file = {path}: cannot be read ({error})") from error
        delays = []
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
            delays.append(value)
        if not delays:
            raise ScenarioError(f"latency.file = {path}: holds no delay, one number of seconds a line is needed")
        return cls(tuple(delays))

    @property
    def expectation(self) -> float:
        return float(self._array.mean())

    def draw(self, rng: Source, n: int) -> Delays:
        return self._array[rng.integers(len(self._array), size=n)]


@dataclass(frozen=True)
class Distance:
    """Delay in proportion to length: `base` + `per_unit` · length. Light in fibre takes 4.9 µs a kilometre."""

    per_unit: float
    base: float = 0.0

    def __post_init__(self) -> None:
        not_negative("latency.per_unit", self.per_unit)
        not_negative("latency.base", self.base)

    def over(self, length: float) -> Constant:
        """The delay of a link of this length."""
        return Constant(self.base + self.per_unit * length)
