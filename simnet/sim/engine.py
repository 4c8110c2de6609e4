"""The virtual engine: SimPy time.

A message on its way is one entry of the agenda: its link knows its fate and arrival when it is sent, so there is no
process a message or a link. Agents are native coroutines; SimPy drives them directly because what they await yields
SimPy events. `simnet.sim.sim_events` says in which order things happen at one instant.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

from simnet.agent.neighbourhood import News
from simnet.errors import FrameError, SimnetError
from simnet.learning.evaluation import Scoreboard
from simnet.methods.peer import Parts
from simnet.network import frame
from simnet.network.link import Link
from simnet.network.wire import Passage
from simnet.record import events
from simnet.record.bus import Bus
from simnet.sim.agenda import Agenda, Entry
from simnet.sim.flight import Carried, Flight, Receiver, Transport
from simnet.sim.gc_pause import resting
from simnet.sim.huge_pages import Pages
from simnet.sim.meeting import Meeting
from simnet.sim.sim_events import ARRIVAL
from simnet.sim.solve_batches import Workshop

_NOTICE = frame.Kind.NOTICE
_SEEN_THROUGH = (frame.Kind.VALUE, frame.Kind.NOTICE)
"""What a transport cares for."""


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
        self.env = Agenda()
        self.workshop = Workshop(self.env)
        self.pages = Pages()
        self.bus = bus
        self.scoreboard = scoreboard
        self.links = links
        """By sender and receiver."""
        self.transport: Transport | None = None
        self.ports: dict[int, Receiver] = {}
        self.boxes: list[list[News] | None] = [None] * agents
        """Where a message for an agent may just be put down; None if there is more to do with it."""
        self.cut: dict[tuple[int, int], int] = {}
        """Directions that carry nothing now, with the number of reasons."""
        self.in_flight = 0
        self._shared_medium = shared_medium
        self._messages = 0
        self._unfinished = agents
        self.meeting = Meeting(self.env, agents, lambda: not self.in_flight, lambda agent: not self.ports[agent].down)

    def attach(self, port: Receiver, program: Coroutine[Any, Any, None]) -> None:
        """Add an agent: its port, and the coroutine that uses it."""
        self.ports[port.agent] = port
        self.env.process(program)  # type: ignore[arg-type]

    def emit(self, event: events.Event) -> None:
        """Put an event on the record, now."""
        self.bus.emit(self.env._now, event)

    def run(self) -> None:
        """Simulate until every agent has finished its rounds or is gone for good; what still flies is `in_flight`.

        Nothing in the loop makes cycles of references, so the collector, which would visit all agents and links again
        and again, rests meanwhile.
        """
        with resting():
            self._run()

    def _run(self) -> None:
        """The loop of `simpy.Environment.run` without a call an event, or a message that arrives."""
        env, bus, boxes, cut = self.env, self.bus, self.boxes, self.cut
        due, late, advance = env.due, env.late, env.advance
        on_delivered, counts = bus.on_delivered, [tally.delivered for tally in bus.tallies]
        while self._unfinished > 0:
            if late:
                if env.crowded():
                    env.retreat()
                    continue
                entry = due.pop() if due and due[-1] < late[0] else heappop(late)
            elif due or advance():
                entry = due.pop()
            else:
                raise SimnetError(f"the simulation stalled at t = {env.now:g} s: every agent waits")
            env._now = entry[0]
            event = entry[3]
            kind = type(event)
            if kind is Carried:
                peer = entry[4]
                box = boxes[peer]
                if cut or box is None:
                    self._arrive(Flight(event, peer, event.first + entry[5], self._arrive))
                    continue
                self.in_flight -= 1
                sender = event.sender
                bus.seq = seq = bus.seq + 1
                for delivered in counts:
                    delivered[sender] += 1
                for tell in on_delivered:
                    tell(seq, env._now, peer, event.round, sender, event.first + entry[5])
                box.append(event)
                if not self.in_flight:
                    self.meeting.hold()
            elif kind is Flight:
                event.ending(event)
            else:
                callbacks, event.callbacks = event.callbacks, None
                for callback in callbacks:
                    callback(event)
                if not event._ok and not event.defused:
                    raise event._value

    def _arrive(self, flight: Flight) -> None:
        """The end of a flight whose receiver looks at it at once, or cannot."""
        port = self.ports[flight.peer]
        if self._comes_in(flight, port):
            self.delivered(flight)
            port.receive(flight.cargo)
            self.meeting.hold()

    def delivered(self, flight: Flight) -> None:
        """Put on the record that a message has arrived."""
        self.in_flight -= 1
        bus, sender = self.bus, flight.sender
        bus.seq = seq = bus.seq + 1
        for tally in bus.tallies:
            tally.delivered[sender] += 1
        for tell in bus.on_delivered:
            tell(seq, self.env._now, flight.peer, flight.round, sender, flight.message)

    def retire(self) -> None:
        """An agent has finished its last round, or will never come back."""
        self._unfinished -= 1

    def send(
        self,
        sender: int,
        peers: Sequence[int],
        round: int,
        kind: frame.Kind,
        payload: bytes,
        parts: Parts | None = None,
    ) -> None:
        """Hand one frame to the link of each peer; `parts` is what the payload says, if the sender has decoded it."""
        first = self._messages + 1
        cargo = Carried(kind, sender, round, payload, parts, first)
        carries, size, length = kind.label, cargo.size, len(payload)
        if self._shared_medium:
            self._send_to_all(sender, peers, carries, length, cargo)
            return
        transport = None if self.transport is None or kind not in _SEEN_THROUGH else self.transport
        env, bus, links = self.env, self.bus, self.links[sender]
        now, horizon, late, fresh, numbers = env._now, env.horizon, env.late, env.fresh, env._eid
        on_sent, seq, total, flying = bus.on_sent, bus.seq, 0, 0
        simple = transport is None and not self.cut
        # What has been decoded, or says nothing, need not be looked at when it arrives.
        plain = parts is not None or kind is _NOTICE
        for place, peer in enumerate(peers):
            if simple:
                lost, until, wire_bytes, passage = links[peer].send(now, size)
            else:
                passage = links[peer].offer(now, size)
                wire_bytes = passage.wire_bytes
            seq += 1
            total += wire_bytes or size
            for tell in on_sent:
                tell(seq, now, sender, round, peer, first + place, carries, length, wire_bytes or size)
            if passage is None:
                # `_launch` and `fly` at the price of neither: this is what happens to nearly all messages. On its way
                # such a one is an entry of the agenda and nothing else; a large network has a million of them.
                flying += 1
                when = now + (until - now) if until > now else now
                entry: Entry
                if plain and not lost:
                    entry = when, ARRIVAL, next(numbers), cargo, peer, place
                else:
                    ending = self._lose if lost else self._arrive
                    entry = when, ARRIVAL, next(numbers), Flight(cargo, peer, first + place, ending)
                if when < horizon:
                    heappush(late, entry)
                else:
                    fresh.append(entry)
                continue
            bus.seq = seq
            flight = Flight(cargo, peer, first + place, self._arrive)
            if transport is not None:
                self.in_flight += 1
                transport.begin(flight, passage)
            else:
                self._launch(flight, passage)
            seq = bus.seq
        bus.seq = seq
        self._messages += len(peers)
        self.in_flight += flying
        for tally in bus.tallies:
            tally.sent(sender, carries, len(peers), length * len(peers), total)

    def _send_to_all(self, sender: int, peers: Sequence[int], carries: str, payload: int, cargo: Carried) -> None:
        """One transmission that every peer hears with its own luck; its bytes are counted with the first message."""
        if not peers:
            return
        links, bus = self.links[sender], self.bus
        departure = links[peers[0]].transmitter.admit(self.env.now, cargo.size)
        for index, peer in enumerate(peers):
            self._messages = message = self._messages + 1
            passage = links[peer].carry(*departure)
            size = (payload, passage.wire_bytes or cargo.size) if index == 0 else (0, 0)
            bus.seq = seq = bus.seq + 1
            for tell in bus.on_sent:
                tell(seq, self.env.now, sender, cargo.round, peer, message, carries, *size)
            for tally in bus.tallies:
                tally.sent(sender, carries, 1, *size)
            self._launch(Flight(cargo, peer, message, self._arrive), passage)

    def _launch(self, flight: Flight, passage: Passage) -> None:
        """Let a message that is sent once meet its fate."""
        fate, _, departs, arrives, _, _, flight.corrupted, copies = passage
        if self.is_cut(flight):
            self._fail(events.MessageUnreachable, flight)
            return
        if fate == "overflowed":
            self._fail(events.MessageOverflowed, flight)
            return
        self.in_flight += 1
        if fate == "lost":
            # A lost message has no arrival: it is gone once its last bit has left.
            flight.ending = self._lose
            self.fly(flight, departs)
            return
        self.fly(flight, arrives)
        for time in copies:
            self.fly(Flight(flight.cargo, flight.peer, flight.message, self._repeat), time)

    def fly(self, flight: Flight, until: float) -> None:
        """Let a flight end at a point in simulated time."""
        now = self.env._now
        self.env.plan(now + (until - now) if until > now else now, ARRIVAL, flight)

    def _comes_in(self, flight: Flight, port: Receiver) -> bool:
        """Whether a message that has arrived reaches its receiver now; if not, what becomes of it."""
        if port.down or self.is_cut(flight):
            self._land(events.MessageUnreachable, flight)
        elif port.inbox is not None and not flight.taken:
            done = port.inbox.admit(self.env.now)
            if done == float("inf"):
                self._land(events.MessageOverflowed, flight)
            else:
                flight.taken = True
                self.fly(flight, done)
        elif flight.corrupted:
            self.refused(flight)
            self.in_flight -= 1
            self.emit(events.MessageLost(flight.sender, flight.round, flight.peer, flight.message, "corrupted"))
            self.meeting.hold()
        else:
            return True
        return False

    def is_cut(self, flight: Flight) -> bool:
        """Whether nothing gets through between sender and receiver now."""
        return bool(self.cut) and (flight.sender, flight.peer) in self.cut

    def refused(self, flight: Flight) -> None:
        """Open a frame with a flipped bit, as its receiver would; its checksum must give it away."""
        damaged = bytearray(flight.cargo.raw)
        place = flight.message % (8 * len(damaged))
        damaged[place // 8] ^= 1 << place % 8
        try:
            frame.decode(bytes(damaged))
        except FrameError:
            return
        raise SimnetError("a damaged frame passed its checksum")

    def _repeat(self, flight: Flight) -> None:
        """A message has arrived once more: its receiver knows it already."""
        if not self.ports[flight.peer].down and not self.is_cut(flight):
            self.emit(events.MessageDuplicated(flight.peer, flight.round, flight.sender, flight.message))

    def _lose(self, flight: Flight) -> None:
        self.in_flight -= 1
        bus = self.bus
        bus.seq = seq = bus.seq + 1
        for tally in bus.tallies:
            tally.lost[flight.sender] += 1
        for tell in bus.on_lost:
            tell(seq, self.env.now, flight.sender, flight.round, flight.peer, flight.message)
        if not self.in_flight:
            self.meeting.hold()

    def _land(self, fate: type[Any], flight: Flight) -> None:
        self.in_flight -= 1
        self._fail(fate, flight)
        self.meeting.hold()

    def _fail(self, fate: type[Any], flight: Flight) -> None:
        self.emit(fate(flight.sender, flight.round, flight.peer, flight.message))
