"""[network]: links, how agents keep pace over them, and what is sent."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simnet.agent.pacing import AnyPacing, Ideal
from simnet.network.codec import CODECS, TopKSettings
from simnet.network.model import Access, LinkModel, Override
from simnet.network.queueing import Intake
from simnet.parts.fields import PositiveSeconds
from simnet.parts.part import Section, WordOf
from simnet.sim.transport import AnyTransport, Datagram


class Network(Section):
    """Links, and how agents keep pace over them."""

    pacing: AnyPacing = Field(Ideal(kind="ideal"), description="when a round ends")
    transport: AnyTransport = Field(Datagram(kind="datagram"), description="what happens to a lost message")
    medium: Literal["unicast", "shared"] = Field(
        "unicast", description="`unicast`: one transmission per neighbour; `shared`: one that reaches all of them"
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
    access: Access = Field(Access(), description="PDML: what the line of each user to its server is like")

    @model_validator(mode="after")
    def _nobody_acknowledges_for_all(self) -> Network:
        if self.medium == "shared" and self.transport.repeats:
            raise ValueError("medium: a reliable transport repeats messages for one neighbour, which is unicast")
        return self

    @property
    def one_line_out(self) -> bool:
        """Whether everything that an agent sends leaves over one line."""
        return self.uplink == "shared" or self.medium == "shared"

    @property
    def recovery_time(self) -> float:
        """How long an agent that lost its state waits for answers, in seconds."""
        return 1.0 if self.recovery is None else self.recovery
