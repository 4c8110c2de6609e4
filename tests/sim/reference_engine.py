"""The plainest engine that can run a simulation: the specification of the one in `simnet.sim.engine`.

It has a list of what is to happen, sorted by time, priority and the order of planning, and does one thing after the
other. Nothing is batched or drawn in blocks, every event on the record is a record, and SimPy is not there. Agents,
ports, links, the transport and the faults are those of every run, and a run has the same digest here and there.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from itertools import chain, count, repeat
from math import ceil, inf, nan
from typing import Any

import pytest

from simnet import Scenario, build, run
from simnet.agent import pacing
from simnet.errors import SimnetError
from simnet.learning.evaluation import RoundFigures, Scoreboard, State
from simnet.methods.peer import Work, alone
from simnet.network import link, loss, queueing
from simnet.network.draws import Blocks, Draw
from simnet.network.frame import Frame, Kind
from simnet.network.link import Link, Passage
from simnet.network.model import LinkModel
from simnet.network.queueing import Transmitter
from simnet.record import events
from simnet.record.bus import Bus
from simnet.sim import radio
from simnet.sim.engine import evaluation_done
from simnet.sim.radio import Radio
from simnet.sim.reliable import Reliable
from simnet.sim.sim_events import Meeting, Message
from simnet.sim.virtual_port import VirtualPort
from simnet.streams import Streams
from simnet.vectors import Parts

AT_ONCE, ARRIVAL, ROUND_END, NEW_WORK, SOLVING = -1, 0, 1, 2, 3


class Wait:
    """Something that an agent waits for."""

    def __init__(self, engine: ReferenceEngine) -> None:
        self._engine = engine
        self.go_on: Callable[[Any], None] = lambda value: None

    def __await__(self) -> Generator[Wait, Any, Any]:
        return (yield self)

    def succeed(self, value: Any = None) -> None:
        self._engine.at(self._engine.now, lambda: self.go_on(value), ROUND_END)

    def end(self, value: Any) -> None:
        self._engine.at(self._engine.now, lambda: self.go_on(value), AT_ONCE)


class ReferenceEngine:
    """Runs agent programs over links, one thing after the other."""

    def __init__(
        self,
        links: Mapping[int, Mapping[int, Link]],
        bus: Bus,
        scoreboard: Scoreboard,
        agents: int,
        *,
        shared_medium: bool = False,
    ) -> None:
        self.links, self.bus, self.scoreboard = links, bus, scoreboard
        self.now = 0.0
        self.ports: dict[int, VirtualPort] = {}
        self.fragile = False
        self._outbox: list[tuple[Message, Passage, int]] = []
        self._withdrawn: set[int] = set()
        self._flying: list[tuple[int, int, Passage, int, Callable[[int], None]]] = []
        self._packets, self._broken = count(), set[int]()
        self.down_lines: Mapping[int, Transmitter] = {}
        self.cut: dict[tuple[int, int], int] = {}
        self.transport: Reliable | None = None
        self.channel: Radio | None = None
        self.meeting = Meeting(self.signal, agents, lambda: self.in_flight == 0, lambda a: not self.ports[a].down)
        self._shared_medium = shared_medium
        self._plans: list[tuple[float, int, int, Callable[[], None]]] = []
        self._order, self._numbers = count(), count(1)
        self._work: list[tuple[Work, Wait]] = []
        self._unfinished, self.in_flight, self._over = agents, 0, False

    def attach(self, port: VirtualPort, program: Coroutine[Any, Any, None]) -> None:
        self.ports[port.agent] = port
        self.at(self.now, lambda: self._resume(program, None))

    def _resume(self, program: Coroutine[Any, Any, None], value: Any) -> None:
        try:
            wait = program.send(value)
        except StopIteration:
            return
        wait.go_on = lambda value: self._resume(program, value)

    def run(self) -> None:
        while self._unfinished and not self._over:
            if not self._plans:
                raise SimnetError(f"the simulation stalled at t = {self.now:g} s: every agent waits")
            self.now, _, _, then = self._plans.pop(0)
            then()
        if self.transport is not None:
            self.transport.tell()
        self.emit(events.RunFinished(self.scoreboard.last_round, "", ""))

    def at(self, time: float, then: Callable[[], None], priority: int = ARRIVAL) -> None:
        insort(self._plans, (self.now + max(0.0, time - self.now), priority, next(self._order), then))

    def timer(self, time: float, priority: int) -> Wait:
        wait = self.signal()
        self.at(time, lambda: wait.go_on(None), priority)
        return wait

    def signal(self) -> Wait:
        return Wait(self)

    def solve(self, work: Work) -> Wait:
        """Work of one instant is done when nothing else is left to do at it, and then all go on in order."""
        if not self._work:
            self.at(self.now, self._solve, SOLVING)
        wait = self.signal()
        self._work.append((work, wait))
        return wait

    def _solve(self) -> None:
        waiting, self._work = self._work, []
        for work, wait in waiting:
            wait.end(alone(work))

    def emit(self, event: events.Event) -> None:
        self.bus.emit(self.now, event)

    def note(self, agent: int, round: int, state: State) -> None:
        for figures in self.scoreboard.note(agent, round, state):
            self._evaluated(figures)

    def retire(self) -> None:
        self._unfinished -= 1

    def excuse(self, agent: int) -> None:
        for figures in self.scoreboard.excuse(agent):
            self._evaluated(figures)

    def _evaluated(self, figures: RoundFigures) -> None:
        if self.transport is not None:
            self.transport.tell()
        self.emit(evaluation_done(figures))

    def end_at(self, time: float) -> None:
        def end() -> None:
            self._evaluated(self.scoreboard.as_it_stands())
            self._over = True

        self.at(time, end, NEW_WORK)

    def send(
        self, sender: int, peers: Sequence[int], round: int, kind: Kind, payload: bytes, parts: Parts | None = None
    ) -> None:
        frame, departure = Frame(kind, sender, round, 0, payload), None
        if (carrier := self.channel or self.transport) is not None:
            messages = [Message((), frame, parts, peer, next(self._numbers)) for peer in peers]
            carrier.carry(frame, messages)
            return
        for peer in peers:
            way, size, first = self.links[sender][peer], (0, 0, 0), departure is None
            if self._shared_medium and first:
                departure = way.admit(self.now, frame.size)
            passage = way.send(self.now, frame.size, departure)
            if first:
                size = (len(payload), passage.wire_bytes, passage.offered_bytes)
            message = Message((), frame, parts, peer, next(self._numbers), passage.corrupted)
            self.emit(events.MessageSent(sender, round, peer, message.number, kind.label, *size))
            self._launch(message, passage, size[1])

    def carried(self, message: Message, passage: Passage) -> None:
        """The channel has carried a message that counts as in flight already."""
        self.in_flight -= 1
        self._launch(message, passage, 0)
        self.meeting.hold()

    def _launch(self, message: Message, passage: Passage, size: int) -> None:
        if passage.fate == "overflowed":
            self._fate(events.MessageOverflowed, message)
        elif self.is_cut(message):
            self._fate(events.MessageUnreachable, message)
        else:
            self.launched()
            self._outbox.append((message, passage, size))
            if passage.fate == "lost":
                self.at(passage.departs, lambda: self._lose(message))
                return
            self.at(passage.arrives, lambda: self._come_down(message))
            for time in passage.copies:
                self.at(time, lambda: self._repeat(message))

    def _lose(self, message: Message) -> None:
        if message.number not in self._withdrawn:
            self._land(events.MessageLost, message)

    def packet_room(self, sender: int, peer: int) -> int | None:
        return self.links[sender][peer].transmitter.room

    def carry_packet(
        self, sender: int, peer: int, size: int, then: Callable[[bool], None], unsent: Callable[[int], None]
    ) -> Passage:
        """A packet of a transport: it arrives if nothing breaks on its way, and a host or a link may break."""
        passage = self.links[sender][peer].send(self.now, size)
        packet = (sender, peer, passage, next(self._packets), unsent)
        self._flying.append(packet)
        reached = passage.fate == "delivered" and (sender, peer) not in self.cut

        def away() -> bool:
            return packet[3] in self._broken or self.ports[peer].down > 0 or (sender, peer) in self.cut

        def come_down() -> None:
            done = self.now if away() else self.down_by(sender, peer, size)
            if not self.down_lines or away():
                arrive()
            elif done < inf:
                self.at(done, arrive)

        def arrive() -> None:
            then(not away() and not passage.corrupted)

        for time in (passage.arrives, *passage.copies) if reached else ():
            self.at(time, come_down)
        return passage

    def silence(self, agent: int, *, lost: bool = False) -> None:
        if self.channel is not None:
            self.channel.silence(agent)
        for way in self.links[agent].values():
            way.halt(self.now)
        self._break_packets(agent)
        if self.transport is not None and lost:
            self.transport.forget(agent)
        for message, passage, carried in self._on_the_way(agent):
            if passage.departs > self.now:
                share = (
                    1.0
                    if passage.starts >= self.now
                    else (passage.departs - self.now) / (passage.departs - passage.starts)
                )
                self._withdrawn.add(message.number)
                self._land(events.MessageLost, message, "sender-down", ceil(carried * share))

    def _break_packets(self, agent: int) -> None:
        """What has not left the host of a dead agent never does."""
        for sender, _, passage, number, unsent in self._flying:
            if sender == agent and number not in self._broken and self.now < passage.departs < inf:
                self._broken.add(number)
                waits = passage.starts >= self.now
                share = 1.0 if waits else (passage.departs - self.now) / (passage.departs - passage.starts)
                unsent(ceil(passage.wire_bytes * share))

    def sever(self, sender: int, peer: int) -> None:
        for origin, target, passage, number, _ in self._flying:
            ends = passage.arrives if passage.fate == "delivered" else passage.departs
            if (origin, target) == (sender, peer) and passage.starts <= self.now < ends:
                self._broken.add(number)
        for message, passage, _ in self._on_the_way(sender):
            ends = passage.arrives if passage.fate == "delivered" else passage.departs
            if message.peer == peer and passage.starts <= self.now < ends:
                self._withdrawn.add(message.number)
                self._land(events.MessageUnreachable, message)

    def _on_the_way(self, sender: int) -> list[tuple[Message, Passage, int]]:
        return [
            each for each in self._outbox if each[0].frame.sender == sender and each[0].number not in self._withdrawn
        ]

    def _come_down(self, message: Message) -> None:
        """The receiver's line, if there are such lines: every message waits for it, also where that takes no time."""
        if message.number in self._withdrawn:
            return
        if not self.down_lines or self.is_unreachable(message):
            self._arrive(message)
            return
        done = self.down_by(message.frame.sender, message.peer, message.frame.size)
        if done < inf:
            self.at(done, lambda: self._arrive(message))
        else:
            self._land(events.MessageOverflowed, message)

    def down_by(self, sender: int, peer: int, size: int) -> float:
        if not self.down_lines:
            return self.now
        return self.links[sender][peer].received(self.down_lines[peer], self.now, size)

    def _arrive(self, message: Message, taken: bool = False) -> None:
        port = self.ports[message.peer]
        if self.is_unreachable(message):
            self._land(events.MessageUnreachable, message)
        elif port.inbox is not None and not taken:
            done = port.inbox.admit(self.now)
            if done < inf:
                self.at(done, lambda: self._arrive(message, taken=True))
            else:
                self._land(events.MessageOverflowed, message)
        elif message.corrupted:
            self._land(events.MessageLost, message, "corrupted")
        else:
            self.hand_over(message)
            self.landed()

    def hand_over(self, message: Message) -> None:
        port, frame = self.ports[message.peer], message.frame
        where = (message.peer, frame.round, frame.sender, message.number)
        if port.admits(message):
            self.emit(events.MessageDelivered(*where))
            port.receive(frame, message.parts)
        else:
            self.emit(events.MessageRefused(*where))

    def _repeat(self, message: Message) -> None:
        if not self.is_unreachable(message) and message.number not in self._withdrawn:
            frame = message.frame
            self.emit(events.MessageDuplicated(message.peer, frame.round, frame.sender, message.number))

    def _fate(self, fate: type[Any], message: Message, *reason: Any) -> None:
        self.emit(fate(message.frame.sender, message.frame.round, message.peer, message.number, *reason))

    def _land(self, fate: type[Any], message: Message, *reason: Any) -> None:
        self._fate(fate, message, *reason)
        self.landed()

    def is_unreachable(self, message: Message) -> bool:
        return self.ports[message.peer].down > 0 or self.is_cut(message)

    def is_cut(self, message: Message) -> bool:
        return (message.frame.sender, message.peer) in self.cut

    def launched(self) -> None:
        self.in_flight += 1

    def landed(self) -> None:
        self.in_flight -= 1
        self.meeting.hold()


def draw_one_by_one(streams: Streams, role: str, name: str, draw: Draw, blocks: Blocks = ((), 1)) -> Iterator[float]:
    """Chance without blocks, for `simnet.network.draws.one_by_one`; only those blocks stay that make the numbers."""
    rng = streams.generator(role, name)
    first, block = blocks
    for n in chain(first, repeat(block)):
        yield from draw(rng, n).tolist()


class PlainSampler:
    """Delays and losses without blocks, for `simnet.network.draws.DelaySampler`."""

    full = False

    def __init__(self, model: LinkModel, streams: Streams) -> None:
        self._model, self._streams = model, streams

    def delays(self, name: str) -> Iterator[float]:
        latency, loss = (self._streams.generator(role, name) for role in ("latency", "loss"))
        while True:
            delay = float(self._model.latency.draw(latency, 1)[0])
            yield nan if loss.random() < self._model.loss.independent else delay


def reference_digest(scenario: Scenario) -> str:
    """The digest of a run on this engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "VirtualEngine", ReferenceEngine)
        patch.setattr(link, "delay_sampler", PlainSampler)
        for module in (link, loss, pacing, queueing, radio):
            patch.setattr(module, "one_by_one", draw_one_by_one)
        return run(scenario).digest
