"""[network.link] and its exceptions: what becomes of a message between two agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ModelWrapValidatorHandler, model_validator

from simnet.parts.fields import Bandwidth, Name, NonNegative, Number, Positive, Probability, Size, Whole
from simnet.parts.part import Section
from simnet.scenario.presets import PRESETS, Preset
from simnet.scenario.times import Constant, Latency

Burst = Annotated[float, BeforeValidator(Number("a number of at least 1", 1))]


class NoLoss(Section):
    """Every message arrives."""

    kind: Literal["none"]


class Bernoulli(Section):
    """Each packet is lost with the same probability, independently."""

    kind: Literal["bernoulli"]
    p: Probability = Field(description="probability that a packet is lost")


class Bursts(Section):
    """Losses come in bursts: everything is lost while the link is bad, nothing while it is good."""

    kind: Literal["bursts"]
    rate: Probability = Field(description="share of packets lost in the long run")
    length: Burst = Field(description="mean length of a run of lost packets")

    @model_validator(mode="after")
    def _possible(self) -> Bursts:
        if self.rate > self.length / (self.length + 1):
            raise ValueError("rate: at most length/(length + 1), for a packet gets through between two bursts")
        return self


class GilbertElliott(Section):
    """A good and a bad state, changing from packet to packet, with a loss probability each."""

    kind: Literal["gilbert-elliott"]
    p_good_to_bad: Probability = Field(description="probability of turning bad before a packet")
    p_bad_to_good: Probability = Field(description="probability of turning good before a packet")
    loss_good: Probability = Field(0.0, description="loss probability in the good state")
    loss_bad: Probability = Field(1.0, description="loss probability in the bad state")

    @model_validator(mode="after")
    def _changes(self) -> GilbertElliott:
        if self.p_good_to_bad + self.p_bad_to_good == 0:
            raise ValueError("p_good_to_bad: above 0 if p_bad_to_good is 0, or the state never changes")
        return self


class Trace(Section):
    """A recorded sequence of fates, taken again from the start when it ends."""

    kind: Literal["trace"]
    file: Name = Field(description="text file of 0 (delivered) and 1 (lost), looked up beside the scenario first")


def _bernoulli(value: Any) -> Any:
    """A bare number stands for a Bernoulli loss."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {"kind": "bernoulli", "p": value}
    return {"kind": value} if isinstance(value, str) else value


Loss = Annotated[
    Annotated[NoLoss | Bernoulli | Bursts | GilbertElliott | Trace, Field(discriminator="kind")],
    BeforeValidator(_bernoulli),
]


class Red(Section):
    """Random early detection: some messages are dropped before the queue is full."""

    low: NonNegative = Field(5.0, description="average queue below which nothing is dropped, in the queue's unit")
    high: Positive = Field(15.0, description="average queue from which everything is dropped")
    chance: Probability = Field(0.02, description="chance of a drop just below `high`")
    weight: Probability = Field(0.002, description="share of the newest queue length in the average")

    @model_validator(mode="after")
    def _ordered(self) -> Red:
        if self.low >= self.high:
            raise ValueError(f"low: below high, which is {self.high:g}")
        return self


class Queue(Section):
    """What may wait for the line; a message that does not fit is dropped."""

    limit: Whole | None = Field(
        None, description="how much may wait behind the packet on the line; unlimited if absent"
    )
    unit: Literal["packets", "bytes"] = Field("packets", description="what the limit counts")
    red: Red | None = Field(None, description="drop early, by the average queue; only when full if absent")


def _packets(value: Any) -> Any:
    """A bare number stands for a limit in packets."""
    return {"limit": value} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


Waiting = Annotated[Queue, BeforeValidator(_packets)]


class _Preset(Section):
    """A table whose absent fields may come from a preset; they count as absent when the file is changed."""

    @model_validator(mode="wrap")
    @classmethod
    def _filled(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        name = data.get("preset") if isinstance(data, Mapping) else None
        if not isinstance(name, str) or name not in PRESETS:
            return handler(data)
        filled = handler(dict(PRESETS[name]) | dict(data))
        known = {info.alias or field: field for field, info in cls.model_fields.items()}
        filled.__pydantic_fields_set__.intersection_update(known.get(key, key) for key in data)
        return filled


class Link(_Preset):
    """One direction of a link; both directions of every link are alike unless overridden."""

    preset: Preset | None = Field(None, description="where the fields that are absent here come from")
    latency: Latency = Field(Constant(kind="constant", value=0.0), description="propagation delay")
    bandwidth: Bandwidth | None = Field(None, description="bit rate of serialisation; unlimited when absent")
    queue: Waiting | None = Field(
        None, description="what may wait for the line, a bare number in packets; unlimited when absent"
    )
    loss: Loss = Field(NoLoss(kind="none"), description="which messages are lost")
    order: Literal["free", "fifo"] = Field(
        "free", description="`free`: a message may overtake an earlier one; `fifo`: none does"
    )
    duplication: Probability = Field(0.0, description="probability that a message arrives a second time")
    corruption: Probability = Field(
        0.0, description="probability that a packet arrives damaged, which its checksum shows"
    )
    mtu: Size | None = Field(None, description="largest packet, overhead included; messages are not cut when absent")
    overhead: Whole = Field(0, description="bytes that every packet has beside its part of the message")

    @model_validator(mode="after")
    def _something_fits(self) -> Link:
        if self.mtu is not None and self.mtu <= self.overhead:
            raise ValueError(f"mtu: more than the overhead, which is {self.overhead} bytes")
        return self


class Access(Link):
    """The line of a user to its server, one for each user, over which pdml's reports go."""


class Override(_Preset):
    """Other values for some links: one link, one direction, all links of an agent, inside a region, between two."""

    link: tuple[Whole, Whole] | None = Field(None, description="both directions between two agents")
    source: Whole | None = Field(None, alias="from", description="one direction: the sender")
    target: Whole | None = Field(None, alias="to", description="one direction: the receiver")
    agent: Whole | None = Field(None, description="both directions of all links of an agent")
    region: tuple[Whole, ...] | None = Field(None, description="all links between these agents")
    across: tuple[Whole, ...] | None = Field(
        None, description="with `region`: not those, but all links between one of them and one of these"
    )
    preset: Preset | None = Field(None, description="where the fields that are absent here come from")
    latency: Latency | None = Field(None, description="propagation delay")
    bandwidth: Bandwidth | None = Field(None, description="bit rate of serialisation")
    queue: Waiting | None = Field(None, description="what may wait for the line")
    loss: Loss | None = Field(None, description="which messages are lost")
    order: Literal["free", "fifo"] | None = Field(None, description="whether messages may overtake")
    duplication: Probability | None = Field(None, description="probability that a message arrives a second time")
    corruption: Probability | None = Field(None, description="probability that a packet arrives damaged")
    mtu: Size | None = Field(None, description="largest packet")
    overhead: Whole | None = Field(None, description="bytes that every packet has beside its part of the message")

    @model_validator(mode="after")
    def _names_one_place(self) -> Override:
        direction = self.source is not None and self.target is not None
        if (self.source is None) != (self.target is None):
            raise ValueError("from: one direction needs both `from` and `to`")
        if self.across is not None and self.region is None:
            raise ValueError("across: stands beside `region`")
        places = [self.link is not None, direction, self.agent is not None, self.region is not None]
        if places.count(True) != 1:
            raise ValueError("link: name exactly one of `link`, `from` with `to`, `agent`, or `region`")
        return self

    def fields(self) -> dict[str, Any]:
        """What it changes, by the names of a link's fields."""
        return self.model_dump(include=set(Link.model_fields) - {"preset"}, exclude_none=True)
