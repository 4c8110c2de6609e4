"""[network]: links, and how agents keep pace over them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from simnet.scenario.fields import (
    Bandwidth,
    NonNegative,
    PositiveSeconds,
    Probability,
    Seconds,
    Section,
    Switch,
    Whole,
)


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


class Lognormal(Section):
    """The logarithm is normal: most are near the median, some are late."""

    kind: Literal["lognormal"]
    median: PositiveSeconds = Field(description="half are shorter")
    sigma: NonNegative = Field(0.5, description="standard deviation of the logarithm")


def _constant(value: Any) -> Any:
    """A bare time stands for a constant one."""
    return {"kind": "constant", "value": value} if isinstance(value, (str, int, float)) else value


Duration = Annotated[Annotated[Constant | Uniform | Lognormal, Field(discriminator="kind")], BeforeValidator(_constant)]


class NoLoss(Section):
    """Every message arrives."""

    kind: Literal["none"]


class Bernoulli(Section):
    """Each message is lost with the same probability, independently."""

    kind: Literal["bernoulli"]
    p: Probability = Field(description="probability that a message is lost")


def _bernoulli(value: Any) -> Any:
    """A bare number stands for a Bernoulli loss."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {"kind": "bernoulli", "p": value}
    return {"kind": value} if isinstance(value, str) else value


Loss = Annotated[Annotated[NoLoss | Bernoulli, Field(discriminator="kind")], BeforeValidator(_bernoulli)]


class Link(Section):
    """One direction of a link; both directions of every link are alike unless overridden."""

    latency: Duration = Field(Constant(kind="constant", value=0.0), description="propagation delay")
    bandwidth: Bandwidth | None = Field(None, description="bit rate of serialisation; unlimited when absent")
    queue: Whole | None = Field(
        None, description="messages that may wait behind the one being sent; unlimited when absent"
    )
    loss: Loss = Field(NoLoss(kind="none"), description="which messages are lost")


class Override(Section):
    """Other values for one link (`link = [a, b]`), one direction (`from`, `to`), or all links of one `agent`."""

    link: tuple[Whole, Whole] | None = Field(None, description="both directions between two agents")
    source: Whole | None = Field(None, alias="from", description="one direction: the sender")
    target: Whole | None = Field(None, alias="to", description="one direction: the receiver")
    agent: Whole | None = Field(None, description="both directions of all links of an agent")
    latency: Duration | None = Field(None, description="propagation delay")
    bandwidth: Bandwidth | None = Field(None, description="bit rate of serialisation")
    queue: Whole | None = Field(None, description="messages that may wait")
    loss: Loss | None = Field(None, description="which messages are lost")

    @model_validator(mode="after")
    def _names_one_place(self) -> Override:
        direction = self.source is not None and self.target is not None
        if (self.source is None) != (self.target is None):
            raise ValueError("from: one direction needs both `from` and `to`")
        if [self.link is not None, direction, self.agent is not None].count(True) != 1:
            raise ValueError("link: name exactly one of `link`, `from` with `to`, or `agent`")
        return self


class Ideal(Section):
    """Every round ends when all have sent and every message has met its fate: the papers' synchronous rounds."""

    kind: Literal["ideal"]


class Barrier(Section):
    """An agent waits until it has heard of this round from every neighbour, or its patience ends."""

    kind: Literal["barrier"]
    patience: PositiveSeconds = Field(1.0, description="longest wait for the neighbours' news of a round")
    notices: Switch = Field(
        True, description="a skip is announced by a header-only message; without it, silence looks like loss"
    )


class Deadline(Section):
    """An agent ends its round at the next tick of its own clock, with whatever has arrived."""

    kind: Literal["deadline"]
    period: PositiveSeconds = Field(0.2, description="time between two ticks")
    notices: Switch = Field(False, description="announce skips by header-only messages")


def _pacing(value: Any) -> Any:
    """A bare word stands for a pacing with its defaults."""
    return {"kind": value} if isinstance(value, str) else value


Pacing = Annotated[Annotated[Ideal | Barrier | Deadline, Field(discriminator="kind")], BeforeValidator(_pacing)]


class Datagram(Section):
    """Sent once, never acknowledged."""

    kind: Literal["datagram"]


Transport = Annotated[Annotated[Datagram, Field()], BeforeValidator(_pacing)]


class Network(Section):
    """Links, and how agents keep pace over them."""

    pacing: Pacing = Field(Ideal(kind="ideal"), description="when a round ends")
    transport: Transport = Field(Datagram(kind="datagram"), description="what happens to a lost message")
    medium: Literal["unicast"] = Field("unicast", description="`unicast`: one message a neighbour")
    codec: Literal["float64", "float32"] = Field("float64", description="how numbers are written into a message")
    link: Link = Field(Link(), description="what every link is like")
    override: tuple[Override, ...] = Field((), description="exceptions, later ones win")


class Compute(Section):
    """How long local work takes."""

    time: Duration = Field(Constant(kind="constant", value=0.0), description="time of one round's local work")
