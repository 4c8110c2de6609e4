"""The virtual engine: SimPy time.

A message in flight is one SimPy event with a callback: its link knows its fate and arrival when it is sent, so there is
no process a message or a link. Agents are native coroutines; SimPy drives them directly because what they await yields
SimPy events.

At one instant things happen in this order: messages arrive (so what arrives on a tick counts for that tick), waiting
agents end their rounds, and only then new work begins (so no agent sees another's next round inside its own).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from typing import Any

import simpy
from simpy.events import Event as SimEvent

from simnet.agents.neighbourhood import Neighbourhood
from simnet.algorithms.peer import Parts, Vector
from simnet.engines.scoreboard import Scoreboard
from simnet.errors import SimnetError
from simnet.network import frame
from simnet.network.link import Link
from simnet.network.payload import Writer
from simnet.record import events
from simnet.record.bus import Bus

_ARRIVAL, _ROUND_END, _NEW_WORK = 0, 1, 2


class Moment(SimEvent):  # type: ignore[misc]
    """A point in simulated time that callbacks and coroutines can wait for."""

    def __init__(self, env: simpy.Environment, time: float, priority: int) -> None:
        self.env = env
        self.callbacks = []
        self._ok = True
        self._value = None
        env.schedule(self, priority, max(0.0, time - env.now))

    def __await__(self) -> Generator[SimEvent, Any, Any]:
        return (yield self)


class Signal(SimEvent):  # type: ignore[misc]
    """Something that somebody else will bring about."""

    def __await__(self) -> Generator[SimEvent, Any, Any]:
        return (yield self)


class VirtualEngine:
    """Runs agent programs over links in virtual time."""

    def __init__(self, links: Mapping[tuple[int, int], Link], bus: Bus, scoreboard: Scoreboard, agents: int) -> None:
        self.env = simpy.Environment()
        self.bus = bus
        self.scoreboard = scoreboard
        self._links = links
        self._agents = agents
        self._ports: dict[int, VirtualPort] = {}
        self._messages = 0
        self._in_flight = 0
        self._meeting: list[Signal] = []

    def attach(self, port: VirtualPort, program: Coroutine[Any, Any, None]) -> None:
        """Add an agent: its port, and the coroutine that uses it."""
        self._ports[port.agent] = port
        self.env.process(program)

    def emit(self, event: events.Event) -> None:
        """Put an event on the record, now."""
        self.bus.emit(self.env.now, event)

    def run(self, rounds: int) -> None:
        """Simulate until every agent has finished its rounds; messages still on their way then are `in_flight`."""
        while min(self.scoreboard.last_round) < rounds:
            try:
                self.env.step()
            except simpy.core.EmptySchedule:
                raise SimnetError(f"the simulation stalled at t = {self.env.now:g} s: every agent waits") from None

    def send(self, sender: int, peers: Sequence[int], round: int, kind: frame.Kind, payload: bytes) -> None:
        """Hand one frame to the link of each peer."""
        raw = frame.encode(kind, sender=sender, round=round, payload=payload)
        carries, size = kind.label, len(raw)
        now = self.env.now
        for peer in peers:
            self._messages = message = self._messages + 1
            self.emit(events.MessageSent(sender, round, peer, message, carries, len(payload), size))
            passage = self._links[sender, peer].offer(now, size)
            if passage.fate == "overflowed":
                self.emit(events.MessageOverflowed(sender, round, peer, message))
                continue
            self._in_flight += 1
            delivered = passage.fate == "delivered"
            arrival = self._deliver if delivered else self._lose
            # A lost message has no arrival: it is gone once its last bit has left.
            flight = Moment(self.env, passage.arrives if delivered else passage.departs, _ARRIVAL)
            flight.callbacks.append(_Flight(arrival, sender, peer, round, message, raw))

    def _deliver(self, flight: _Flight) -> None:
        self._in_flight -= 1
        self.emit(events.MessageDelivered(flight.peer, flight.round, flight.sender, flight.message))
        self._ports[flight.peer].receive(flight.raw)
        self._meet()

    def _lose(self, flight: _Flight) -> None:
        self._in_flight -= 1
        self.emit(events.MessageLost(flight.sender, flight.round, flight.peer, flight.message))
        self._meet()

    def rendezvous(self) -> Signal:
        """The oracle of ideal pacing: fires when every agent waits for it and nothing is on its way."""
        signal = Signal(self.env)
        self._meeting.append(signal)
        self._meet()
        return signal

    def _meet(self) -> None:
        if self._in_flight == 0 and len(self._meeting) == self._agents:
            meeting, self._meeting = self._meeting, []
            for signal in meeting:
                signal.succeed()


class _Flight:
    """A message on its way: what SimPy calls when the time has come."""

    __slots__ = ("arrival", "message", "peer", "raw", "round", "sender")

    def __init__(
        self, arrival: Callable[[_Flight], None], sender: int, peer: int, round: int, message: int, raw: bytes
    ) -> None:
        self.arrival, self.sender, self.peer = arrival, sender, peer
        self.round, self.message, self.raw = round, message, raw

    def __call__(self, _event: SimEvent) -> None:
        self.arrival(self)


class VirtualPort:
    """One agent's port under SimPy."""

    def __init__(
        self,
        engine: VirtualEngine,
        agent: int,
        neighbours: Sequence[int],
        neighbourhood: Neighbourhood,
        writer: Writer,
        work_time: Callable[[int], float],
    ) -> None:
        self.agent = agent
        self.neighbours = neighbours
        self.emit = engine.emit
        self._engine = engine
        self._neighbourhood = neighbourhood
        self._writer = writer
        self._work_time = work_time
        self._waiting: tuple[Signal, Callable[[], bool]] | None = None

    @property
    def now(self) -> float:
        return float(self._engine.env.now)

    async def compute(self, gradients: int) -> None:
        await Moment(self._engine.env, self.now + self._work_time(gradients), _NEW_WORK)

    def encode(self, model: Vector, accompany: Callable[[Vector], Parts]) -> tuple[bytes, Parts]:
        return self._writer.model(model, accompany)

    def seal(self, peer: int, parts: Parts) -> bytes:
        return self._writer.letter(peer, parts)

    def broadcast(self, round: int, payload: bytes) -> None:
        self._engine.send(self.agent, self.neighbours, round, frame.Kind.VALUE, payload)

    def post(self, round: int, payloads: Mapping[int, bytes]) -> None:
        for peer, payload in payloads.items():
            self._engine.send(self.agent, (peer,), round, frame.Kind.VALUE, payload)

    def notify(self, round: int) -> None:
        self._engine.send(self.agent, self.neighbours, round, frame.Kind.NOTICE, b"")

    async def until(self, ready: Callable[[], bool], deadline: float | None) -> bool:
        if ready():
            return True
        signal = Signal(self._engine.env)
        self._waiting = (signal, ready)
        if deadline is not None:
            timer = Moment(self._engine.env, deadline, _ROUND_END)
            timer.callbacks.append(lambda _: self._wake(signal, in_time=False))
        return bool(await signal)

    def _wake(self, signal: Signal, *, in_time: bool) -> None:
        if self._waiting is not None and self._waiting[0] is signal:
            self._waiting = None
            signal.succeed(in_time)

    async def rendezvous(self) -> None:
        await self._engine.rendezvous()

    def finished(self, round: int, theta: Vector, dual: Vector) -> None:
        done = self._engine.scoreboard.note(self.agent, round, theta, dual)
        if done is not None:
            self.emit(done)

    def receive(self, raw: bytes) -> None:
        """A frame arrived: the neighbourhood hears it, and whoever waits for it wakes."""
        arrived = frame.decode(raw)
        parts = self._writer.decode(arrived.payload) if arrived.kind is frame.Kind.VALUE else None
        self._neighbourhood.hear(arrived.sender, arrived.round, parts)
        if self._waiting is not None and self._waiting[1]():
            self._wake(self._waiting[0], in_time=True)
