"""One agent's port under SimPy: time, messages, and what a crash does to both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from simnet.agent.audience import Audience
from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.pacing import WorkTime
from simnet.agent.port import Costly, ages, never
from simnet.learning.evaluation import State
from simnet.methods.peer import Known, Peer, Proposal
from simnet.network.frame import Frame, Kind, Writer
from simnet.network.queueing import Inbox
from simnet.sim.sim_events import NEW_WORK, ROUND_END, Signal
from simnet.vectors import Parts, Vector

if TYPE_CHECKING:
    from simnet.sim.engine import VirtualEngine
    from simnet.sim.sim_events import Message

_VALUE, _NOTICE, _, _REQUEST, _REPLY = Kind
# A member of an enumeration takes ten times as long to look up by its name.


class VirtualPort:
    """What an agent program sees of the virtual engine.

    While the agent is down its program stands still: work goes on where it stopped, a wait that ended meanwhile ends at
    the restart, and whatever is sent to the agent does not reach it.
    """

    __slots__ = (
        *("agent", "done", "down", "emit", "gone", "inbox", "neighbours", "slowness"),
        *("_answers", "_audience", "_downtime", "_engine", "_fell", "_neighbourhood", "_recovery", "_relapsed"),
        *("_restart", "_rounds", "_waiting", "_work_time", "_writer"),
    )

    def __init__(
        self,
        engine: VirtualEngine,
        agent: int,
        neighbourhood: Neighbourhood,
        writer: Writer,
        work_time: WorkTime,
        rounds: int,
        inbox: Inbox | None,
        recovery: float,
        audience: Audience,
    ) -> None:
        self.agent = agent
        self.neighbours: Sequence[int] = neighbourhood.peers
        self.emit = engine.emit
        self.inbox = inbox
        self.down = 0
        """How many faults keep it down."""
        self.done = False
        """All rounds are finished."""
        self.gone = False
        """Down for good."""
        self.slowness = 1.0
        """How many times longer its work takes."""
        self._engine = engine
        self._audience = audience
        self._neighbourhood = neighbourhood
        self._writer = writer
        self._work_time = work_time
        self._rounds = rounds
        self._recovery = recovery
        self._waiting: tuple[Signal, Callable[[], bool]] | None = None
        self._restart: Signal | None = None
        self._fell = 0.0
        self._downtime = 0.0
        self._relapsed = False
        self._answers: dict[int, Known] | None = None
        """To what it has asked its neighbours; None if it never has."""

    @property
    def now(self) -> float:
        return self._engine.now

    def audience(self, round: int) -> Sequence[int]:
        return self._audience.of(round)

    async def work(self, peer: Peer, round: int) -> Proposal:
        begun = peer.propose(round)
        found = begun if isinstance(begun, Proposal) else await self._engine.solve(begun)
        await self._take_time(found)
        return found if isinstance(found, Proposal) else found.outcome()

    async def _take_time(self, work: Costly) -> None:
        engine, downtime = self._engine, self._downtime
        end = engine.now + self._work_time(work) * self.slowness
        await engine.timer(end, NEW_WORK)
        while self.down or self._downtime > downtime:
            if self._restart is not None:
                await self._restart
            end, downtime = end + self._downtime - downtime, self._downtime
            await engine.timer(end, NEW_WORK)

    def encode(self, model: Vector, accompany: Callable[[Vector], Parts]) -> tuple[bytes, Parts]:
        payload, told = self._writer.model(model, accompany)
        return payload, _shared(told)

    def seal(self, peer: int, parts: Parts) -> bytes:
        return self._writer.letter(peer, parts)

    def broadcast(self, round: int, payload: bytes) -> None:
        self._engine.send(self.agent, self.audience(round), round, _VALUE, payload, self._writer.said(payload))

    def post(self, round: int, payloads: Mapping[int, bytes]) -> None:
        for peer, payload in payloads.items():
            self._engine.send(self.agent, (peer,), round, _VALUE, payload)

    def notify(self, round: int) -> None:
        self._engine.send(self.agent, self.audience(round), round, _NOTICE, b"")

    async def until(self, ready: Callable[[], bool], deadline: float | None) -> bool:
        if ready is never and deadline is not None:
            await self._engine.timer(deadline, ROUND_END)
            while self._restart is not None:
                await self._restart
            return False
        if ready():
            return True
        signal = self._engine.signal()
        self._waiting = (signal, ready)
        if deadline is not None:
            self._engine.at(deadline, lambda: self._time_is_up(signal), ROUND_END)
        in_time = bool(await signal)
        while self._restart is not None:
            await self._restart
        return in_time

    def _time_is_up(self, signal: Signal) -> None:
        if self._waiting is not None and self._waiting[0] is signal:
            self._waiting = None
            signal.end(False)

    def alarm(self, time: float) -> Signal:
        return self._engine.timer(time, NEW_WORK)

    async def rendezvous(self) -> None:
        await self._engine.meeting.join(self.agent)
        while self._restart is not None:
            await self._restart

    def used(self, round: int, known: Sequence[Known]) -> None:
        engine = self._engine
        engine.bus.used(engine.now, self.agent, round, self.neighbours, ages(round, known))

    def finished(self, round: int, peer: Peer, outputs: Sequence[Vector]) -> None:
        self._engine.note(self.agent, round, State(peer.theta, peer.dual, outputs))
        if round == self._rounds:
            self.done = True
            self._engine.retire()
            self._engine.meeting.expect(-1)

    def relapsed(self) -> bool:
        relapsed, self._relapsed = self._relapsed, False
        return relapsed

    async def ask(self, round: int) -> list[Known]:
        answers: dict[int, Known] = {}
        self._answers = answers
        asked, end = self.now, self.now + self._recovery
        self._engine.send(self.agent, self.neighbours, round, _REQUEST, b"")
        if await self.until(lambda: bool(answers), end):
            # A neighbour that is down itself never answers; while the agent waits, its neighbours' duals pull at a
            # model that stands still.
            end = min(end, self.now + (self.now - asked))
            await self.until(lambda: len(answers) == len(self.neighbours), end)
        return list(answers.values())

    def fall(self, *, lost: bool) -> None:
        """The agent goes down; with `lost` its program will find its state gone."""
        self._relapsed |= lost
        self.down += 1
        if self.down == 1:
            self._fell, self._restart = self.now, self._engine.signal()

    def rise(self) -> None:
        """One reason less to be down."""
        self.down -= 1
        if self.down == 0 and self._restart is not None:
            self._downtime += self.now - self._fell
            restart, self._restart = self._restart, None
            restart.succeed()

    def admits(self, message: Message) -> bool:
        """Open a message that has arrived; whether what it says may be used."""
        frame = message.frame
        if frame.kind is not _VALUE and frame.kind is not _REPLY:
            return True
        if message.parts is None:
            message.parts = _shared(self._writer.decode(frame.payload))
        return self._neighbourhood.admits(frame.round, message.parts)

    def receive(self, frame: Frame, parts: Parts | None) -> None:
        """A frame arrived whose parts may be used: whoever waits for it wakes."""
        kind, sender = frame.kind, frame.sender
        if kind is _VALUE:
            self._neighbourhood.hear(sender, frame.round, parts)
        elif kind is _NOTICE:
            self._neighbourhood.hear(sender, frame.round, None)
        elif kind is _REQUEST:
            known = self._neighbourhood.of(sender)
            self._engine.send(self.agent, (sender,), known.round, _REPLY, self._writer.again(known.parts))
        else:
            assert parts is not None
            if self._answers is not None:
                self._answers[sender] = Known(self.agent, frame.round, parts)
        if self._waiting is not None and self._waiting[1]():
            signal, self._waiting = self._waiting[0], None
            signal.succeed(True)


def _shared(parts: Parts) -> Parts:
    """What several agents read and none may change."""
    for part in parts:
        part.flags.writeable = False
    return parts
