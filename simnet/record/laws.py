"""The laws that every run obeys, checked on its events.

- A message meets exactly one fate: messages = delivered + lost + overflowed + unreachable + refused +
  in flight.
- No more leaves a host than was handed to it, and only a message that overflows leaves in part or not at all.
- A reliable transport hands messages over in the order in which they were sent.
- A finished round ends in a broadcast or a skip: broadcasts + skips = rounds run.
- A release is paid before it is made and made before it is sent: releases = broadcasts = ledger entries for a release.
- What is recycled has a source: something that the agent has paid for, or that a neighbour released and the agent used.
- A test is paid before its first answer; what passes is released, nothing else, and not more often than was paid for.
- A value used is the newest that has arrived: its staleness is what the deliveries say it is.
- Nothing is delivered to an agent that is down, nor over a link that is.
- On a shared channel an agent sends one thing at a time.
- A physical link is told of once, at the end, and its line is not busy for longer than the run.
- A round is evaluated when all agents have finished it, and the last line tells how far each agent came.
- An agent plays the rounds of the scenario, unless it is down at the end or `until` has come.

`Laws` is a subscriber like any metric. However long the run, it remembers one entry per agent, per link and per message
in flight. The laws come in six groups: rounds, messages, reach, air (if agents share a channel), underlay (if there is
one), evaluations. `_GROUPS` says which function checks which kind of event.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simnet.privacy.mechanisms import MECHANISMS
from simnet.record import events
from simnet.record.formats import flat
from simnet.record.link_numbers import LinkNumbers
from simnet.record.thinning import Thinning

_SHOWN = 20
_NANOSECONDS = 5e-9
"""By which rounded times may disagree."""
_OPTIONAL = {"air": "network.channel.", "underlay": "network.underlay."}
"""Groups of laws that need a section of the scenario."""
_RECYCLED = "recycled"
"""The charge for what is a function of earlier releases."""
_OF_ROWS = frozenset(name for name, each in MECHANISMS.items() if each.of_rows)
"""Charges for rows that travel, which pay for no release."""
_PACED = ("value", "notice")
"""What a message of a round carries; acknowledgements, questions and answers come when they are called for."""


@dataclass(slots=True)
class _Agent:
    """Where an agent stands: what it did so far, the round it is in (0 between rounds), what it did in that round."""

    finished: int = 0
    """the last round that it has finished"""
    releases: int = 0
    answers: int = 0
    """answers that its sparse vector test has given"""
    advance: dict[str, int] = field(default_factory=dict)
    """releases that it has paid for in advance, by mechanism"""

    source: bool = False
    """whether it has paid for something, or used what a neighbour released: what a release can be recycled from"""

    aired: float = 0.0
    """the end of its last transmission on a shared channel"""

    round: int = field(init=False)
    paid: int = field(init=False)
    tested: bool | None = field(init=False)
    released: bool = field(init=False)
    broadcasts: int = field(init=False)
    skips: int = field(init=False)
    sent: int = field(init=False)
    used: int = field(init=False)

    def __post_init__(self) -> None:
        self.enter(0)

    def enter(self, round: int) -> None:
        """A round begins: nothing was done in it yet."""
        self.round = round
        self.paid = self.broadcasts = self.skips = self.sent = self.used = 0
        self.tested, self.released = None, False


class _Links:
    """What is known of each direction of each link. A direction is a number, that of the other way differs in one bit.

    An event happens at `here`, the direction whose receiver is the event's `agent` and whose sender is its `peer`.
    """

    def __init__(self, agents: int) -> None:
        self._numbers = LinkNumbers(agents)
        self.newest, self.sent_in, self.used_in, self.delivered = (array("q") for _ in range(4))
        """The round of the receiver's newest value; the last round in which a message was sent, and a value used; the
        last message that arrived."""
        self.ahead: dict[int, tuple[int, ...]] = {}
        """Rounds of values that came before their round."""
        self.here = 0

    def join(self, a: int, b: int) -> bool:
        """Add a link between two agents; False if there is one, or it does not join two agents."""
        if not self._numbers.add(a, b):
            return False
        for known in (self.newest, self.sent_in, self.used_in, self.delivered):
            known.extend((0, 0))
        return True

    def find(self, receiver: int, sender: int) -> bool:
        """Go to a direction, if there is such a link."""
        number = self._numbers.get(receiver, sender)
        if number is not None:
            self.here = 2 * number + (receiver > sender)
        return number is not None


class _Run:
    """What the laws remember of a run: its agents, its links, and the messages in flight."""

    def __init__(self, start: events.RunStarted, aligned: Collection[str], complain: Callable[[str], None]) -> None:
        self.complain = complain
        self.silences = {*events.REASONS, *start.silences}
        self.t = 0.0
        self.agents = {agent: _Agent() for agent in range(len(start.rows))}
        self.links = _Links(len(start.rows))
        self.degrees = [0] * len(start.rows)
        self._join(start.edges)
        self.flying: dict[int, tuple[int, int, int, bool, bool, float]] = {}
        self.last_message = self.last_evaluation = 0
        self.down: Counter[int] = Counter()
        self.broken: Counter[tuple[int, ...]] = Counter()
        """Agents (a) that are down, links (a, b) that are, and how many faults keep them so."""
        self.sides: list[set[int]] = []
        """The agents that partitions keep from the others."""
        thinning = self.thinning = Thinning.of(start.scenario)
        self.told = self.agents
        """The agents of which the log holds what they did."""
        if thinning is not None and thinning.share is not None:
            self.told = {number: agent for number, agent in self.agents.items() if thinning.samples(number)}
        self._read(flat(start.scenario), aligned)

    def _join(self, edges: Iterable[tuple[int, int]]) -> None:
        """Take in the links, each of which has to join two agents that have none yet."""
        twice = False
        for a, b in edges:
            if self.links.join(a, b):
                self.degrees[a] += 1
                self.degrees[b] += 1
                continue
            for receiver, sender in {(a, b): None, (b, a): None}:
                if a == b or receiver not in self.agents:
                    self.complain(f"the link {receiver}-{sender} does not join two agents of the run")
            twice = twice or (a != b and a in self.agents and b in self.agents)
        if twice:
            self.complain("a link is listed twice")

    def _read(self, settings: Mapping[str, Any], aligned: Collection[str]) -> None:
        """What the scenario says that laws depend on."""
        self.aligned = settings.get("network.pacing.kind") in aligned
        self.once = settings.get("network.transport.kind") == "datagram"
        """Nothing is sent again."""
        self.in_order = "network.transport.buffer" in settings
        """Messages of a link do not overtake each other."""
        self.absent = {
            title for title, field in _OPTIONAL.items() if not any(name.startswith(field) for name in settings)
        }
        """Groups of laws about what this run does not have."""
        self.physical: set[str] = set()
        """Physical links that were told of."""
        until, rounds = settings.get("until"), settings.get("rounds")
        self.until = until if isinstance(until, (int, float)) else None
        self.rounds = rounds if isinstance(rounds, int) else None
        """How many rounds every agent is to play; None: nobody knows."""
        peers = settings.get("network.peers")
        self.peers = peers if isinstance(peers, int) else None
        """How many neighbours an agent speaks to in a round; None: all."""
        self.one_way = settings.get("algorithm.hub") == "trusted"
        """A trusted hub has all the rows: its leaves only listen, and it uses no values of theirs."""


def _few(numbers: list[int]) -> str:
    """Numbers for a sentence."""
    return str(numbers) if len(numbers) <= _SHOWN else f"{numbers[:_SHOWN]} …"


def _who(event: events.AtAgent) -> str:
    """The subject of a sentence about an event."""
    return f"agent {event.agent} in round {event.round}"


def _started(run: _Run, event: events.RoundStarted) -> None:
    agent = run.agents[event.agent]
    if agent.round:
        run.complain(f"agent {event.agent} starts round {event.round} inside round {agent.round}")
    elif event.round != agent.finished + 1:
        run.complain(f"agent {event.agent} starts round {event.round} after round {agent.finished}")
    agent.enter(event.round)


def _spent(run: _Run, event: events.PrivacySpent) -> None:
    agent = run.agents[event.agent]
    if event.mechanism != _RECYCLED:
        agent.source = True
    elif not agent.source:
        run.complain(f"{_who(event)} recycles before it has paid for anything or used what a neighbour released")
    if event.spent_on == "release":
        agent.paid += event.mechanism not in _OF_ROWS
        if agent.released:
            run.complain(f"{_who(event)} pays for a release after making it")
        if agent.releases >= agent.advance.get(event.mechanism, math.inf):
            run.complain(f"{_who(event)} releases oftener than it has paid for in advance: {agent.releases} times")
        return
    agent.advance[event.mechanism] = agent.advance.get(event.mechanism, 0) + event.times
    if agent.answers:
        run.complain(f"{_who(event)} pays for its test after the first answer")


def _tested(run: _Run, event: events.SvtTested) -> None:
    agent = run.agents[event.agent]
    if not agent.advance:
        run.complain(f"{_who(event)} asks the test without having paid for it")
    if agent.tested is not None or agent.released:
        run.complain(f"{_who(event)} asks the test twice, or after its release")
    agent.tested = event.passed
    agent.answers += 1


def _released(run: _Run, event: events.ReleaseMade) -> None:
    agent = run.agents[event.agent]
    if agent.released:
        run.complain(f"{_who(event)} makes two releases")
    if not agent.paid:
        run.complain(f"{_who(event)} makes a release that it has not paid for")
    if agent.advance and not agent.tested:
        run.complain(f"{_who(event)} makes a release that has not passed the test")
    agent.released = True
    agent.releases += 1


def _broadcast(run: _Run, event: events.BroadcastSent) -> None:
    agent = run.agents[event.agent]
    agent.broadcasts += 1
    if not agent.released:
        run.complain(f"{_who(event)} broadcasts without a release")


def _skipped(run: _Run, event: events.BroadcastSkipped) -> None:
    agent = run.agents[event.agent]
    agent.skips += 1
    if event.reason == "test" and agent.tested is not False:
        run.complain(f"{_who(event)} skips because of a test that did not fail")
    if event.reason not in run.silences:
        run.complain(f"{_who(event)} skips for a reason that the first line does not list: {event.reason}")


def _sent_in_round(run: _Run, event: events.MessageSent) -> None:
    if event.carries not in _PACED:
        return
    agent = run.agents[event.agent]
    agent.sent += 1
    if event.carries == "value" and not agent.broadcasts:
        run.complain(f"{_who(event)} sends message {event.message} with a value that it has not released")
    if event.carries == "notice" and not agent.skips:
        run.complain(f"{_who(event)} sends message {event.message}, a notice of a skip that did not happen")


def _used_in_round(run: _Run, event: events.ValueUsed) -> None:
    agent = run.agents[event.agent]
    agent.used += 1
    if event.staleness < event.round:  # a value of round 0 is the common start
        agent.source = True


def _ended(run: _Run, event: events.DualUpdated) -> None:
    """The round is over: everything that belongs to it must have happened exactly once."""
    agent, degree = run.agents[event.agent], run.degrees[event.agent]
    if agent.broadcasts + agent.skips != 1:
        run.complain(
            f"{_who(event)} ends with {agent.broadcasts} broadcasts and {agent.skips} skips: it is one or the other"
        )
    if not agent.paid == agent.released == agent.broadcasts:
        run.complain(
            f"{_who(event)} has {agent.paid} ledger entries for {int(agent.released)} releases "
            f"and {agent.broadcasts} broadcasts"
        )
    if agent.tested and not agent.released:
        run.complain(f"{_who(event)} passed the test and released nothing")
    spoken_to = degree if run.peers is None else min(degree, run.peers)
    if agent.sent != spoken_to and (agent.broadcasts or agent.sent):
        run.complain(f"{_who(event)} sends {agent.sent} messages to {spoken_to} neighbours")
    if agent.used != degree and not (run.one_way and agent.used == 0):
        run.complain(f"{_who(event)} uses {agent.used} values of {degree} neighbours")
    agent.finished, agent.round = event.round, 0


def _sent(run: _Run, event: events.MessageSent) -> None:
    message = event.message
    if message <= run.last_message:
        run.complain(f"message {message} is sent after message {run.last_message}: numbers ascend")
    run.last_message = max(message, run.last_message)
    _within_the_offer(run, event)
    in_part = event.wire_bytes < events.offered(event)
    run.flying[message] = (event.agent, event.peer, event.round, event.carries == "value", in_part, run.t)
    if event.carries not in _PACED:
        return
    link = run.links.here ^ 1
    if run.links.sent_in[link] == event.round:
        run.complain(f"{_who(event)} sends agent {event.peer} a second message")
    run.links.sent_in[link] = event.round


def _within_the_offer(run: _Run, event: events.MessageSent | events.MessageRetransmitted) -> None:
    offered = events.offered(event)
    if event.wire_bytes > offered:
        run.complain(f"{event.wire_bytes} bytes of message {event.message} leave a host that was handed {offered}")


def _packets(run: _Run, event: events.PacketsSent) -> None:
    if event.wire_bytes > event.offered_bytes:
        run.complain(f"{event.wire_bytes} bytes leave agent {event.agent}, which was handed {event.offered_bytes}")
    if run.once:
        run.complain(f"agent {event.agent} sends packets of a transport that the scenario does not have")


def _gathered(run: _Run, event: events.ReportsGathered) -> None:
    if event.messages != event.delivered + event.lost:
        run.complain(
            f"of {event.messages} reports of agent {event.agent}'s rows {event.delivered} arrive and {event.lost} "
            "are lost: each does one or the other"
        )


def _retransmitted(run: _Run, event: events.MessageRetransmitted) -> None:
    _within_the_offer(run, event)
    if event.message > run.last_message:
        run.complain(f"message {event.message} is retransmitted but was never sent")


def _aired(run: _Run, event: events.AirUsed) -> None:
    agent = run.agents[event.agent]
    if run.t - event.airtime < agent.aired - _NANOSECONDS:
        run.complain(f"agent {event.agent} sends two things at once")
    agent.aired = run.t


def _crossed(run: _Run, event: events.UnderlayLink) -> None:
    if event.link in run.physical:
        run.complain(f"the physical link {event.link} is told of twice")
    run.physical.add(event.link)
    if not 0 <= event.utilisation <= 1 + _NANOSECONDS:
        run.complain(f"the physical link {event.link} is busy for {event.utilisation:g} of the run")
    if event.lost > event.packets:
        run.complain(f"the physical link {event.link} loses {event.lost} of {event.packets} packets")


def _used(run: _Run, event: events.ValueUsed) -> None:
    links, link = run.links, run.links.here
    if links.used_in[link] == event.round:
        run.complain(f"{_who(event)} uses the value of agent {event.peer} twice")
    links.used_in[link] = event.round
    if link in links.ahead:
        # Under lock-step pacing a value of a later round waits until its user gets there.
        ahead = links.ahead.pop(link)
        links.newest[link] = max((links.newest[link], *(round for round in ahead if round <= event.round)))
        if later := tuple(round for round in ahead if round > event.round):
            links.ahead[link] = later
    staleness = max(0, event.round - links.newest[link])
    if event.staleness != staleness and event.peer in run.told:
        run.complain(
            f"{_who(event)} uses a value of agent {event.peer} with staleness {event.staleness}, "
            f"but the newest that arrived is of round {links.newest[link]}: {staleness}"
        )


def _met_fate(run: _Run, event: events.OfMessage) -> None:
    """Take the message out of the air; if it arrived with a value, that may be the newest of its sender."""
    message, fate, arrived = event.message, events.FATES[type(event)], isinstance(event, events.MessageDelivered)
    sender = events.sender(event)
    receiver = event.agent if sender == event.peer else event.peer
    found = run.flying.pop(message, None)
    if found is None:
        why = "has met its fate already" if message <= run.last_message else "was never sent"
        run.complain(f"message {message} is {fate} but {why}")
        return
    *journey, has_value, in_part, sent_at = found
    if in_part and run.once and fate != "overflowed":
        run.complain(f"message {message} is {fate}, but not all of it left its host")
    if journey != [sender, receiver, event.round]:
        ways = ((sender, receiver, event.round), journey)
        told, true = (f"from agent {a} to agent {b} in round {round}" for a, b, round in ways)
        run.complain(f"message {message} is {fate} {told}, but it was sent {true}")
    if run.t < sent_at:
        run.complain(f"message {message} is {fate} before it is sent")
    links, link = run.links, run.links.here ^ (receiver == event.peer)
    if arrived and run.in_order:
        if message < links.delivered[link]:
            run.complain(f"message {message} is handed over after message {links.delivered[link]} of the same stream")
        links.delivered[link] = message
    if arrived and has_value:
        if run.aligned:
            links.ahead[link] = (*links.ahead.get(link, ()), event.round)
        else:
            links.newest[link] = max(links.newest[link], event.round)


def _broke(run: _Run, event: events.FaultEvent) -> None:
    began = isinstance(event, events.FaultBegan)
    if event.fault == "partition":
        side = set(event.agents or ())
        if began:
            run.sides.append(side)
        elif side in run.sides:
            run.sides.remove(side)
    elif event.fault in ("crash", "link-down"):
        place = tuple(sorted(end for end in (event.agent, event.peer) if end is not None))
        run.broken[place] += 1 if began else -1


def _reached(run: _Run, event: events.MessageDelivered) -> None:
    ends = (min(event.agent, event.peer), max(event.agent, event.peer))
    if run.broken[(event.agent,)] > 0:
        run.complain(f"message {event.message} is delivered to agent {event.agent}, which is down")
    if run.in_order:
        return  # a stream hands a message over when its receiver is ready for it, which may be later than its arrival
    if run.broken[ends] > 0 or any(len(side.intersection(ends)) == 1 for side in run.sides):
        run.complain(f"message {event.message} is delivered over the link {ends[0]}-{ends[1]}, which is down")


def _broke_or_healed(run: _Run, event: events.FaultEvent) -> None:
    if event.fault == "crash" and event.agent is not None:
        run.down[event.agent] += 1 if isinstance(event, events.FaultBegan) else -1


def _updated(run: _Run, event: events.DualUpdated) -> None:
    run.agents[event.agent].finished = event.round


def _evaluated(run: _Run, event: events.EvaluationDone) -> None:
    if event.at_end:
        if run.until is None or not math.isclose(run.t, run.until, abs_tol=1e-9):
            run.complain("models are evaluated as they stand, which happens only when `until` ends a run")
        furthest = max((agent.finished for agent in run.agents.values()), default=0)
        if event.round != furthest and run.thinning is None:
            run.complain(f"the last evaluation is of round {event.round}, but the furthest agent finished {furthest}")
        return
    if event.round <= run.last_evaluation:
        run.complain(f"round {event.round} is evaluated after round {run.last_evaluation}")
    run.last_evaluation = event.round
    # An agent that is down may be down for good: then it is not waited for.
    late = [number for number, agent in run.told.items() if agent.finished < event.round and not run.down[number]]
    if late:
        run.complain(f"round {event.round} is evaluated before agent {late[0]} has finished it")


def _finished(run: _Run, event: events.RunFinished) -> None:
    rounds = [agent.finished for agent in run.told.values()]
    told = [round for agent, round in enumerate(event.rounds) if agent in run.told]
    if told != rounds or len(event.rounds) != len(run.agents):
        run.complain(f"the last line says that the agents finished the rounds {_few(told)}, but it was {_few(rounds)}")
    if run.rounds is None:
        return
    timely = run.until is None or run.t < run.until - _NANOSECONDS
    wrong = [
        (agent, round)
        for agent, round in zip(run.told, rounds, strict=True)
        if round > run.rounds or (round < run.rounds and timely and run.down[agent] <= 0)
    ]
    for agent, round in wrong[:1]:
        run.complain(f"agent {agent} finished {round} rounds of the {run.rounds} that the scenario asks for")


_Check = Callable[[_Run, Any], None]
_GROUPS: dict[str, dict[type[events.Event], _Check]] = {
    "rounds": {
        events.RoundStarted: _started,
        events.PrivacySpent: _spent,
        events.SvtTested: _tested,
        events.ReleaseMade: _released,
        events.BroadcastSent: _broadcast,
        events.BroadcastSkipped: _skipped,
        events.MessageSent: _sent_in_round,
        events.ValueUsed: _used_in_round,
        events.DualUpdated: _ended,
    },
    "messages": {
        events.ReportsGathered: _gathered,
        events.MessageSent: _sent,
        **dict.fromkeys(events.FATES, _met_fate),
        events.MessageRetransmitted: _retransmitted,
        events.PacketsSent: _packets,
        events.ValueUsed: _used,
    },
    "reach": {
        **dict.fromkeys((events.FaultBegan, events.FaultEnded), _broke),
        events.MessageDelivered: _reached,
    },
    "air": {events.AirUsed: _aired},
    "underlay": {events.UnderlayLink: _crossed},
    "evaluations": {
        events.DualUpdated: _updated,
        **dict.fromkeys((events.FaultBegan, events.FaultEnded), _broke_or_healed),
        events.EvaluationDone: _evaluated,
        events.RunFinished: _finished,
    },
}


class Laws:
    """A subscriber that notes every violation, in words.

    `aligned` are the kinds of pacing under which values of later rounds wait until the agent gets there.
    """

    def __init__(self, aligned: Collection[str]) -> None:
        self._aligned = aligned
        self._run: _Run | None = None
        self._checks: dict[type[events.Event], list[_Check]] = {}
        self._seq, self._t = 0, 0.0
        self._violations: list[str] = []
        self.unchecked: list[str] = []
        """Groups of laws of which the log holds too little."""
        self._more = 0

    def __call__(self, seq: int, t: float, event: events.Event) -> None:
        self._seq, self._t = seq, t
        if self._run is None:
            self._begin(event)
        elif self._has_a_place(event, self._run):
            self._run.t = t
            self._check_round(event, self._run)
            for check in self._checks.get(type(event), ()):
                check(self._run, event)

    def finish(self) -> list[str]:
        """All violations, the first ones in full."""
        more = [f"and {self._more} more"] if self._more else []
        return self._violations + more

    def _begin(self, event: events.Event) -> None:
        if not isinstance(event, events.RunStarted):
            self._complain(f"{event.kind} comes before run.started")
            return
        self._run = run = _Run(event, self._aligned, self._complain)
        for title, group in _GROUPS.items():
            if title in run.absent:
                continue
            # Of a thinned log only those groups can be checked of which it holds all events.
            if run.thinning is not None and not run.thinning.kinds >= group.keys():
                self.unchecked.append(title)
                continue
            for kind, check in group.items():
                self._checks.setdefault(kind, []).append(check)

    def _has_a_place(self, event: events.Event, run: _Run) -> bool:
        """Whether the log may hold the event, and it happens at an agent and a link that exist."""
        agent, peer = getattr(event, "agent", None), getattr(event, "peer", None)
        if run.thinning is not None and not run.thinning.keeps(event):
            self._complain(f"{event.kind} is told by a log that says that it leaves such events out")
        elif agent is not None and agent not in run.agents:
            self._complain(f"{event.kind} happens at agent {agent}, and there is no such agent")
        elif agent is not None and peer is not None and not run.links.find(agent, peer):
            self._complain(f"{event.kind} happens between agents {agent} and {peer}, and there is no such link")
        else:
            return True
        return False

    def _check_round(self, event: events.Event, run: _Run) -> None:
        """What an agent does in a round happens while it is in that round; the fate of a message comes at any time."""
        if (
            not isinstance(event, events.AtAgent)
            or isinstance(event, events.RoundStarted)
            or "rounds" in self.unchecked
        ):
            return
        if isinstance(event, events.OfMessage) and getattr(event, "carries", None) not in _PACED:
            return
        agent = run.agents[event.agent]
        if event.round != agent.round:
            place = f"in round {agent.round}" if agent.round else "between its rounds"
            self._complain(f"{event.kind} of {_who(event)} comes {place}")
            agent.enter(event.round)

    def _complain(self, sentence: str) -> None:
        if len(self._violations) < _SHOWN:
            self._violations.append(f"event {self._seq} at t = {self._t:g} s: {sentence}")
        else:
            self._more += 1
