"""What becomes of messages, and what the values in them are worth on arrival."""

from __future__ import annotations

from typing import Any, ClassVar

from simnet.record import events
from simnet.record.law_state import Standing, who
from simnet.record.round_laws import PACED, Handlers


class Messages:
    """What becomes of messages, and what the values in them are worth on arrival."""

    title: ClassVar[str] = "messages"

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._complain = standing.complain
        self._flying: dict[int, tuple[int, int, int, bool, float]] = {}
        self._last = 0

    def sent(self, t: float, event: events.MessageSent) -> None:
        message = event.message
        if message <= self._last:
            self._complain(f"message {message} is sent after message {self._last}: numbers ascend")
        self._last = max(message, self._last)
        self._flying[message] = (event.agent, event.peer, event.round, event.carries == "value", t)
        if event.carries not in PACED:
            return
        link = self._standing.links[event.peer, event.agent]
        if link.sent_in == event.round:
            self._complain(f"{who(event)} sends agent {event.peer} a second message")
        link.sent_in = event.round

    def gathered(self, _t: float, event: events.ReportsGathered) -> None:
        if event.messages != event.delivered + event.lost:
            self._complain(
                f"of {event.messages} reports of agent {event.agent}'s rows {event.delivered} arrive and {event.lost} "
                "are lost: each does one or the other"
            )

    def delivered(self, t: float, event: events.MessageDelivered) -> None:
        if self._meets_fate(t, event, event.peer, event.agent):
            link = self._standing.links[event.agent, event.peer]
            if self._standing.aligned:
                link.ahead += (event.round,)
            elif event.round > link.newest:
                link.newest = event.round

    def failed(self, t: float, event: Any) -> None:
        self._meets_fate(t, event, event.agent, event.peer)

    def retransmitted(self, _t: float, event: events.MessageRetransmitted) -> None:
        if event.message > self._last:
            self._complain(f"message {event.message} is retransmitted but was never sent")

    def used(self, _t: float, event: events.ValueUsed) -> None:
        link = self._standing.links[event.agent, event.peer]
        if link.used_in == event.round:
            self._complain(f"{who(event)} uses the value of agent {event.peer} twice")
        link.used_in = event.round
        if link.ahead:
            # Under lock-step pacing a value of a later round waits until its user gets there.
            link.newest = max((link.newest, *(round for round in link.ahead if round <= event.round)))
            link.ahead = tuple(round for round in link.ahead if round > event.round)
        staleness = max(0, event.round - link.newest)
        if event.staleness != staleness and self._standing.is_told(event.peer):
            self._complain(
                f"{who(event)} uses a value of agent {event.peer} with staleness {event.staleness}, "
                f"but the newest that arrived is of round {link.newest}: {staleness}"
            )

    def _meets_fate(self, t: float, event: Any, sender: int, peer: int) -> bool:
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

    handlers: ClassVar[Handlers] = {
        events.ReportsGathered: gathered,
        events.MessageSent: sent,
        events.MessageDelivered: delivered,
        **dict.fromkeys((events.MessageLost, events.MessageOverflowed, events.MessageUnreachable), failed),
        events.MessageRetransmitted: retransmitted,
        events.ValueUsed: used,
    }


def _journey(sender: int, peer: int, round: int) -> str:
    return f"from agent {sender} to agent {peer} in round {round}"
