"""An agent's place in a deployment, and who looks after it there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from simnet.live.agent import LiveAgent

Address = tuple[str, int]


@dataclass(frozen=True)
class Post:
    """An agent's place in a deployment."""

    agent: int
    folder: Path
    """where it keeps its journal; its own alone"""
    run: str
    """the deployment's or run's name: agents of others are not listened to"""
    listen: Address
    peers: Mapping[int, Address]
    certificates: Path | None = None
    """where its certificate is; None speaks without TLS, on loopback only"""
    shim: bool = True
    """whether messages and local work take the time, and the risk, that the scenario gives them"""
    own_noise: bool = False
    """whether noise comes from a secret of the agent's own, not from the scenario's seed, which everybody knows"""


class Attendant(Protocol):
    """Who looks after an agent: says when all begin, and when it may leave."""

    async def epoch(self) -> float:
        """The Unix time at which the run begins; asked when all neighbours can be reached."""
        ...

    def told(self, round: int) -> None:
        """The agent has finished a round."""
        ...

    def refused(self, peer: int | None, reason: str) -> None:
        """Something that came over the wire was not let in."""
        ...

    async def dismissed(self, agent: LiveAgent) -> None:
        """Returns when an agent that has finished its last round may leave."""
        ...
