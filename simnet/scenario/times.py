"""Times that vary: delays, durations of work."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from simnet.parts.fields import Name, NonNegative, Positive, PositiveSeconds, Seconds
from simnet.parts.part import Section


class Constant(Section):
    """Always the same."""

    kind: Literal["constant"]
    value: Seconds = Field(description="the time")


class Uniform(Section):
    """Anything between two bounds alike."""

    kind: Literal["uniform"]
    low: Seconds = Field(description="least")
    high: Seconds = Field(description="most")

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.low > self.high:
            raise ValueError(f"low: at most high, which is {self.high:g} s")
        return self


class Normal(Section):
    """A bell curve, cut off below 0."""

    kind: Literal["normal"]
    mean: Seconds = Field(description="mean before the cut")
    std: Seconds = Field(description="standard deviation before the cut")


class Lognormal(Section):
    """The logarithm is normal: most are near the median, some are late."""

    kind: Literal["lognormal"]
    median: PositiveSeconds = Field(description="half are shorter")
    sigma: NonNegative = Field(0.5, description="standard deviation of the logarithm")


class Gamma(Section):
    """A gamma distribution; shape 1 is the exponential, a large one nearly constant."""

    kind: Literal["gamma"]
    mean: PositiveSeconds = Field(description="mean")
    shape: Positive = Field(1.0, description="the standard deviation is mean/√shape")


class Pareto(Section):
    """A heavy tail: the share (scale/x)^alpha is longer than x."""

    kind: Literal["pareto"]
    scale: PositiveSeconds = Field(description="least")
    alpha: Positive = Field(2.5, description="exponent of the tail; the mean is infinite up to 1")


class Empirical(Section):
    """Measured times, each equally likely."""

    kind: Literal["empirical"]
    file: Name = Field(description="CSV file of one column, in seconds, looked up beside the scenario first")


class Distance(Section):
    """In proportion to the distance between the two ends; the topology must have positions."""

    kind: Literal["distance"]
    per_unit: Seconds = Field(description="time for one unit of length")
    base: Seconds = Field(0.0, description="time for no length at all")


def _constant(value: Any) -> Any:
    """A bare time stands for a constant one."""
    return {"kind": "constant", "value": value} if isinstance(value, (str, int, float)) else value


Duration = Annotated[
    Annotated[Constant | Uniform | Normal | Lognormal | Gamma | Pareto | Empirical, Field(discriminator="kind")],
    BeforeValidator(_constant),
]
Latency = Annotated[
    Annotated[
        Constant | Uniform | Normal | Lognormal | Gamma | Pareto | Empirical | Distance, Field(discriminator="kind")
    ],
    BeforeValidator(_constant),
]
