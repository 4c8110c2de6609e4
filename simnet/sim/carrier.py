"""What an engine needs of whatever carries messages, or single packets, in place of the links' own lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simnet.network.frame import Frame
    from simnet.network.link import Passage
    from simnet.sim.sim_events import Message

Then = Callable[[bool], None]
"""Told whether a packet has arrived, then; a second time if a copy of it arrives."""
Unsent = Callable[[int], None]
"""Told how many bytes of a packet never leave, because its host went down."""


class MessageCarrier(ABC):
    """Something that all agents share, and that their messages pass."""

    @abstractmethod
    def carry(self, frame: Frame, messages: Sequence[Message]) -> None:
        """Put these messages of one frame on the record, and let each meet its fate."""

    def silence(self, agent: int) -> None:  # noqa: B027
        """An agent went down: what has not left it never does."""


class PacketService(ABC):
    """Something that carries single packets between agents: their links, or a physical network."""

    @abstractmethod
    def room(self, sender: int, peer: int) -> int | None:
        """How much one packet from one agent to another holds; None if it holds any."""

    @abstractmethod
    def carry(self, sender: int, peer: int, size: int, then: Then, unsent: Unsent | None = None) -> Passage:
        """Send a packet of `size` bytes now, to which links add theirs.

        `then` is called when it has arrived or is lost, and never from here. The passage says what of it left the host,
        and when.
        """

    @abstractmethod
    def silence(self, agent: int) -> None:
        """An agent went down: what waits for its lines, or is on them, never leaves."""

    @abstractmethod
    def sever(self, sender: int, peer: int) -> None:
        """Nothing passes between two agents, or did not until now: what is on its way does not arrive."""

    def close(self) -> None:  # noqa: B027
        """The run is over: put on the record what is known only now."""
