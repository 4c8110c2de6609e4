"""[network.transport]: what happens to a lost message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from simnet.errors import ScenarioError
from simnet.parts.fields import Count, Number, PositiveSeconds, Seconds, Size
from simnet.parts.part import OneOf, Part, bare_word, table
from simnet.sim.reliable import HEADER, Reliable, cut

if TYPE_CHECKING:
    from simnet.network.model import LinkModel
    from simnet.sim.engine import VirtualEngine


class TransportKind(Part):
    """How a message is seen through."""

    repeats: ClassVar[bool] = False
    """Whether what was lost is sent again."""

    def leaves_out(self, round_trip: float) -> str | None:
        """What a real transport would do and this one does not, where a value and its answer take so many seconds."""
        return None

    def made(self, engine: VirtualEngine) -> Reliable | None:
        """The transport of all agents of an engine; None if messages are left to themselves."""
        return None

    def packets(self, size: int, room: int | None) -> list[int]:
        """What is handed to the link of a message of `size` bytes, where a packet has room for so many."""
        return [size]

    def refuse_too_small(self, model: LinkModel, where: str) -> None:
        """Refuse a link whose packets leave no room for a part of a message."""

    def caution(self, patience: float) -> str | None:
        """What to know about agents that wait so long for their neighbours, if there is something."""
        return None


class Datagram(TransportKind):
    """Sent once, never acknowledged."""

    kind: Literal["datagram"]


class Acknowledged(TransportKind):
    """A byte stream per link, as TCP: a sliding window, and what is lost is sent again packet by packet."""

    kind: Literal["reliable"]
    timeout: PositiveSeconds = Field(
        1.0, description="retransmission timeout until a round trip was measured (RFC 6298)"
    )
    backoff: Annotated[float, BeforeValidator(Number("a number of at least 1", 1))] = Field(
        2.0, description="each further timeout in a row is this many times as long, up to 60 s"
    )
    attempts: Count = Field(15, description="transmissions of one segment after which its message is given up")
    min_timeout: PositiveSeconds | None = Field(
        None, description="shortest retransmission timeout by measured round trips; default: 1 s, or `timeout` if less"
    )
    ack_delay: Seconds | None = Field(
        None,
        description="longest wait of an acknowledgement for a second segment; default: a fifth of `min_timeout`",
    )
    buffer: Size = Field(131072, description="bytes of a stream that may be unacknowledged")
    repeats: ClassVar[bool] = True

    @property
    def least_timeout(self) -> float:
        return min(1.0, self.timeout) if self.min_timeout is None else self.min_timeout

    @property
    def longest_ack_delay(self) -> float:
        return self.least_timeout / 5 if self.ack_delay is None else self.ack_delay

    def leaves_out(self, round_trip: float) -> str | None:
        if self.timeout > round_trip:
            return None
        return (
            f"the first timeout of {self.timeout:g} s is below the median round trip of {round_trip:.3g} s: the first "
            "segment of a stream may be repeated although it was not lost"
        )

    def made(self, engine: VirtualEngine) -> Reliable:
        return Reliable(engine, self)

    def packets(self, size: int, room: int | None) -> list[int]:
        return [HEADER + segment for segment in cut(size, room)]

    def refuse_too_small(self, model: LinkModel, where: str) -> None:
        if model.mtu is not None and model.mtu - model.overhead <= HEADER:
            raise ScenarioError(
                f"{where} = {model.mtu}: a reliable transport adds {HEADER} bytes to the overhead of "
                f"{model.overhead}, so more than {HEADER + model.overhead} are needed"
            )

    def caution(self, patience: float) -> str | None:
        if patience > self.least_timeout:
            return None
        return (
            f"the patience of {patience:g} s ends before a lost message of one packet is sent again, after "
            f"{self.least_timeout:g} s at least; a longer patience or a shorter timeout would do"
        )


TRANSPORTS = table(Datagram, Acknowledged)
AnyTransport = Annotated[TransportKind, OneOf(TRANSPORTS, bare_word)]
