"""The laws that every run obeys, checked on its events.

- A message meets exactly one fate: messages = delivered + lost + overflowed + unreachable + in flight.
- A finished round ends in a broadcast or a skip: broadcasts + skips = rounds run.
- A release is paid before it is made and made before it is sent: releases = broadcasts = ledger entries for a release.
- A test is paid before its first answer; what passes is released, nothing else, and not more often than was paid for.
- A value used is the newest that has arrived: its staleness is what the deliveries say it is.
- A round is evaluated when all agents have finished it, and the last line tells how far each agent came.

`Laws` is a subscriber like any metric. However long the run, it remembers one entry per agent, per link and per message
in flight. The laws come in three groups: rounds, messages, evaluations. A group is a class with a table of handlers,
one per kind of event; a new group is added to `_GROUPS`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from simnet.record import events
from simnet.record.thinning import Thinning

_SHOWN = 20
_IN_ROUND = frozenset(
    {
        events.SolveFinished,
        events.SvtTested,
        events.ReleaseMade,
        events.PrivacySpent,
        events.BroadcastSent,
        events.BroadcastSkipped,
        events.MessageSent,
        events.ValueUsed,
        events.RoundTimeout,
        events.DualUpdated,
    }
)
"""Events that happen at an agent inside its round; the fate of a message may come at any time."""

_PACED = ("value", "notice")
"""What a message of a round carries; acknowledgements, questions and answers come when they are called for."""

_Handlers = Mapping[type[events.Event], Callable[[Any, float, Any], None]]
"""What a group of laws does about an event: (self, t, event)."""


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

    round: int = 0
    paid: int = 0
    tested: bool | None = None
    released: bool = False
    broadcasts: int = 0
    skips: int = 0
    sent: int = 0
    used: int = 0

    def enter(self, round: int) -> None:
        """A round begins: nothing was done in it yet."""
        self.round = round
        self.paid = self.broadcasts = self.skips = self.sent = self.used = 0
        self.tested, self.released = None, False


@dataclass(slots=True)
class _Link:
    """One direction of a link: the round of its receiver's newest value, and of values that came before their round."""

    newest: int = 0
    ahead: tuple[int, ...] = ()
    sent_in: int = 0
    """the last round in which a message was sent"""
    used_in: int = 0
    """the last round in which a value was used"""


class _State:
    """What all groups of laws share: the agents, and the links by (receiver, sender)."""

    def __init__(self, start: events.RunStarted, aligned: Collection[str], complain: Callable[[str], None]) -> None:
        self.complain = complain
        self.agents = {agent: _Agent() for agent in range(len(start.rows))}
        ends = [end for a, b in start.edges for end in ((a, b), (b, a))]
        self.links = {end: _Link() for end in ends}
        self.degrees = dict.fromkeys(self.agents, 0)
        for receiver, sender in self.links:
            if receiver == sender or receiver not in self.agents:
                complain(f"the link {receiver}-{sender} does not join two agents of the run")
            else:
                self.degrees[receiver] += 1
        if len(self.links) < len(ends):
            complain("a link is listed twice")
        self.thinning = Thinning.of(start.scenario)
        self.aligned = _found(start.scenario, "network", "pacing", "kind") in aligned
        self.one_way = _found(start.scenario, "algorithm", "hub") == "trusted"
        """A trusted hub has all the rows: its leaves only listen, and it uses no values of theirs."""

    def is_told(self, agent: int) -> bool:
        """Whether the log holds what happened at an agent."""
        return self.thinning is None or self.thinning.sample is None or self.thinning.sample[agent]


def _found(scenario: dict[str, Any], *path: str) -> Any:
    found: Any = scenario
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _who(event: events.AtAgent) -> str:
    """The subject of a sentence about an event."""
    return f"agent {event.agent} in round {event.round}"


class Rounds:
    """What an agent does in a round, and in which order."""

    title: ClassVar[str] = "rounds"

    def __init__(self, state: _State) -> None:
        self._state = state
        self._agents = state.agents
        self._complain = state.complain

    def started(self, _t: float, event: events.RoundStarted) -> None:
        agent = self._agents[event.agent]
        if agent.round:
            self._complain(f"agent {event.agent} starts round {event.round} inside round {agent.round}")
        elif event.round != agent.finished + 1:
            self._complain(f"agent {event.agent} starts round {event.round} after round {agent.finished}")
        agent.enter(event.round)

    def spent(self, _t: float, event: events.PrivacySpent) -> None:
        agent = self._agents[event.agent]
        if event.spent_on == "release":
            agent.paid += 1
            if agent.released:
                self._complain(f"{_who(event)} pays for a release after making it")
            if agent.releases >= agent.advance.get(event.mechanism, math.inf):
                self._complain(
                    f"{_who(event)} releases oftener than it has paid for in advance: {agent.releases} times"
                )
            return
        agent.advance[event.mechanism] = agent.advance.get(event.mechanism, 0) + event.times
        if agent.answers:
            self._complain(f"{_who(event)} pays for its test after the first answer")

    def tested(self, _t: float, event: events.SvtTested) -> None:
        agent = self._agents[event.agent]
        if not agent.advance:
            self._complain(f"{_who(event)} asks the test without having paid for it")
        if agent.tested is not None or agent.released:
            self._complain(f"{_who(event)} asks the test twice, or after its release")
        agent.tested = event.passed
        agent.answers += 1

    def released(self, _t: float, event: events.ReleaseMade) -> None:
        agent = self._agents[event.agent]
        if agent.released:
            self._complain(f"{_who(event)} makes two releases")
        if not agent.paid:
            self._complain(f"{_who(event)} makes a release that it has not paid for")
        if agent.advance and not agent.tested:
            self._complain(f"{_who(event)} makes a release that has not passed the test")
        agent.released = True
        agent.releases += 1

    def broadcast(self, _t: float, event: events.BroadcastSent) -> None:
        agent = self._agents[event.agent]
        agent.broadcasts += 1
        if not agent.released:
            self._complain(f"{_who(event)} broadcasts without a release")

    def skipped(self, _t: float, event: events.BroadcastSkipped) -> None:
        agent = self._agents[event.agent]
        agent.skips += 1
        if event.reason == "test" and agent.tested is not False:
            self._complain(f"{_who(event)} skips because of a test that did not fail")

    def sent(self, _t: float, event: events.MessageSent) -> None:
        if event.carries not in _PACED:
            return
        agent = self._agents[event.agent]
        agent.sent += 1
        if event.carries == "value" and not agent.broadcasts:
            self._complain(f"{_who(event)} sends message {event.message} with a value that it has not released")
        if event.carries == "notice" and not agent.skips:
            self._complain(f"{_who(event)} sends message {event.message}, a notice of a skip that did not happen")

    def used(self, _t: float, event: events.ValueUsed) -> None:
        self._agents[event.agent].used += 1

    def updated(self, _t: float, event: events.DualUpdated) -> None:
        """The round is over: everything that belongs to it must have happened exactly once."""
        agent, degree = self._agents[event.agent], self._state.degrees[event.agent]
        if agent.broadcasts + agent.skips != 1:
            self._complain(
                f"{_who(event)} ends with {agent.broadcasts} broadcasts and {agent.skips} skips: it is one or the other"
            )
        if not agent.paid == agent.released == agent.broadcasts:
            self._complain(
                f"{_who(event)} has {agent.paid} ledger entries for {int(agent.released)} releases "
                f"and {agent.broadcasts} broadcasts"
            )
        if agent.tested and not agent.released:
            self._complain(f"{_who(event)} passed the test and released nothing")
        if agent.sent != degree and (agent.broadcasts or agent.sent):
            self._complain(f"{_who(event)} sends {agent.sent} messages to {degree} neighbours")
        if agent.used != degree and not (self._state.one_way and agent.used == 0):
            self._complain(f"{_who(event)} uses {agent.used} values of {degree} neighbours")
        agent.finished, agent.round = event.round, 0

    handlers: ClassVar[_Handlers] = {
        events.RoundStarted: started,
        events.PrivacySpent: spent,
        events.SvtTested: tested,
        events.ReleaseMade: released,
        events.BroadcastSent: broadcast,
        events.BroadcastSkipped: skipped,
        events.MessageSent: sent,
        events.ValueUsed: used,
        events.DualUpdated: updated,
    }


class Messages:
    """What becomes of messages, and what the values in them are worth on arrival."""

    title: ClassVar[str] = "messages"

    def __init__(self, state: _State) -> None:
        self._state = state
        self._complain = state.complain
        self._flying: dict[int, tuple[int, int, int, bool, float]] = {}
        self._last = 0

    def sent(self, t: float, event: events.MessageSent) -> None:
        message = event.message
        if message <= self._last:
            self._complain(f"message {message} is sent after message {self._last}: numbers ascend")
        self._last = max(message, self._last)
        self._flying[message] = (event.agent, event.peer, event.round, event.carries == "value", t)
        if event.carries not in _PACED:
            return
        link = self._state.links[event.peer, event.agent]
        if link.sent_in == event.round:
            self._complain(f"{_who(event)} sends agent {event.peer} a second message")
        link.sent_in = event.round

    def gathered(self, _t: float, event: events.ReportsGathered) -> None:
        if event.messages != event.delivered + event.lost:
            self._complain(
                f"of {event.messages} reports of agent {event.agent}'s rows {event.delivered} arrive and {event.lost} "
                "are lost: each does one or the other"
            )

    def delivered(self, t: float, event: events.MessageDelivered) -> None:
        if self._meets_fate(t, event, event.peer, event.agent):
            link = self._state.links[event.agent, event.peer]
            if self._state.aligned:
                link.ahead += (event.round,)
            elif event.round > link.newest:
                link.newest = event.round

    def failed(self, t: float, event: events.OfMessage) -> None:
        self._meets_fate(t, event, event.agent, event.peer)

    def retransmitted(self, _t: float, event: events.MessageRetransmitted) -> None:
        if event.message > self._last:
            self._complain(f"message {event.message} is retransmitted but was never sent")

    def used(self, _t: float, event: events.ValueUsed) -> None:
        link = self._state.links[event.agent, event.peer]
        if link.used_in == event.round:
            self._complain(f"{_who(event)} uses the value of agent {event.peer} twice")
        link.used_in = event.round
        if link.ahead:
            # Under lock-step pacing a value of a later round waits until its user gets there.
            link.newest = max((link.newest, *(round for round in link.ahead if round <= event.round)))
            link.ahead = tuple(round for round in link.ahead if round > event.round)
        staleness = max(0, event.round - link.newest)
        if event.staleness != staleness and self._state.is_told(event.peer):
            self._complain(
                f"{_who(event)} uses a value of agent {event.peer} with staleness {event.staleness}, "
                f"but the newest that arrived is of round {link.newest}: {staleness}"
            )

    def _meets_fate(self, t: float, event: events.OfMessage, sender: int, peer: int) -> bool:
        """Take the message out of the air; whether it carried a value."""
        message, fate = event.message, event.kind.removeprefix("message.")
        found = self._flying.pop(message, None)
        if found is None:
            why = "has met its fate already" if message <= self._last else "was never sent"
            self._complain(f"message {message} is {fate} but {why}")
            return False
        if found[:3] != (sender, peer, event.round):
            told, true = (_journey(*journey) for journey in ((sender, peer, event.round), found[:3]))
            self._complain(f"message {message} is {fate} {told}, but it was sent {true}")
        if t < found[4]:
            self._complain(f"message {message} is {fate} before it is sent")
        return found[3]

    handlers: ClassVar[_Handlers] = {
        events.ReportsGathered: gathered,
        events.MessageSent: sent,
        events.MessageDelivered: delivered,
        **dict.fromkeys((events.MessageLost, events.MessageOverflowed, events.MessageUnreachable), failed),
        events.MessageRetransmitted: retransmitted,
        events.ValueUsed: used,
    }


def _journey(sender: int, peer: int, round: int) -> str:
    return f"from agent {sender} to agent {peer} in round {round}"


class Evaluations:
    """Rounds are evaluated one after another, and never before all agents have finished them."""

    title: ClassVar[str] = "evaluations"

    def __init__(self, state: _State) -> None:
        self._finished = {agent: 0 for agent in state.agents if state.is_told(agent)}
        self._complain = state.complain
        self._last = 0
        self._down: Counter[int] = Counter()

    def began(self, _t: float, event: events.FaultBegan) -> None:
        if event.fault == "crash" and event.agent is not None:
            self._down[event.agent] += 1

    def ended(self, _t: float, event: events.FaultEnded) -> None:
        if event.fault == "crash" and event.agent is not None:
            self._down[event.agent] -= 1

    def updated(self, _t: float, event: events.DualUpdated) -> None:
        self._finished[event.agent] = event.round

    def evaluated(self, _t: float, event: events.EvaluationDone) -> None:
        if event.round <= self._last:
            self._complain(f"round {event.round} is evaluated after round {self._last}")
        self._last = event.round
        # An agent that is down may be down for good: then it is not waited for.
        late = [a for a, round in self._finished.items() if round < event.round and not self._down.get(a)]
        if late:
            self._complain(f"round {event.round} is evaluated before agent {late[0]} has finished it")

    def finished(self, _t: float, event: events.RunFinished) -> None:
        rounds = list(self._finished.values())
        told = [round for agent, round in enumerate(event.rounds) if agent in self._finished]
        if told != rounds:
            self._complain(f"the last line says that the agents finished the rounds {told}, but it was {rounds}")

    handlers: ClassVar[_Handlers] = {
        events.DualUpdated: updated,
        events.FaultBegan: began,
        events.FaultEnded: ended,
        events.EvaluationDone: evaluated,
        events.RunFinished: finished,
    }


_GROUPS = (Rounds, Messages, Evaluations)


class Laws:
    """A subscriber that notes every violation, in words.

    `aligned` are the kinds of pacing under which values of later rounds wait until the agent gets there.
    """

    def __init__(self, aligned: Collection[str]) -> None:
        self._aligned = aligned
        self._state: _State | None = None
        self._handlers: dict[type[events.Event], list[Callable[[float, Any], None]]] = {}
        self._seq, self._t = 0, 0.0
        self._violations: list[str] = []
        self.unchecked: list[str] = []
        """Groups of laws of which the log holds too little."""
        self._more = 0

    def __call__(self, seq: int, t: float, event: events.Event) -> None:
        self._seq, self._t = seq, t
        if self._state is None:
            self._begin(event)
        elif self._has_a_place(event, self._state):
            self._check_round(event, self._state)
            for handle in self._handlers.get(type(event), ()):
                handle(t, event)

    def finish(self) -> list[str]:
        """All violations, the first ones in full."""
        more = [f"and {self._more} more"] if self._more else []
        return self._violations + more

    def _begin(self, event: events.Event) -> None:
        if not isinstance(event, events.RunStarted):
            self._complain(f"{event.kind} comes before run.started")
            return
        self._state = state = _State(event, self._aligned, self._complain)
        for group in _GROUPS:
            # Of a thinned log only those groups can be checked of which it holds all events.
            if state.thinning is not None and not state.thinning.kinds >= group.handlers.keys():
                self.unchecked.append(group.title)
                continue
            laws = group(state)
            for kind, handler in laws.handlers.items():
                self._handlers.setdefault(kind, []).append(partial(handler, laws))

    def _has_a_place(self, event: events.Event, state: _State) -> bool:
        """Whether the log may hold the event, and it happens at an agent and a link that exist."""
        if state.thinning is not None and not state.thinning.keeps(event):
            self._complain(f"{event.kind} is told by a log that says that it leaves such events out")
            return False
        agent, peer = getattr(event, "agent", None), getattr(event, "peer", None)
        if agent is not None and agent not in state.agents:
            self._complain(f"{event.kind} happens at agent {agent}, and there is no such agent")
            return False
        if agent is not None and peer is not None and (agent, peer) not in state.links:
            self._complain(f"{event.kind} happens between agents {agent} and {peer}, and there is no such link")
            return False
        return True

    def _check_round(self, event: events.Event, state: _State) -> None:
        """What an agent does in a round happens while it is in that round."""
        if type(event) not in _IN_ROUND or Rounds.title in self.unchecked:
            return
        assert isinstance(event, events.AtAgent)
        agent = state.agents[event.agent]
        if event.round == agent.round or (isinstance(event, events.MessageSent) and event.carries not in _PACED):
            return
        place = f"in round {agent.round}" if agent.round else "between its rounds"
        self._complain(f"{event.kind} of {_who(event)} comes {place}")
        agent.enter(event.round)

    def _complain(self, sentence: str) -> None:
        if len(self._violations) < _SHOWN:
            self._violations.append(f"event {self._seq} at t = {self._t:g} s: {sentence}")
        else:
            self._more += 1
