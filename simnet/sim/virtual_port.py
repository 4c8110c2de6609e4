"""One agent's port under SimPy: time, messages, and what a crash does to both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.port import ages, never
from simnet.methods.peer import Known, Parts, Peer, Proposal
from simnet.network import frame
from simnet.network.inbox import Inbox
from simnet.network.payload import Writer
from simnet.sim.engine import VirtualEngine
from simnet.sim.evaluation_event import evaluation_done
from simnet.sim.flight import Carried
from simnet.sim.sim_events import NEW_WORK, ROUND_END, Moment, Signal
from simnet.vectors import Vector

_VALUE, _NOTICE = frame.Kind.VALUE, frame.Kind.NOTICE


class VirtualPort:
    """What an agent program sees of the virtual engine.

    While the agent is down its program stands still: work goes on where it stopped, a wait that ended meanwhile ends at
    the restart, and whatever is sent to the agent does not reach it.
    """

    def __init__(
        self,
        engine: VirtualEngine,
        agent: int,
        neighbourhood: Neighbourhood,
        writer: Writer,
        work_time: Callable[[int], float],
        rounds: int,
        inbox: Inbox | None,
        recovery: float,
    ) -> None:
        self.agent = agent
        self.neighbours: Sequence[int] = neighbourhood.peers
        self.emit = engine.emit
        self.inbox = inbox
        self.down = 0
        self.done = False
        """All rounds are finished."""
        self.gone = False
        """Down for good."""
        self.slowness = 1.0
        self._engine = engine
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
        self._answers: dict[int, Known] = {}
        self._mind()

    def _mind(self) -> None:
        """Let messages just be put down, unless somebody must look at them as they come."""
        free = self._waiting is None and self.down == 0 and self.inbox is None
        self._engine.boxes[self.agent] = self._neighbourhood.mail if free else None

    @property
    def now(self) -> float:
        return float(self._engine.env._now)

    async def propose(self, peer: Peer, round: int) -> Proposal:
        work = peer.propose(round)
        return work if isinstance(work, Proposal) else await self._engine.workshop.see_through(work)

    async def compute(self, gradients: int) -> None:
        env, downtime = self._engine.env, self._downtime
        end = env._now + self._work_time(gradients) * self.slowness
        await Moment(env, end, NEW_WORK)
        while self.down or self._downtime > downtime:
            if self._restart is not None:
                await self._restart
            end, downtime = end + self._downtime - downtime, self._downtime
            await Moment(env, end, NEW_WORK)

    def encode(self, model: Vector, accompany: Callable[[Vector], Parts]) -> tuple[bytes, Parts]:
        payload, told = self._writer.model(model, accompany)
        return payload, _shared(told)

    def seal(self, peer: int, parts: Parts) -> bytes:
        return self._writer.letter(peer, parts)

    def broadcast(self, round: int, payload: bytes) -> None:
        self._engine.send(self.agent, self.neighbours, round, frame.Kind.VALUE, payload, self._writer.said(payload))

    def post(self, round: int, payloads: Mapping[int, bytes]) -> None:
        for peer, payload in payloads.items():
            self._engine.send(self.agent, (peer,), round, frame.Kind.VALUE, payload)

    def notify(self, round: int) -> None:
        self._engine.send(self.agent, self.neighbours, round, frame.Kind.NOTICE, b"")

    async def until(self, ready: Callable[[], bool], deadline: float | None) -> bool:
        if ready is never and deadline is not None:
            await Moment(self._engine.env, deadline, ROUND_END)
            while self._restart is not None:
                await self._restart
            return False
        if ready():
            return True
        signal = Signal(self._engine.env)
        self._waiting = (signal, ready)
        self._mind()
        if deadline is not None:
            timer = Moment(self._engine.env, deadline, ROUND_END)
            timer.callbacks.append(lambda _: self._time_is_up(signal))
        in_time = bool(await signal)
        while self._restart is not None:
            await self._restart
        return in_time

    def _time_is_up(self, signal: Signal) -> None:
        if self._waiting is not None and self._waiting[0] is signal:
            self._waiting = None
            self._mind()
            signal.end(False)

    async def rendezvous(self) -> None:
        await self._engine.meeting.join(self.agent)
        while self._restart is not None:
            await self._restart

    def used(self, round: int, known: Sequence[Known]) -> None:
        engine = self._engine
        engine.bus.used(engine.env._now, self.agent, round, self.neighbours, ages(round, known))

    def finished(self, round: int, peer: Peer) -> None:
        for figures in self._engine.scoreboard.note(self.agent, round, peer.theta, peer.dual):
            self.emit(evaluation_done(figures))
            self._engine.pages.tend()
        if round == self._rounds:
            self.done = True
            self._engine.retire()
            self._engine.meeting.expect(-1)

    def relapsed(self) -> bool:
        relapsed, self._relapsed = self._relapsed, False
        return relapsed

    async def ask(self, round: int) -> list[Known]:
        self._answers = {}
        self._engine.send(self.agent, self.neighbours, round, frame.Kind.REQUEST, b"")
        await self.until(lambda: len(self._answers) == len(self.neighbours), self.now + self._recovery)
        return list(self._answers.values())

    def fall(self, *, lost: bool) -> None:
        """The agent goes down; with `lost` its program will find its state gone."""
        self._relapsed |= lost
        self.down += 1
        self._mind()
        if self.down == 1:
            self._fell, self._restart = self.now, Signal(self._engine.env)

    def rise(self) -> None:
        """One reason less to be down."""
        self.down -= 1
        self._mind()
        if self.down == 0 and self._restart is not None:
            self._downtime += self.now - self._fell
            restart, self._restart = self._restart, None
            restart.succeed()

    def receive(self, cargo: Carried) -> None:
        """A frame arrived: whoever waits for it wakes."""
        sender, kind = cargo.sender, cargo.kind
        if kind is _VALUE:
            if cargo.parts is None:
                cargo.parts = _shared(self._writer.decode(cargo.payload))
            self._neighbourhood.mail.append(cargo)
        elif kind is _NOTICE:
            self._neighbourhood.mail.append(cargo)
        elif kind is frame.Kind.ACK:
            assert self._engine.transport is not None
            self._engine.transport.acknowledged(self.agent, sender, cargo.round)
        elif kind is frame.Kind.REQUEST:
            known = self._neighbourhood.of(sender)
            self._engine.send(self.agent, (sender,), known.round, frame.Kind.REPLY, self._writer.again(known.parts))
        else:
            self._answers[sender] = Known(self.agent, cargo.round, self._writer.decode(cargo.payload))
        if self._waiting is not None and self._waiting[1]():
            signal, self._waiting = self._waiting[0], None
            self._mind()
            signal.succeed(True)


def _shared(parts: Parts) -> Parts:
    """What several agents read and none may change."""
    for part in parts:
        part.flags.writeable = False
    return parts
