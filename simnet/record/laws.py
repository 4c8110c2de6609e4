"""The laws that every run obeys, checked on its events.

- A message meets exactly one fate: messages = delivered + lost + overflowed + unreachable + in flight.
- A finished round ends in a broadcast or a skip: broadcasts + skips = rounds run.
- A release is paid before it is made and made before it is sent: releases = broadcasts = ledger entries for a release.
- A test is paid before its first answer; what passes is released, nothing else, and not oftener than was paid for.
- A value used is the newest that has arrived: its staleness is what the deliveries say it is.
- A round is evaluated when all agents have finished it, and the last line tells how far each agent came.

`Laws` is a subscriber like any metric. It remembers an entry an agent, a link and a message in flight, however long the
run. A field of law is a class with a table of handlers; a new one is added to `_FIELDS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from simnet.record import events
from simnet.record.law_state import Standing, who
from simnet.record.message_laws import Messages
from simnet.record.round_laws import PACED, Handlers, Rounds

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


class Evaluations:
    """Rounds are evaluated one after another, and never before all agents have finished them."""

    title: ClassVar[str] = "evaluations"

    def __init__(self, standing: Standing) -> None:
        self._finished = {agent: 0 for agent in standing.agents if standing.is_told(agent)}
        self._complain = standing.complain
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

    handlers: ClassVar[Handlers] = {
        events.DualUpdated: updated,
        events.FaultBegan: began,
        events.FaultEnded: ended,
        events.EvaluationDone: evaluated,
        events.RunFinished: finished,
    }


_FIELDS = (Rounds, Messages, Evaluations)


class Laws:
    """A subscriber that notes every violation, in words."""

    def __init__(self) -> None:
        self._standing: Standing | None = None
        self._handlers: dict[type[events.Event], list[Callable[[float, Any], None]]] = {}
        self._seq, self._t = 0, 0.0
        self._violations: list[str] = []
        self.unchecked: list[str] = []
        """Fields of law of which the log holds too little."""
        self._more = 0

    def __call__(self, seq: int, t: float, event: events.Event) -> None:
        self._seq, self._t = seq, t
        if self._standing is None:
            self._begin(event)
        elif self._is_placed(event, self._standing):
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
        self._standing = standing = Standing(event, self._complain)
        for field in _FIELDS:
            # Of a thinned log only those fields of law can be checked of which it holds all events.
            if standing.thinning is not None and not standing.thinning.kinds >= field.handlers.keys():
                self.unchecked.append(field.title)
                continue
            law = field(standing)
            for kind, handler in law.handlers.items():
                self._handlers.setdefault(kind, []).append(partial(handler, law))

    def _is_placed(self, event: Any, standing: Standing) -> bool:
        """Whether the event happens at an agent and a link that exist; it should also happen in the agent's round."""
        if standing.thinning is not None and not standing.thinning.keeps(event):
            self._complain(f"{event.kind} is told by a log that says that it leaves such events out")
            return False
        agent, peer = getattr(event, "agent", None), getattr(event, "peer", None)
        if agent is not None and agent not in standing.agents:
            self._complain(f"{event.kind} happens at agent {agent}, and there is no such agent")
            return False
        if agent is not None and peer is not None and (agent, peer) not in standing.links:
            self._complain(f"{event.kind} happens between agents {agent} and {peer}, and there is no such link")
            return False
        if type(event) is events.MessageSent and event.carries not in PACED:
            return True
        if (
            type(event) in _IN_ROUND
            and Rounds.title not in self.unchecked
            and event.round != (state := standing.agents[event.agent]).round
        ):
            place = f"in round {state.round}" if state.round else "between its rounds"
            self._complain(f"{event.kind} of {who(event)} comes {place}")
            state.enter(event.round)
        return True

    def _complain(self, sentence: str) -> None:
        if len(self._violations) < _SHOWN:
            self._violations.append(f"event {self._seq} at t = {self._t:g} s: {sentence}")
        else:
            self._more += 1
