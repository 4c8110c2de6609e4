"""What an engine needs of whatever carries messages in place of the links' own lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simnet.network.frame import Frame
    from simnet.sim.sim_events import Message


class MessageCarrier(ABC):
    """Something that all agents share, and that their messages pass."""

    @abstractmethod
    def carry(self, frame: Frame, messages: Sequence[Message]) -> None:
        """Put these messages of one frame on the record, and let each meet its fate."""

    def silence(self, agent: int) -> None:  # noqa: B027
        """An agent went down: what has not left it never does."""

    def sever(self, sender: int, peer: int) -> None:  # noqa: B027
        """Nothing passes between two agents, or did not until now: what is on its way does not arrive."""

    def close(self) -> None:  # noqa: B027
        """The run is over: put on the record what is known only now."""
