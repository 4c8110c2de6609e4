"""The peer file: the deployment's name, and where each agent listens.

run = "clinics"

[agents]
0 = "10.0.0.1:7000"
1 = "10.0.0.2:7000"
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from simnet.errors import LiveError


@dataclass(frozen=True)
class Peers:
    """Who is where."""

    run: str
    agents: dict[int, tuple[str, int]]


def load(path: Path, agents: int) -> Peers:
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
    return Peers(run, {int(agent): address(place, f"{path}: agents.{agent}") for agent, place in table.items()})


def address(text: object, what: str) -> tuple[str, int]:
    """`host:port`, or `[host]:port` for an address with colons."""
    host, _, port = text.rpartition(":") if isinstance(text, str) else ("", "", "")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise LiveError(f"{what} = {text!r}: should be host:port, as in 10.0.0.1:7000")
    return host.removeprefix("[").removesuffix("]"), int(port)
