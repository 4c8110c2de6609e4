"""[network.transport]: what happens to a lost message."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from simnet.parts.fields import Count, Number, PositiveSeconds
from simnet.parts.part import OneOf, Part, bare_word, table
from simnet.sim.interfaces import Engine, Transport
from simnet.sim.reliable import Reliable


class TransportKind(Part):
    """How a message is seen through."""

    repeats: ClassVar[bool] = False
    """Whether a message is sent again until its receiver has acknowledged it."""

    def made(self, engine: Engine) -> Transport | None:
        """The transport of all agents of an engine; None if messages are left to themselves."""
        return None


class Datagram(TransportKind):
    """Sent once, never acknowledged."""

    kind: Literal["datagram"]


class Acknowledged(TransportKind):
    """Acknowledged, and sent again until it is, with pauses that double, a number of times at most."""

    kind: Literal["reliable"]
    timeout: PositiveSeconds = Field(0.2, description="pause before the first repetition")
    backoff: Annotated[float, BeforeValidator(Number("a number of at least 1", 1))] = Field(
        2.0, description="each pause is so many times the one before"
    )
    attempts: Count = Field(8, description="transmissions after which the sender gives up")
    repeats: ClassVar[bool] = True

    def made(self, engine: Engine) -> Transport:
        return Reliable(engine, self.timeout, self.backoff, self.attempts)


TRANSPORTS = table(Datagram, Acknowledged)
AnyTransport = Annotated[TransportKind, OneOf(TRANSPORTS, bare_word)]
