"""`simnet agent`: one agent on a host of its own, with nobody to look after it."""

from __future__ import annotations

import asyncio
import signal
import tomllib
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from simnet.build import build
from simnet.diagnostics import milestone
from simnet.errors import LiveError
from simnet.live.agent import Address, LiveAgent, Placement, serve
from simnet.live.machine import HERE, Machine
from simnet.live.run import check
from simnet.scenario import Scenario
from simnet.threads import one_thread
from simnet.version import VERSION

_PAUSE = 0.05


def load_peers(path: Path, agents: int) -> tuple[str, dict[int, Address]]:
    """The run and the addresses in a peer file that names all agents from 0 to `agents` − 1."""
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
    return run, {int(agent): read_address(place, f"{path}: agents.{agent}") for agent, place in table.items()}


def read_address(text: object, what: str) -> Address:
    """`host:port`, or `[host]:port` for an address with colons."""
    host, _, port = text.rpartition(":") if isinstance(text, str) else ("", "", "")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise LiveError(f"{what} = {text!r}: should be host:port, as in 10.0.0.1:7000")
    return host, int(port)


@dataclass(eq=False)
class OwnSupervisor:
    """A supervisor that begins when the neighbours are there, and leaves when nobody can need the agent any more.

    That is when all its messages have been acknowledged and the neighbours' last ones are in; after `linger` seconds in
    any case. An agent that was started when it had finished already stays that long: a neighbour may have been put
    back, and wait to hear what this one holds of it.
    """

    rounds: int
    linger: float
    say: Callable[[str], None]
    machine: Machine = HERE

    def __post_init__(self) -> None:
        self._refused: Counter[tuple[int | None, str]] = Counter()
        self._lived = False
        """Whether a round has ended since the start."""

    async def epoch(self) -> float:
        self.say("all neighbours are there; the first round begins")
        return self.machine.now()

    def round_finished(self, round: int) -> None:
        self._lived = True
        if round == self.rounds or round % max(1, self.rounds // 10) == 0:
            self.say(f"round {round} of {self.rounds}")

    def waits_for(self, peers: Sequence[int]) -> None:
        names = " and ".join(str(peer) for peer in peers)
        self.say(f"waits for agent {names} to say what it holds of this agent; start it, or --without it if it is gone")

    def refused(self, peer: int | None, reason: str) -> None:
        """Told at the first, the tenth, the hundredth time: a flood must not fill a disk."""
        self._refused[peer, reason] += 1
        count = self._refused[peer, reason]
        if milestone(count):
            who = "somebody" if peer is None else f"agent {peer}"
            self.say(f"refused what {who} sent: {reason}" + (f", {count} times by now" if count > 1 else ""))

    async def until_dismissed(self, agent: LiveAgent) -> None:
        self.say("finished; waiting for the neighbours")
        end = self.machine.ticks() + self.linger
        while self.machine.ticks() < end:
            agent.memory.save()
            nothing_left = not any(agent.carrier.waiting.values()) and not any(agent.channel.pending.values())
            if self._lived and nothing_left and agent.neighbourhood.behind(self.rounds) == 0:
                return
            await asyncio.sleep(_PAUSE)


def run(scenario: Scenario, placement: Placement, *, linger: float, say: Callable[[str], None]) -> bool:
    """Be one agent of a deployment to its end; False if told to stop before (SIGTERM, Ctrl-C).

    Agents of one deployment must agree on everything: the name by which they know each other as such holds scenario and
    version, so that one that was given another scenario is not listened to.
    """
    check(scenario, shim=placement.shim)
    world = build(scenario)
    hashes = "".join(part.sha256 for part in scenario.foreign())
    agreed = sha256(f"{VERSION}\n{scenario.to_toml()}{hashes}".encode()).hexdigest()[:16]
    placement = replace(placement, run=f"{placement.run}/{agreed}")
    with one_thread():
        return asyncio.run(_until_stopped(serve(world, placement, OwnSupervisor(scenario.rounds, linger, say))))


async def _until_stopped(life: Coroutine[object, object, None]) -> bool:
    task = asyncio.create_task(life)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task
        return True
    return False
