"""All agents of a run as processes of this machine: started, watched, restarted when they die, stopped together.

The processes are forked from one that has built the world, so that twenty agents do not read the data twenty times. A
process that dies by a signal is started again and goes on from its journal; one that gives up with a sentence ends the
run. Whatever ends the run, no process is left behind: an agent whose parent is gone stops by itself.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from simnet.build import World
from simnet.diagnostics import warn
from simnet.errors import LiveError, SimnetError
from simnet.live.agent import LiveAgent, Placement, serve
from simnet.live.machine import HERE, Machine
from simnet.threads import one_thread

LOOPBACK = "127.0.0.1"
_LEAD_TIME = 0.2
"""Seconds between the word that all begin and the beginning."""
_GRACE = 5.0
"""Seconds that a process has to stop."""
_RESTARTS = 20
"""How often one agent is started again."""


@dataclass
class _Member:
    """One agent as its fleet sees it."""

    placement: Placement
    process: BaseProcess
    pipe: Connection
    starts: int = 1
    round: int = 0
    done: bool = False
    said: str | None = None


@dataclass
class Fleet:
    """The agents of a world, each in a folder of its own under `folder`."""

    world: World
    folder: Path
    run: str
    certificates: Path | None = None
    shim: bool = True
    machine: Machine = HERE
    refusals: Counter[str] = field(default_factory=Counter)
    """what was not let in, by reason"""
    restarts: int = 0

    def __post_init__(self) -> None:
        self._members: dict[int, _Member] = {}
        self._epoch: float | None = None
        self._ready: set[int] = set()

    @property
    def folders(self) -> list[Path]:
        """Where the agents keep their journals."""
        return [self.folder / f"agent-{agent}" for agent in range(self.world.agents)]

    def process(self, agent: int) -> int:
        """The number of an agent's process."""
        pid = self._members[agent].process.pid
        assert pid is not None
        return pid

    @property
    def rounds(self) -> dict[int, int]:
        """How many rounds each agent has finished."""
        return {agent: member.round for agent, member in self._members.items()}

    def run_all(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Run every agent to its last round; `progress` is told how many rounds all have finished."""
        addresses = dict(enumerate((LOOPBACK, port) for port in free_ports(self.world.agents)))
        told = 0
        try:
            for agent in range(self.world.agents):
                placement = Placement(
                    agent,
                    self.folders[agent],
                    self.run,
                    addresses[agent],
                    {peer: addresses[peer] for peer in self.world.graph[agent]},
                    self.certificates,
                    self.shim,
                )
                self._members[agent] = self._start(placement)
            while not all(member.done for member in self._members.values()):
                self._watch()
                rounds = min(self.rounds.values())
                if progress is not None and rounds > told:
                    progress(rounds, self.world.scenario.rounds)
                told = rounds
            for member in self._members.values():
                member.pipe.send(("stop", None))
            for member in self._members.values():
                member.process.join(_GRACE)
        finally:
            self._stop()

    def _start(self, placement: Placement) -> _Member:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(
            target=_agent_process, args=(self.world, placement, theirs, self.machine), daemon=True
        )
        process.start()
        theirs.close()
        return _Member(placement, process, ours)

    def _watch(self) -> None:
        """Wait for something to happen, and react to it."""
        by_source: dict[object, _Member] = {}
        for member in self._members.values():
            by_source[member.process.sentinel] = by_source[member.pipe] = member
        for ready in wait(list(by_source), timeout=1.0):  # type: ignore[arg-type]
            member = by_source[ready]
            if ready is member.pipe:
                with suppress(EOFError, OSError):
                    self._hear(member, *member.pipe.recv())
            elif not member.process.is_alive():
                self._ended_early(member)

    def _hear(self, member: _Member, word: str, value: int | str | None) -> None:
        agent = member.placement.agent
        if word == "ready":
            self._ready.add(agent)
            if self._epoch is None and len(self._ready) == self.world.agents:
                self._epoch = time.time() + _LEAD_TIME
                for other in self._members.values():
                    other.pipe.send(("start", self._epoch))
            elif self._epoch is not None:
                member.pipe.send(("start", self._epoch))
        elif word == "round":
            assert isinstance(value, int)
            member.round = value
        elif word == "refused":
            self.refusals[str(value)] += 1
        elif word == "done":
            member.done = True
        else:
            member.said = str(value)

    def _ended_early(self, member: _Member) -> None:
        """A process has ended before the run."""
        while member.pipe.poll():
            with suppress(EOFError, OSError):
                self._hear(member, *member.pipe.recv())
                continue
            break
        code, agent = member.process.exitcode or 0, member.placement.agent
        if code >= 0:
            raise LiveError(f"agent {agent}: {member.said or ('it was told to stop' if code == 0 else 'it failed')}")
        if member.starts > _RESTARTS:
            raise LiveError(f"agent {agent} died {member.starts} times, the last time by signal {-code}")
        warn("agent died and is started again", agent=agent, signal=-code, count=member.starts)
        self._ready.discard(agent)
        self.restarts += 1
        member.pipe.close()
        new = self._start(member.placement)
        new.starts, new.round = member.starts + 1, member.round
        self._members[agent] = new

    def _stop(self) -> None:
        for member in self._members.values():
            if member.process.is_alive():
                member.process.terminate()
        deadline = time.monotonic() + _GRACE
        for member in self._members.values():
            member.process.join(max(0.0, deadline - time.monotonic()))
            if member.process.is_alive():
                member.process.kill()
                member.process.join()
            member.pipe.close()


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens on."""
    with ExitStack() as closing:
        sockets = [closing.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [each.getsockname()[1] for each in sockets]


def _agent_process(world: World, placement: Placement, pipe: Connection, machine: Machine) -> None:
    """What an agent's process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent sees to it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with one_thread():
            asyncio.run(_supervised(world, placement, pipe, machine))
    except SimnetError as error:
        pipe.send(("failed", str(error)))
        raise SystemExit(1) from None


async def _supervised(world: World, placement: Placement, pipe: Connection, machine: Machine) -> None:
    life = asyncio.create_task(serve(world, placement, _Parent(pipe), machine))
    parent = multiprocessing.parent_process()
    assert parent is not None, "only a fleet starts this"
    # Not `os.getppid()`: a parent that has been killed already would never be missed.
    orphan = asyncio.create_task(_orphaned(parent.pid or 0))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, life.cancel)
    await asyncio.wait([life, orphan], return_when=asyncio.FIRST_COMPLETED)
    for task in (life, orphan):
        task.cancel()
    with suppress(asyncio.CancelledError):
        await life


async def _orphaned(parent: int) -> None:
    while os.getppid() == parent:
        await asyncio.sleep(1.0)


class _Parent:
    """The parent process, as an agent knows it: a `Supervisor`."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._words: dict[str, asyncio.Future[float | None]] = {
            word: asyncio.get_running_loop().create_future() for word in ("start", "stop")
        }
        asyncio.get_running_loop().add_reader(pipe.fileno(), self._read)

    def _read(self) -> None:
        try:
            word, value = self._pipe.recv()
        except (EOFError, OSError):
            asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            return
        if not self._words[word].done():
            self._words[word].set_result(value)

    def _say(self, word: str, value: object) -> None:
        with suppress(OSError):
            self._pipe.send((word, value))

    async def epoch(self) -> float:
        self._say("ready", None)
        epoch = await self._words["start"]
        assert epoch is not None
        return epoch

    def round_finished(self, round: int) -> None:
        self._say("round", round)

    def waits_for(self, peers: Sequence[int]) -> None:
        pass  # its neighbours are started again as it was

    def refused(self, peer: int | None, reason: str) -> None:
        self._say("refused", reason)

    async def until_dismissed(self, agent: LiveAgent) -> None:
        self._say("done", None)
        await self._words["stop"]
