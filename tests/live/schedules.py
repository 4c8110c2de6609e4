"""Schedules of faults for a whole deployment in memory, one per seed: `python -m tests.live.schedules SEED`.

Three agents run as they are: the same agents, channels, journals and recovery, on virtual machines. A schedule kills
processes and cuts power at any step of a disk, tears and forgets what was not safe, lets disks lie, run full and be put
back to an earlier state, spoils connections, and sets clocks. An operator starts every agent again and does what the
sentences say.

After every schedule:

- no frame has left before the disk had called it safe, together with the charge for it;
- no round of an agent has left twice with different bytes, if a neighbour was there that knew better;
- no noise has been drawn for two different releases;
- every agent has finished, or has said why not in a sentence; nothing else was raised;
- an agent whose disk told the truth and was never put back has finished;
- journals that can be merged make a record without a second release, lawful, and where all went in lock step with the
  releases of the simulation.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from struct import Struct
from typing import Any
from unittest.mock import patch

import msgspec

from simnet import Scenario
from simnet import run as simulate
from simnet.agent.pacing import ALIGNED
from simnet.build import World, build
from simnet.errors import LiveError
from simnet.live.agent import LiveAgent, Placement, serve
from simnet.live.envelope import HEAD_BYTES, HEADER_BYTES, EnvelopeKind
from simnet.live.journal import RecordKind, Sending, event_of
from simnet.live.run import merge
from simnet.live.standalone import OwnSupervisor
from simnet.network import frame
from simnet.privacy.secret_noise import CipherNoise
from simnet.record import events
from simnet.record.bus import Bus
from simnet.record.laws import Laws
from simnet.record.lines import parse
from tests.live.virtual_machine import File, Killed, VirtualDisk, VirtualMachine
from tests.live.virtual_network import CURRENT, VirtualLoop, VirtualNetwork
from tests.worlds import live_world

AGENTS, ROUNDS = 3, 4
ROOT = Path("/virtual")
HORIZON = 5_000.0
"""Virtual seconds after which everybody should have come to an end."""
MOST_STARTS = 40
STEPS = 110
"""About as many steps as the disk of an agent takes in a run."""
_HEAD = Struct("<BIII")

LOCK_STEP = {"kind": "barrier", "patience": 500.0}
WORLDS: tuple[dict[str, Any], ...] = (
    {},
    {"algorithm": {"name": "ipp-admm", "eta": 0.05, "max_releases": 2}},
    {"algorithm": {"name": "admm", "eta": 0.05, "duals": "healing"}},
    {"network.pacing": {"kind": "deadline", "period": 1.0}},
    {"network.pacing": {"kind": "quorum", "quorum": 0.5, "patience": 20.0}},
)
IN_STEP = (0, 1, 2)
"""Worlds in which a live run makes the releases of the simulation."""
PLAIN_NOISE = (0, 3, 4)
"""Worlds in which a round draws its noise at once, so that it can be seen which noise went into what."""


@cache
def world_of(which: int) -> World:
    return build(_scenario(which))


@cache
def simulated_releases(which: int) -> dict[tuple[int, int], str]:
    return _releases(event for _, _, event in simulate(_scenario(which)).events)


def _scenario(which: int) -> Scenario:
    return live_world(rounds=ROUNDS, **({"network.pacing": LOCK_STEP} | WORLDS[which]))


def _releases(told: Any) -> dict[tuple[int, int], str]:
    return {(event.agent, event.round): event.value for event in told if isinstance(event, events.ReleaseMade)}


class Broken(AssertionError):
    """A law does not hold."""


@dataclass
class Record:
    """What was seen from outside: what left, what was safe, what was drawn."""

    safe: dict[int, set[tuple[int, int, bytes]]] = field(default_factory=lambda: defaultdict(set))
    """by agent: round, neighbour and frame"""
    charged: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    left: dict[tuple[int, int], dict[int, list[bytes]]] = field(default_factory=lambda: defaultdict(dict))
    """by agent and round, by neighbour: the different frames that left, in order"""
    noise: dict[bytes, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    """what each noise went into"""
    broken: list[str] = field(default_factory=list)


def records_in(data: bytes | bytearray, place: int = 0) -> list[tuple[int, bytes]]:
    """The records of a journal from some place on, read plainly; checksums are the journal's own business."""
    found = []
    while place + _HEAD.size <= len(data):
        kind, length, _, _ = _HEAD.unpack_from(data, place)
        end = place + _HEAD.size + length
        if not kind or end > len(data):
            break
        found.append((kind, bytes(data[place + _HEAD.size : end])))
        place = end
    return found


class Deployment:
    """Three agents, their machines and their operator, under one seed."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = Random(seed)
        self.which = chance.choice((0, 0, 0, 1, 2, 3, 4))
        self.world = world_of(self.which)
        self.own_noise = self.which in PLAIN_NOISE and chance.random() < 0.6
        self.shim = chance.random() < 0.3
        self.lingers = chance.random() < 0.2
        self.hostile = chance.random() < 0.5
        """whether a disk may lie or be put back"""
        self.record = Record()
        self.network = VirtualNetwork(chance, chance.choice((0.0, 0.2, 0.5)), self._tap)
        self.network.quiet_from = 300.0
        self.disks = [VirtualDisk(chance, self._called_safe) for _ in range(AGENTS)]
        self.crashes = chance.choice((2, 3, 5) if self.hostile else (0, 1, 1, 2, 3, 5))
        self.put_back: set[int] = set()
        self.backups: dict[int, dict[Path, bytes]] = {}
        self.said: dict[int, str] = {}
        self.waiting: dict[int, Sequence[int]] = {}
        self.finished: set[int] = set()
        self.trace: list[str] = []
        self._news = asyncio.Event()

    def note(self, agent: int, what: str) -> None:
        self.trace.append(f"{self.network.loop.time():10.2f}  agent {agent}: {what}")
        self._news.set()

    def play(self) -> None:
        """Live through the schedule and judge it; an error says which law it broke."""
        with patch.object(CipherNoise, "_words", _watched(CipherNoise._words)), patch("secrets.token_hex") as token:
            token.side_effect = lambda size: self.chance.randbytes(size).hex()
            with asyncio.Runner(loop_factory=lambda: VirtualLoop(self.network)) as runner:
                runner.run(self.live())
        self.judge()

    # What is seen from outside.

    def _called_safe(self, path: Path, file: File) -> None:
        if path.name != "journal":
            return
        agent = int(path.parent.name)
        for kind, body in records_in(file.data, file.looked_at):
            file.looked_at += _HEAD.size + len(body)
            if kind == RecordKind.EVENT and b'"privacy.spent"' in body:
                self.record.charged[agent].add(parse(body)[2].round)  # type: ignore[union-attr]
            elif kind == RecordKind.SENDING:
                self._frames_are_safe(agent, msgspec.msgpack.decode(body, type=Sending))

    def _frames_are_safe(self, agent: int, sending: Sending) -> None:
        new = {(sending.round, peer, raw) for peer, raw in sending.frames.items()} - self.record.safe[agent]
        self.record.safe[agent] |= new
        drawn = CURRENT.get().drawn
        if new and drawn is not None:
            self.record.noise[drawn].add(b"".join(raw for _, raw in sorted(sending.frames.items())))
            if len(self.record.noise[drawn]) > 1:
                self.record.broken.append(f"agent {agent}: one noise in two releases, round {sending.round}")

    def _tap(self, machine: VirtualMachine, data: bytes) -> None:
        if data[3] != EnvelopeKind.DATA:
            return
        raw = data[HEADER_BYTES + HEAD_BYTES :]
        found, agent = frame.decode(raw), machine.agent
        receivers = [peer for round, peer, safe in self.record.safe[agent] if round == found.round and safe == raw]
        if not receivers:
            self.record.broken.append(f"agent {agent}: round {found.round} left before it was safe")
        private = self.world.calibration.noisy
        if private and found.kind is frame.Kind.VALUE and found.round not in self.record.charged[agent]:
            self.record.broken.append(f"agent {agent}: round {found.round} left without its charge")
        for peer in receivers:
            known = self.record.left[agent, found.round].setdefault(peer, [])
            if raw not in known:
                known.append(raw)
                if len(known) > 1:
                    self._left_twice(agent, found.round)

    def _left_twice(self, agent: int, round: int) -> None:
        """A round has left with other bytes than before: was there a neighbour that could have told?"""
        for peer in set(range(AGENTS)) - {agent}:
            for kind, body in records_in(self.disks[peer].content(ROOT / str(peer) / "journal")):
                found = event_of(RecordKind(kind), body)
                if found is None or not isinstance(found[1], events.MessageDelivered | events.MessageRefused):
                    continue
                if found[1].peer == agent and found[1].round >= round:
                    self.record.broken.append(f"agent {agent}: round {round} left twice, and agent {peer} knew it")
                    return

    # The life of an agent, and its operator.

    async def keep(self, agent: int) -> None:
        """Start an agent again and again, as an operator does, until it has finished or says that it must not go on."""
        for _ in range(MOST_STARTS):
            machine = self._boot(agent)
            place = self._placement(agent)
            supervisor = _Operator(self, agent, machine)
            context = contextvars.copy_context()
            context.run(CURRENT.set, machine)
            task = asyncio.get_running_loop().create_task(
                serve(self.world, place, supervisor, machine), context=context
            )
            machine.on_death = lambda task=task: asyncio.current_task() is task or task.cancel()
            await asyncio.wait([task])
            self.waiting.pop(agent, None)
            if machine.dead:
                self._after_a_crash(agent)
                await asyncio.sleep(self.chance.choice((0.0, 0.5, 20.0)))
                continue
            error = None if task.cancelled() else task.exception()
            machine.die(silently=False)
            if error is None and not task.cancelled():
                self.finished.add(agent)
                self.note(agent, "finished")
                if not await self._called_back(agent):
                    return
            elif not isinstance(error, LiveError):
                raise Broken(f"agent {agent} ended with {error!r}") from error
            elif "No space left" in str(error):
                self.note(agent, str(error))
                self.disks[agent].room = None
            elif "has met a later process" in str(error):
                self.note(agent, str(error))
            else:
                self.said[agent] = str(error)
                self.note(agent, str(error))
                return
        raise Broken(f"agent {agent} is started again and again")

    def _placement(self, agent: int) -> Placement:
        places = {each: ("127.0.0.1", 7000 + each) for each in range(AGENTS)}
        return Placement(
            agent,
            ROOT / str(agent),
            "run",
            places[agent],
            places,
            shim=self.shim,
            own_noise=self.own_noise,
        )

    def _boot(self, agent: int) -> VirtualMachine:
        chance, disk = self.chance, self.disks[agent]
        crash = self.crashes > 0 and chance.random() < 0.7
        dies_at = chance.randint(1, STEPS) if crash else 0
        self.crashes -= crash
        power = chance.random() < 0.5
        backs_up_at = chance.randint(1, STEPS) if self.hostile and agent not in self.backups else 0
        if chance.random() < 0.1:
            disk.room = chance.randint(0, 40_000)
        disk.lies = self.hostile and chance.random() < 0.2
        if disk.lies:
            self.put_back.add(agent)

        def doom(machine: VirtualMachine) -> bool:
            if machine.steps == backs_up_at:
                self.backups[agent] = disk.snapshot()
            if machine.steps < dies_at or not dies_at:
                return False
            self.note(agent, f"{'the power goes' if power else 'killed'} at step {machine.steps}")
            machine.die(silently=power)
            if power:
                disk.lose_power()
            return True

        jump = chance.choice((0.0, 0.0, 0.0, -3600.0, 3600.0, 0.7))
        self.note(agent, f"starts, clock {jump:+} s" + (", its disk lies" if disk.lies else ""))
        return VirtualMachine(agent, disk, self.network, jump, doom)

    def _after_a_crash(self, agent: int) -> None:
        """Somebody restores a backup, or worse."""
        if not self.hostile or self.chance.random() < 0.4:
            return
        disk, journal = self.disks[agent], ROOT / str(agent) / "journal"
        kind = self.chance.choice(("folder", "folder", "journal", "cut", "empty", "incarnation", "nothing left"))
        files, backup = disk.snapshot(), self.backups.get(agent, {})
        if kind == "folder":
            files = dict(backup)
        elif kind == "journal":
            files[journal] = backup.get(journal, b"")
        elif kind == "incarnation":
            files |= {path: data for path, data in backup.items() if path.name == "incarnation"}
        elif kind == "cut":
            files[journal] = files.get(journal, b"")[: self.chance.randint(0, len(files.get(journal, b"")))]
        elif kind == "empty":
            files[journal] = b""
        else:
            files = {}
        self.note(agent, f"put back: {kind}")
        self.put_back.add(agent)
        disk.restore(files)

    async def _called_back(self, agent: int) -> bool:
        """Wait until somebody needs an agent that has left, True, or until all are done, False."""
        while not self.settled:
            if any(agent in peers for peers in self.waiting.values()):
                return True
            await self.news()
        return False

    @property
    def settled(self) -> bool:
        """Whether nobody will do anything any more: who waits, waits for those who said that they must not go on."""
        stuck = {agent for agent, peers in self.waiting.items() if set(peers) & set(self.said)}
        return len(self.finished | set(self.said) | stuck) == AGENTS

    async def news(self) -> None:
        self._news.clear()
        await self._news.wait()

    async def live(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._unhandled)
        keepers = [asyncio.create_task(self.keep(agent)) for agent in range(AGENTS)]
        try:
            async with asyncio.timeout(HORIZON):
                while not self.settled and not self.record.broken:
                    broken = next((task for task in keepers if task.done() and task.exception()), None)
                    if broken is not None:
                        await broken
                    news = asyncio.create_task(self.news())
                    at_work = [task for task in keepers if not task.done()]
                    await asyncio.wait([news, *at_work], return_when=asyncio.FIRST_COMPLETED)
                    news.cancel()
        except TimeoutError:
            late = sorted(set(range(AGENTS)) - self.finished - set(self.said))
            raise Broken(f"agents {late} neither finish nor say why") from None
        finally:
            for task in keepers:
                task.cancel()

    def _unhandled(self, _: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None and not isinstance(error, Killed):
            self.record.broken.append(f"nobody caught {error!r}")

    # The laws that hold at the end.

    def judge(self) -> None:
        if self.record.broken:
            raise Broken("; ".join(dict.fromkeys(self.record.broken)))
        for agent in sorted(set(range(AGENTS)) - self.put_back):
            if agent in self.said:
                raise Broken(f"agent {agent} was never put back, and says: {self.said[agent]}")
        if self.put_back or len(self.finished) < AGENTS:
            return
        told = self._merged()
        timed_out = any(isinstance(event, events.RoundTimeout) for event in told)
        in_step = self.which in IN_STEP and not self.own_noise and not timed_out
        if in_step and _releases(told) != simulated_releases(self.which):
            raise Broken("the releases are not those of the simulation")

    def _merged(self) -> list[events.Event]:
        told: list[events.Event] = []
        laws = Laws(ALIGNED)

        def hear(seq: int, t: float, event: events.Event) -> None:
            told.append(event)
            laws(seq, t, event)

        with tempfile.TemporaryDirectory() as name:
            folders = [Path(name) / str(agent) for agent in range(AGENTS)]
            for agent, folder in enumerate(folders):
                folder.mkdir()
                (folder / "journal").write_bytes(self.disks[agent].content(ROOT / str(agent) / "journal"))
            merge(self.world, folders, Bus(hear))
        if found := laws.finish():
            raise Broken(f"the merged record is not lawful: {found[0]}")
        return told


class _Operator(OwnSupervisor):
    """Looks after one life of an agent."""

    def __init__(self, deployment: Deployment, agent: int, machine: VirtualMachine) -> None:
        super().__init__(ROUNDS, 60.0, lambda text: None, machine)
        self._deployment, self._agent = deployment, agent

    def waits_for(self, peers: Sequence[int]) -> None:
        self._deployment.waiting[self._agent] = peers
        self._deployment.note(self._agent, f"waits for {peers}")

    async def until_dismissed(self, agent: LiveAgent) -> None:
        company = self._deployment
        if company.lingers:
            await super().until_dismissed(agent)
            return
        company.finished.add(self._agent)
        company.note(self._agent, "has done its rounds")
        while not company.settled:
            await company.news()


def _watched(draw: Any) -> Any:
    def words(noise: CipherNoise, count: int) -> Any:
        found = draw(noise, count)
        CURRENT.get().drawn = found.tobytes()
        return found

    return words


def play(seed: int) -> Deployment:
    """Live through a schedule and judge it; an error says which law it broke."""
    deployment = Deployment(seed)
    deployment.play()
    return deployment


def play_all(seeds: Sequence[int]) -> None:
    """Live through many; the first that breaks a law is told with the command that repeats it."""
    for seed in seeds:
        try:
            play(seed)
        except Exception as error:
            command = f"python -m tests.live.schedules {seed}"
            raise AssertionError(f"schedule {seed}: {error}\nrepeat it: {command}") from error


if __name__ == "__main__":
    told = Deployment(int(sys.argv[1]))
    try:
        told.play()
    finally:
        print("\n".join(told.trace))
    print("no law is broken")
