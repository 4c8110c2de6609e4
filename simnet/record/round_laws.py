"""What an agent does in a round, and in which order: pay, test, release, send, use, end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from simnet.record import events
from simnet.record.law_state import Standing, who

Handlers = Mapping[type[events.Event], Callable[[Any, float, Any], None]]
"""What a field of law does about an event: (self, t, event)."""


PACED = ("value", "notice")
"""What a round sends; acknowledgements, questions and answers come when they are called for."""


class Rounds:
    """What an agent does in a round, and in which order."""

    title: ClassVar[str] = "rounds"

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._agents = standing.agents
        self._complain = standing.complain

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
                self._complain(f"{who(event)} pays for a release after making it")
            if agent.releases >= agent.advance.get(event.mechanism, math.inf):
                self._complain(f"{who(event)} releases oftener than it has paid for in advance: {agent.releases} times")
            return
        agent.advance[event.mechanism] = agent.advance.get(event.mechanism, 0) + event.times
        if agent.answers:
            self._complain(f"{who(event)} pays for its test after the first answer")

    def tested(self, _t: float, event: events.SvtTested) -> None:
        agent = self._agents[event.agent]
        if not agent.advance:
            self._complain(f"{who(event)} asks the test without having paid for it")
        if agent.tested is not None or agent.released:
            self._complain(f"{who(event)} asks the test twice, or after its release")
        agent.tested = event.passed
        agent.answers += 1

    def released(self, _t: float, event: events.ReleaseMade) -> None:
        agent = self._agents[event.agent]
        if agent.released:
            self._complain(f"{who(event)} makes two releases")
        if not agent.paid:
            self._complain(f"{who(event)} makes a release that it has not paid for")
        if agent.advance and not agent.tested:
            self._complain(f"{who(event)} makes a release that has not passed the test")
        agent.released = True
        agent.releases += 1

    def broadcast(self, _t: float, event: events.BroadcastSent) -> None:
        agent = self._agents[event.agent]
        agent.broadcasts += 1
        if not agent.released:
            self._complain(f"{who(event)} broadcasts without a release")

    def skipped(self, _t: float, event: events.BroadcastSkipped) -> None:
        agent = self._agents[event.agent]
        agent.skips += 1
        if event.reason == "test" and agent.tested is not False:
            self._complain(f"{who(event)} skips because of a test that did not fail")

    def sent(self, _t: float, event: events.MessageSent) -> None:
        if event.carries not in PACED:
            return
        agent = self._agents[event.agent]
        agent.sent += 1
        if event.carries == "value" and not agent.broadcasts:
            self._complain(f"{who(event)} sends message {event.message} with a value that it has not released")
        if event.carries == "notice" and not agent.skips:
            self._complain(f"{who(event)} sends message {event.message}, a notice of a skip that did not happen")

    def used(self, _t: float, event: events.ValueUsed) -> None:
        self._agents[event.agent].used += 1

    def updated(self, _t: float, event: events.DualUpdated) -> None:
        """The round is over: everything that belongs to it must have happened, once."""
        agent, degree = self._agents[event.agent], self._standing.degrees[event.agent]
        if agent.broadcasts + agent.skips != 1:
            self._complain(
                f"{who(event)} ends with {agent.broadcasts} broadcasts and {agent.skips} skips: it is one or the other"
            )
        if not agent.paid == agent.released == agent.broadcasts:
            self._complain(
                f"{who(event)} has {agent.paid} ledger entries for {int(agent.released)} releases "
                f"and {agent.broadcasts} broadcasts"
            )
        if agent.tested and not agent.released:
            self._complain(f"{who(event)} passed the test and released nothing")
        if agent.sent != degree and (agent.broadcasts or agent.sent):
            self._complain(f"{who(event)} sends {agent.sent} messages to {degree} neighbours")
        if agent.used != degree and not (self._standing.one_way and agent.used == 0):
            self._complain(f"{who(event)} uses {agent.used} values of {degree} neighbours")
        agent.finished, agent.round = event.round, 0

    handlers: ClassVar[Handlers] = {
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
