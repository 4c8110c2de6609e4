"""Where the agents of a deployment are, what one of them needs to know of itself, and who looks after it.

The peer file names the deployment and says where each agent listens:

    run = "clinics"

    [agents]
    0 = "10.0.0.1:7000"
    1 = "10.0.0.2:7000"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from simnet.errors import LiveError

if TYPE_CHECKING:
    from simnet.live.agent import LiveAgent

Address = tuple[str, int]


@dataclass(frozen=True)
class Placement:
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
    """whether messages and local work take the times, and meet the losses, that the scenario gives them"""
    own_noise: bool = False
    """whether noise comes from a secret of the agent's own, not from the scenario's seed, which everybody knows"""


class Supervisor(Protocol):
    """Who looks after an agent: says when all begin, and when it may leave."""

    async def epoch(self) -> float:
        """The Unix time at which the run begins; asked when all neighbours can be reached."""
        ...

    def round_finished(self, round: int) -> None:
        """The agent has finished a round."""
        ...

    def refused(self, peer: int | None, reason: str) -> None:
        """Something that came over the wire was not let in."""
        ...

    async def until_dismissed(self, agent: LiveAgent) -> None:
        """Returns when an agent that has finished its last round may leave."""
        ...


@dataclass(frozen=True)
class Peers:
    """What a peer file says."""

    run: str
    agents: dict[int, Address]


def load_peers(path: Path, agents: int) -> Peers:
    """Read a peer file that names all agents from 0 to `agents` − 1."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"not TOML: {error}"
        raise LiveError(f"{path}: the peer file cannot be read ({reason})") from None
    run, table = content.get("run"), content.get("agents")
    if not isinstance(run, str) or not run:
        raise LiveError(f'{path}: run is missing, the name of the deployment: run = "clinics"')
    if not isinstance(table, dict):
        raise LiveError(f'{path}: [agents] is missing, where each agent listens: 0 = "10.0.0.1:7000"')
    if sorted(table) != sorted(str(agent) for agent in range(agents)):
        raise LiveError(f"{path}: [agents] should name the agents 0 to {agents - 1}, each once")
    return Peers(run, {int(agent): read_address(place, f"{path}: agents.{agent}") for agent, place in table.items()})


def read_address(text: object, what: str) -> Address:
    """`host:port`, or `[host]:port` for an address with colons."""
    host, _, port = text.rpartition(":") if isinstance(text, str) else ("", "", "")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise LiveError(f"{what} = {text!r}: should be host:port, as in 10.0.0.1:7000")
    return host.removeprefix("[").removesuffix("]"), int(port)
