"""Delays that are drawn from a distribution, each message's by itself."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import scipy

from simnet.extend import Field, Latency, NonNegative, Positive, PositiveSeconds, Seconds, Vector, model_validator


class Uniform(Latency):
    """Anything between two bounds alike."""

    kind: Literal["uniform"]
    together: ClassVar[bool] = True
    low: Seconds = Field(description="least")
    high: Seconds = Field(description="most")

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.low > self.high:
            raise ValueError(f"low: at most high, which is {self.high:g} s")
        return self

    def draw(self, rng: np.random.Generator, n: int) -> Vector:
        return self.low + (self.high - self.low) * rng.random(n)


class Normal(Latency):
    """A bell curve, cut off below 0.

    It is the normal distribution N(`mean`, `std`²) given that it is not negative. One uniform number per time is put
    through the inverse of its distribution function, so that no draw is thrown away.
    """

    kind: Literal["normal"]
    together: ClassVar[bool] = True
    mean: Seconds = Field(description="mean before the cut")
    std: Seconds = Field(description="standard deviation before the cut")

    def draw(self, rng: np.random.Generator, n: int) -> Vector:
        if self.std == 0:
            return np.full(n, self.mean)
        # The upper tail is inverted from the left: 1 − u would lose the digits that make a far tail.
        u = rng.random(n) * scipy.special.ndtr(self.mean / self.std)
        times: Vector = self.mean - self.std * scipy.special.ndtri(np.maximum(u, np.finfo(np.float64).tiny))
        return np.maximum(times, 0.0)


class Lognormal(Latency):
    """The logarithm is normal: most are near the median, some are late."""

    kind: Literal["lognormal"]
    together: ClassVar[bool] = True
    median: PositiveSeconds = Field(description="half are shorter")
    sigma: NonNegative = Field(0.5, description="standard deviation of the logarithm")

    def draw(self, rng: np.random.Generator, n: int) -> Vector:
        return self.median * np.exp(self.sigma * rng.standard_normal(n))


class Gamma(Latency):
    """A gamma distribution; shape 1 is the exponential, a large one nearly constant."""

    kind: Literal["gamma"]
    together: ClassVar[bool] = True
    mean: PositiveSeconds = Field(description="mean")
    shape: Positive = Field(1.0, description="the standard deviation is mean/√shape")

    def draw(self, rng: np.random.Generator, n: int) -> Vector:
        return (self.mean / self.shape) * rng.standard_gamma(self.shape, n)


class Pareto(Latency):
    """A heavy tail: the share (scale/x)^alpha is longer than x."""

    kind: Literal["pareto"]
    together: ClassVar[bool] = True
    scale: PositiveSeconds = Field(description="least")
    alpha: Positive = Field(2.5, description="exponent of the tail; the mean is infinite up to 1")

    def draw(self, rng: np.random.Generator, n: int) -> Vector:
        return self.scale * (1 - rng.random(n)) ** (-1 / self.alpha)
