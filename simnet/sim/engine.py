"""The engine of every simulated run: agent programs, and messages over links, in SimPy's time.

Its rules, which docs/architecture.md shows in their place:

Time.       `env` is a `simpy.Environment`. Whoever wants cross traffic or mobility attaches a process to it. Whoever
            wants to look stops it (`run(until=…)`, `step`, `peek`) and goes on: the run stays the same.
Order.      Events happen in the order (time, priority, order of scheduling). `simnet.sim.sim_events` has the order of
            what happens at one instant.
A message   is one light event. Its link decides its fate and its arrival when it is sent (`Link.send`):
              sent -> overflowed or unreachable, at once
              sent -> in flight -> delivered, lost, corrupted, unreachable, refused or, at a full inbox, overflowed
            It counts in `in_flight` from its launch until it has met its fate and its receiver, if it reaches one, has
            taken it in. When `in_flight` falls to 0, a meeting that waits for this is held. A copy is an event of its
            own; it counts nowhere and its receiver does not look at it. Where agents share a channel it carries the
            message first, and the link does the rest (`carried`). Where they stand on a physical network it carries the
            message all the way, in packets. A reliable transport cuts messages into packets, hands each to
            `carry_packet`, over links or a physical network, and says itself what becomes of a message.
An agent    that is down hears nothing, and its program stands still until it is up again. A direction in `cut` carries
            nothing. Both are looked at when a message arrives, `cut` also when it is sent.
The record. Everything that happens goes to `bus`, which numbers it. Nothing else leaves the engine.
The end.    When each agent has finished its rounds or is gone for good, or at `until`, the record is closed. What is
            still in the queue happens only if somebody goes on with `env.run()`, and nobody hears of it.
Chance      is drawn from named streams by links, agents and faults. The engine draws none.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from math import ceil, inf, isfinite
from typing import Any, cast

from msgspec.structs import replace
from simpy.core import EmptySchedule
from simpy.events import EventPriority

from simnet.errors import SimnetError
from simnet.learning.evaluation import RoundFigures, Scoreboard, State
from simnet.methods.peer import Work
from simnet.network.frame import Frame, Kind
from simnet.network.link import Link, Passage
from simnet.network.queueing import Transmitter
from simnet.record import events
from simnet.record.bus import Bus
from simnet.record.lines import sig
from simnet.sim.carrier import MessageCarrier, PacketService, Then, Unsent
from simnet.sim.environment import Environment
from simnet.sim.memory import gc_paused
from simnet.sim.packets import Packets
from simnet.sim.reliable import Reliable
from simnet.sim.shared_solves import SharedSolves
from simnet.sim.sim_events import ARRIVAL, AT_ONCE, NEW_WORK, SOLVING, Meeting, Message, Signal
from simnet.sim.solve_batches import SolveBatches
from simnet.sim.virtual_port import VirtualPort
from simnet.vectors import Parts


class VirtualEngine:
    """Runs agent programs over links in virtual time."""

    def __init__(
        self,
        links: Mapping[int, Mapping[int, Link]],
        bus: Bus,
        scoreboard: Scoreboard,
        agents: int,
        *,
        shared_medium: bool = False,
    ) -> None:
        self.env = Environment()
        self.bus = bus
        self.scoreboard = scoreboard
        self.links = links
        self.transport: Reliable | None = None
        self.channel: MessageCarrier | None = None
        """What carries messages that are sent once, if agents share a channel or a physical network."""
        self.packets: PacketService = Packets(self)
        """What carries single packets: the links, unless there is a physical network."""
        self.ports: dict[int, VirtualPort] = {}
        self.down_lines: Mapping[int, Transmitter] = {}
        """The line of each agent over which everything comes in; empty if that takes no time."""
        self.cut: dict[tuple[int, int], int] = {}
        """Directions, as sender and receiver, that carry nothing now, with the number of faults that cut them."""
        self.fragile = False
        """Something may break: what is on its way is remembered by its sender."""
        self._outbox: dict[int, list[tuple[Message, Passage, int, list[Message]]]] = {}
        self.in_flight = 0
        self.meeting = Meeting(
            self.signal, agents, lambda: not self.in_flight, lambda agent: not self.ports[agent].down
        )
        self._batches = SolveBatches(self.signal, lambda then: self.at(self.now, then, SOLVING))
        self._shared_medium = shared_medium
        self._messages = 0
        self._unfinished, self._over = agents, False
        # A message is not a `simpy.Event`, but all that SimPy's queue asks of one.
        self._post = cast(Callable[[Message, EventPriority, float], None], self.env.schedule)
        # What happens at the end of a message's way; all messages with the same end share one tuple.
        self._on_intake, self._on_loss, self._on_copy = (self._take_in,), (self._lose,), (self._repeat,)
        self._on_door = (self._queue,)
        self._on_arrival = self._on_intake

    @property
    def now(self) -> float:
        """Simulated seconds since the start."""
        return self.env.now

    def attach(self, port: VirtualPort, program: Coroutine[Any, Any, None]) -> None:
        """Add an agent: its port, and the coroutine that uses it."""
        self.ports[port.agent] = port
        if self.down_lines:
            self._on_arrival = (self._come_down,)
        elif port.inbox is not None:
            self._on_arrival = self._on_door
        self.env.process(program)  # type: ignore[arg-type]

    def emit(self, event: events.Event) -> None:
        """Put an event on the record, now."""
        self.bus.emit(self.env.now, event)

    def run(self) -> None:
        """Simulate until every agent has finished its rounds or is gone for good."""
        step = self.env.step
        with gc_paused():
            try:
                while not self._over:
                    step()
            except EmptySchedule:
                raise SimnetError(f"the simulation stalled at t = {self.now:g} s: every agent waits") from None

    def note(self, agent: int, round: int, state: State) -> None:
        """Take down an agent's state at the end of a round, and evaluate the rounds that it completes."""
        for figures in self.scoreboard.note(agent, round, state):
            self._evaluated(figures)

    def retire(self) -> None:
        """An agent has finished its last round, or will never come back."""
        self._unfinished -= 1
        if not self._unfinished:
            self.at(self.now, self._end, AT_ONCE)

    def excuse(self, agent: int) -> None:
        """Evaluate the rounds that waited only for an agent that will never come back."""
        for figures in self.scoreboard.excuse(agent):
            self._evaluated(figures)

    def _evaluated(self, figures: RoundFigures) -> None:
        if self.transport is not None:
            self.transport.tell()
        self.emit(evaluation_done(figures))

    def end_at(self, time: float) -> None:
        """End the run at a point in time, after what arrives and what ends then; the models count as they stand."""

        def end() -> None:
            if not self._over:
                self._evaluated(self.scoreboard.as_it_stands())
                self._end()

        self.at(time, end, NEW_WORK)

    def _end(self) -> None:
        """Close the record: whoever goes on with `env.run()` finds a bus that nobody listens to."""
        if self.transport is not None:
            self.transport.tell()
        self.packets.close()
        self.emit(events.RunFinished(self.scoreboard.last_round, "", ""))
        self.bus = Bus()
        self._over = True

    def at(self, time: float, then: Callable[[], None], priority: EventPriority = ARRIVAL) -> None:
        """Call `then` at a point in time."""
        self.timer(time, priority).callbacks.append(lambda _: then())

    def timer(self, time: float, priority: EventPriority) -> Signal:
        """A point in time, to wait for; one that is past is now."""
        now = self.env.now
        return Signal(self.env, time - now if time > now else 0.0, priority)

    def signal(self) -> Signal:
        """Something to wait for that somebody else brings about."""
        return Signal(self.env)

    def solve(self, work: Work) -> Signal:
        """The outcome of an agent's local work, or the work underway, to wait for; it takes no simulated time."""
        return self._batches.add(work)

    def share(self, solves: SharedSolves) -> None:
        """Let large problems be solved by several processes."""
        self._batches.shared = solves

    def send(
        self, sender: int, peers: Sequence[int], round: int, kind: Kind, payload: bytes, parts: Parts | None = None
    ) -> None:
        """Hand one frame to the link of each peer; `parts` is what the payload says, if the sender has decoded it."""
        frame = Frame(kind, sender, round, 0, payload)
        if (carrier := self.channel or self.transport) is not None:
            self._send_by(carrier, frame, peers, parts)
            return
        now, size, links, arrival, post = self.env.now, frame.size, self.links[sender], self._on_arrival, self._post
        departure = links[peers[0]].admit(now, size) if self._shared_medium and peers else None
        simple = not self.cut and not self.fragile
        sent: list[Message] = []
        wire_bytes: list[int] = []
        offered_bytes: list[int] = []
        first = self._messages + 1
        for number, peer in enumerate(peers, first):
            passage = links[peer].send(now, size, departure)
            message = Message(arrival, frame, parts, peer, number, passage.corrupted)
            sent.append(message)
            # What one transmission carries to all is counted with the first message.
            counts = departure is None or number == first
            wire_bytes.append(passage.wire_bytes if counts else 0)
            offered_bytes.append(passage.wire_bytes + passage.refused_bytes if counts else 0)
            if simple and passage.fate == "delivered" and not passage.copies:
                # `_launch` without a call: this is what becomes of nearly all messages.
                self.in_flight += 1
                post(message, ARRIVAL, passage.arrives - now)
            elif not self._launch(message, passage, now, wire_bytes[-1]):
                # What fails at once does so before the next message is sent.
                self.bus.sent(now, kind.label, sent, wire_bytes, offered_bytes)
                full = passage.fate == "overflowed"
                self._fail(events.MessageOverflowed if full else events.MessageUnreachable, message)
                sent, wire_bytes, offered_bytes = [], [], []
        self._messages += len(peers)
        self.bus.sent(now, kind.label, sent, wire_bytes, offered_bytes)

    def _send_by(
        self, carrier: MessageCarrier | Reliable, frame: Frame, peers: Sequence[int], parts: Parts | None
    ) -> None:
        """Hand one frame to what agents share, or to the transport that sees it through."""
        numbered = enumerate(peers, self._messages + 1)
        self._messages += len(peers)
        carrier.carry(frame, [Message(self._on_arrival, frame, parts, peer, number) for number, peer in numbered])

    def carry_packet(self, sender: int, peer: int, size: int, then: Then, unsent: Unsent | None = None) -> Passage:
        """Send one packet, now; `then` is told whether it has arrived, when that is decided.

        `unsent` is told how many of its bytes never leave, if its host goes down before.
        """
        return self.packets.carry(sender, peer, size, then, unsent)

    def packet_room(self, sender: int, peer: int) -> int | None:
        """How much one packet between two agents holds; None if it holds any."""
        return self.packets.room(sender, peer)

    def _launch(self, message: Message, passage: Passage, now: float, carried: int) -> bool:
        """Let a message that is sent once meet its fate; False if it does so here and now."""
        if passage.fate == "overflowed" or (self.cut and self.is_cut(message)):
            return False
        self.in_flight += 1
        copies = [replace(message, callbacks=self._on_copy) for _ in passage.copies]
        if self.fragile:
            sender = message.frame.sender
            flying = [each for each in self._outbox.get(sender, ()) if _ends(each[1]) > now]
            self._outbox[sender] = [*flying, (message, passage, carried, copies)]
        if passage.fate == "delivered":
            self._post(message, ARRIVAL, passage.arrives - now)
            for copy, time in zip(copies, passage.copies, strict=True):
                self._post(copy, ARRIVAL, time - now)
        else:
            # A lost message has no arrival: it is gone once its last bit has left.
            message.callbacks = self._on_loss
            self._post(message, ARRIVAL, passage.departs - now)
        return True

    def silence(self, agent: int, *, lost: bool = False) -> None:
        """An agent went down, perhaps with its memory: what waits for its lines, or is on them, never leaves."""
        now = self.env.now
        if self.channel is not None:
            self.channel.silence(agent)
        self.packets.silence(agent)
        if lost and self.transport is not None:
            self.transport.forget(agent)
        for link in self.links[agent].values():
            link.halt(now)
        for message, passage, carried, copies in self._outbox.get(agent, ()):
            if message.callbacks != () and passage.departs > now:
                share = _unsent(passage, now)
                self._withdraw(message, copies)
                self.bus.lost(now, message, "sender-down", ceil(carried * share))
                self.landed()

    def sever(self, sender: int, peer: int) -> None:
        """A link broke, or was broken until now: what is on it does not arrive."""
        now = self.env.now
        self.packets.sever(sender, peer)
        for message, passage, _, copies in self._outbox.get(sender, ()):
            if message.callbacks != () and message.peer == peer and passage.starts <= now < _ends(passage):
                self._withdraw(message, copies)
                self._fail(events.MessageUnreachable, message)
                self.landed()

    def _withdraw(self, message: Message, copies: Sequence[Message]) -> None:
        """Let the end of a message's way, and of its copies', pass unseen."""
        for each in (message, *copies):
            each.callbacks = ()

    def _come_down(self, message: Message) -> None:
        """A message has reached the receiver's access line."""
        if self.is_unreachable(message):
            self._take_in(message)
            return
        done = self.down_by(message.frame.sender, message.peer, message.frame.size)
        if done < inf:
            message.callbacks = self._on_door
            self._post(message, ARRIVAL, done - self.env.now)
        else:
            self._fail(events.MessageOverflowed, message)
            self.landed()

    def down_by(self, sender: int, peer: int, size: int) -> float:
        """When a message that arrives now has passed the receiver's access line; infinite if there is no room."""
        if not self.down_lines:
            return self.env.now
        return self.links[sender][peer].received(self.down_lines[peer], self.env.now, size)

    def carried(self, message: Message, passage: Passage) -> None:
        """The channel has carried a message, which is in flight already, and the rest of its way is the link's."""
        self.in_flight -= 1
        if not self._launch(message, passage, self.env.now, 0):
            self._fail(events.MessageUnreachable, message)
            if not self.in_flight:
                self.meeting.hold()

    def _queue(self, message: Message) -> None:
        """A message has arrived at a receiver that takes in one after another."""
        inbox = self.ports[message.peer].inbox
        if inbox is None or self.is_unreachable(message):
            self._take_in(message)
            return
        done = inbox.admit(self.env.now)
        if done < inf:
            message.callbacks = self._on_intake
            self._post(message, ARRIVAL, done - self.env.now)
        else:
            self._fail(events.MessageOverflowed, message)
            self.landed()

    def _take_in(self, message: Message) -> None:
        """A message has arrived, and reaches its receiver unless something has happened to either."""
        port = self.ports[message.peer]
        if (port.down or self.cut) and self.is_unreachable(message):
            self._fail(events.MessageUnreachable, message)
        elif message.corrupted:
            message.refuse()
            self.bus.lost(self.env.now, message, "corrupted")
        else:
            self.hand_over(message)
        self.in_flight -= 1
        if not self.in_flight:
            self.meeting.hold()

    def hand_over(self, message: Message) -> None:
        """Give a message to its receiver, who takes it in or refuses what it says."""
        port, frame = self.ports[message.peer], message.frame
        if port.admits(message):
            self.bus.delivered(self.env.now, message)
            port.receive(frame, message.parts)
        else:
            self.emit(events.MessageRefused(message.peer, frame.round, frame.sender, message.number))

    def _lose(self, message: Message) -> None:
        """A message is lost: its last bit has left, and it will not arrive."""
        self.bus.lost(self.env.now, message)
        self.landed()

    def _repeat(self, message: Message) -> None:
        """A message has arrived once more: its receiver knows it already."""
        if not self.is_unreachable(message):
            frame = message.frame
            self.emit(events.MessageDuplicated(message.peer, frame.round, frame.sender, message.number))

    def _fail(self, fate: type[events.MessageUnreachable] | type[events.MessageOverflowed], message: Message) -> None:
        """Put on the record that a message got nowhere."""
        self.emit(fate(message.frame.sender, message.frame.round, message.peer, message.number))

    def is_unreachable(self, message: Message) -> bool:
        """Whether nothing gets through to the receiver now: it is down, or the way to it is cut."""
        return self.ports[message.peer].down > 0 or self.is_cut(message)

    def is_cut(self, message: Message) -> bool:
        """Whether nothing gets through between sender and receiver now."""
        return bool(self.cut) and (message.frame.sender, message.peer) in self.cut

    def launched(self) -> None:
        """A message is on its way."""
        self.in_flight += 1

    def landed(self) -> None:
        """A message has met its fate, and its receiver, if it has reached one, has taken it in."""
        self.in_flight -= 1
        if not self.in_flight:
            self.meeting.hold()


def _unsent(passage: Passage, now: float) -> float:
    """Which share of a message has not left; its first and its last bit may leave together."""
    return 1.0 if passage.starts >= now else (passage.departs - now) / (passage.departs - passage.starts)


def _ends(passage: Passage) -> float:
    """When a message is no longer on its link."""
    return passage.arrives if passage.fate == "delivered" else passage.departs


def evaluation_done(figures: RoundFigures) -> events.EvaluationDone:
    """The event that records a round's figures: all numbers rounded, those of each agent in the last round only."""
    found = figures.evaluation
    return events.EvaluationDone(
        round=figures.round,
        test_error=sig(found.test_error),
        train_loss=sig(found.train_loss),
        objective=sig(found.objective),
        consensus=sig(found.consensus),
        dual_drift=sig(found.dual_drift),
        agent_test_error=[sig(x) for x in found.agent_test_error.tolist()] if figures.last else None,
        agent_train_loss=[sig(x) for x in found.agent_train_loss.tolist()] if figures.last else None,
        measures={name: sig(x) if isfinite(x) else None for name, x in found.measures.items()} or None,
        at_end=figures.at_end,
    )
