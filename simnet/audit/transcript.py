"""What an eavesdropper makes of the traffic: the victim's rounds, with everything public that went into them.

It listens to the event stream of a run, or to a saved log of one. Of all events it uses those that a listener on the
links could have written down: which models left which agent, which rounds brought none, and which messages arrived.
From these it retraces the duals with shadow agents, which do what the method prescribes and never see a noise draw.
What the victim computed on its data it does not look at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simnet.agent.neighbourhood import Neighbourhood
from simnet.methods.peer import Known, Peer
from simnet.privacy.ledger import Charge
from simnet.privacy.mechanisms import HUB
from simnet.record import events
from simnet.record.lines import unpack
from simnet.vectors import Parts, Vector


@dataclass(frozen=True)
class Round:
    """One round of the victim: what it sent, None if nothing, why not, and what it knew at the end of the round.

    The hub of a star acts at the end of its round: `known` is then what it acted upon.
    """

    t: int
    sent: Parts | None
    skipped: str | None
    known: tuple[Known, ...]


class Eavesdropper:
    """A subscriber of the event stream.

    `heard` are the agents with an overheard link. A neighbour that is not heard is taken to agree with the victim: all
    models tend to the same one. `shadows` are the agents whose messages carry more than their model, or everybody.
    """

    def __init__(
        self,
        victim: int,
        neighbours: Callable[[int], Sequence[int]],
        shadows: dict[int, Peer],
        heard: frozenset[int],
        *,
        aligned: bool,
    ) -> None:
        self._victim = victim
        self._heard = heard
        self._shadows = shadows
        self._neighbours = {agent: tuple(neighbours(agent)) for agent in shadows}
        initial = shadows[victim].initial()
        self._rooms = {agent: Neighbourhood(self._neighbours[agent], initial, aligned=aligned) for agent in shadows}
        self._out: dict[tuple[int, int], Parts | dict[int, Parts]] = {}
        self._sent: dict[int, Parts | None] = dict.fromkeys(shadows)
        self._skipped: str | None = None
        self._gathered: tuple[int, tuple[Known, ...]] = (0, ())
        self.rounds: list[Round] = []
        self.charges: list[Charge] = []

    @property
    def releases(self) -> int:
        """How often the victim has sent a model."""
        return sum(each.sent is not None for each in self.rounds)

    def __call__(self, seq: int, t: float, event: events.Event) -> None:
        match event:
            case events.ValueUsed():
                self._gathering(event.agent, event.round)
            case events.ReleaseMade():
                self._released(event.agent, event.round, unpack(event.value))
            case events.BroadcastSkipped():
                self._silent(event.agent, event.round, event.reason)
            case events.MessageDelivered() if event.agent in self._shadows:
                parts = self._arrived(event.peer, event.agent, event.round)
                self._rooms[event.agent].hear(event.peer, event.round, parts)
            case events.DualUpdated() if event.agent in self._shadows:
                self._ended(event.agent, event.round)
            case events.PrivacySpent() if event.agent == self._victim:
                self.charges.append(Charge.of(event.mechanism, event.parameters, event.spent_on, event.times))

    def _silent(self, agent: int, t: int, reason: str) -> None:
        if agent in self._shadows:
            self._sent[agent] = None
            self._rooms[agent].enter(t)
        if agent == self._victim:
            self._skipped = reason

    def _released(self, agent: int, t: int, model: Vector) -> None:
        if agent not in self._shadows:
            self._out[agent, t] = (model,)
            return
        shadow = self._shadows[agent]
        letters = shadow.letters(model, self._neighbours[agent])
        if letters is not None:
            self._out[agent, t] = dict(letters)
            self._sent[agent] = (model,)
        else:
            self._out[agent, t] = self._sent[agent] = (model, *shadow.accompany(t, model, self._rooms[agent].known))
        self._rooms[agent].enter(t)
        if agent == self._victim:
            self._skipped = None

    def _arrived(self, sender: int, receiver: int, t: int) -> Parts | None:
        if sender not in self._heard:
            return (self._shadows[self._victim].theta,)
        parts = self._out.get((sender, t))
        return parts[receiver] if isinstance(parts, dict) else parts

    def _gathering(self, agent: int, t: int) -> None:
        """A hub that waits for its leaves reads their gradients before it acts, everybody else only after it."""
        hub = self._shadows.get(agent)
        if hub is not None and hub.role == "hub" and self._gathered[0] < t:
            self._rooms[agent].enter(t)
            self._gathered = t, tuple(self._rooms[agent].read())

    def _ended(self, agent: int, t: int) -> None:
        known = tuple(self._rooms[agent].read())
        if self._gathered[0] == t and agent == HUB:
            known = self._gathered[1]
        sent = self._sent[agent]
        self._shadows[agent].absorb(t, sent, known)
        if agent == self._victim:
            self.rounds.append(Round(t, sent, self._skipped, known))
