"""[network]: links, how agents keep pace over them, and how long local work takes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from simnet.network.codec import CODECS, TopKSettings
from simnet.network.inbox import Intake
from simnet.network.latency import NO_TIME, AnyDuration
from simnet.network.model import Access, LinkModel, Override
from simnet.parts.fields import Count, Number, PositiveSeconds, PositiveShare, Seconds, Switch, Whole
from simnet.parts.part import Section, WordOf

Skew = Annotated[float, BeforeValidator(Number("a share of at least 0 and below 1", 0, 1, open_high=True))]


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
    skew: Skew = Field(0.0, description="an agent's clock is fast or slow by up to this share, for good")
    jitter: Seconds = Field(0.0, description="each tick is late by up to this much, below the period")
    notices: Switch = Field(False, description="announce skips by header-only messages")

    @model_validator(mode="after")
    def _ticks_in_order(self) -> Deadline:
        if self.jitter >= self.period * (1 - self.skew):
            raise ValueError("jitter: below the period of the fastest clock")
        return self


class Quorum(Section):
    """An agent waits for news of this round from a share of its neighbours, and lets none of them become too old."""

    kind: Literal["quorum"]
    quorum: PositiveShare = Field(0.5, description="share of the neighbours that must have been heard of in this round")
    max_staleness: Whole = Field(5, description="rounds since each neighbour was last heard of, at most")
    patience: PositiveSeconds = Field(1.0, description="longest wait")
    notices: Switch = Field(True, description="a skip is announced by a header-only message")


class Free(Section):
    """An agent never waits: it works with what it knows."""

    kind: Literal["free"]
    notices: Switch = Field(False, description="announce skips by header-only messages")


def _pacing(value: Any) -> Any:
    """A bare word stands for the kind with its defaults."""
    return {"kind": value} if isinstance(value, str) else value


Pacing = Annotated[
    Annotated[Ideal | Barrier | Deadline | Quorum | Free, Field(discriminator="kind")], BeforeValidator(_pacing)
]


class Datagram(Section):
    """Sent once, never acknowledged."""

    kind: Literal["datagram"]


class Reliable(Section):
    """Acknowledged, and sent again until it is, with pauses that double, a number of times at most."""

    kind: Literal["reliable"]
    timeout: PositiveSeconds = Field(0.2, description="pause before the first repetition")
    backoff: Annotated[float, BeforeValidator(Number("a number of at least 1", 1))] = Field(
        2.0, description="each pause is so many times the one before"
    )
    attempts: Count = Field(8, description="transmissions after which the sender gives up")


Transport = Annotated[Annotated[Datagram | Reliable, Field(discriminator="kind")], BeforeValidator(_pacing)]


class Network(Section):
    """Links, and how agents keep pace over them."""

    pacing: Pacing = Field(Ideal(kind="ideal"), description="when a round ends")
    transport: Transport = Field(Datagram(kind="datagram"), description="what happens to a lost message")
    medium: Literal["unicast", "shared"] = Field(
        "unicast", description="`unicast`: one transmission a neighbour; `shared`: one that reaches all of them"
    )
    uplink: Literal["independent", "shared"] = Field(
        "independent", description="`shared`: all links of an agent take turns on one line out"
    )
    codec: Annotated[str, WordOf(CODECS)] = Field("float64", description="how numbers are written into a message")
    topk: TopKSettings = Field(TopKSettings(), description="settings of the codec `top-k`")
    inbox: Intake = Field(Intake(), description="how an agent takes in what arrives")
    recovery: PositiveSeconds | None = Field(
        None,
        description="how long an agent that lost its state in a crash waits for its neighbours' answers; default: 1 s",
    )
    link: LinkModel = Field(LinkModel(), description="what every link is like")
    override: tuple[Override, ...] = Field((), description="exceptions, later ones win")
    access: Access = Field(Access(), description="pdml: what the line of each user to its server is like")

    @model_validator(mode="after")
    def _nobody_acknowledges_for_all(self) -> Network:
        if self.medium == "shared" and self.transport.kind == "reliable":
            raise ValueError("medium: a reliable transport repeats messages for one neighbour, which is unicast")
        return self


class Compute(Section):
    """How long local work takes."""

    time: AnyDuration = Field(NO_TIME, description="time of one round's local work")
    per_gradient: Seconds = Field(0.0, description="and this for each gradient that the solver evaluates")
