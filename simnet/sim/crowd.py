"""A run of a crowd: what `simnet.sim.engine` does one event after another, in phases of all agents at once.

Where all agents are alike and one clock ticks for all of them, a round is always the same story, and this is the order
of its events, by the rules of the engine (time, priority, order of scheduling):

begin     At a tick everybody begins the round, in the order of the agents. Nobody's work depends on what another one
          does at this instant.
arrivals  Messages of earlier rounds that arrive until the work is done, that instant included: at one instant messages
          arrive before work ends.
turns     All work takes the same time. When it is over, each agent in turn finishes its solve, pays, tests, releases or
          skips, and sends a message to each neighbour. What is lost, or takes no time, ends right after the turn of its
          sender and before the next turn, in the order of sending.
arrivals  Messages that arrive until the next tick, that instant included, in the order of their times, and of sending.
end       At the tick each agent in turn uses what it knows of its neighbours, updates its dual and begins the next
          round. When the last one has updated its dual the round is evaluated. After the last round the run is over.

Events are told in columns (`simnet.record.event_columns`): to whoever listens to single events they are the same events
with the same numbers and times. Which worlds suit this says `simnet.crowds`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simnet.agent.program import due
from simnet.learning.column_solver import Column
from simnet.learning.evaluation import Evaluator, RoundFigures
from simnet.learning.stacked_objectives import Agents
from simnet.methods.columns import SILENCES, TOGETHER, ColumnPeers
from simnet.methods.peer import Proposal, Test
from simnet.privacy.ledger import Charge
from simnet.privacy.shared_ledgers import SharedLedgers
from simnet.record import events
from simnet.record.bus import Bus
from simnet.record.event_columns import EventColumn, Field, Models, Whole
from simnet.record.lines import sig
from simnet.sim.crowd_mail import NOTICE, CrowdMail, Letters
from simnet.sim.crowd_workers import Workers, allot, shares
from simnet.sim.engine import evaluation_done
from simnet.vectors import Parts, Vector

Mask = npt.NDArray[np.bool_]
CHUNK = 8192
"""Agents whose turns are told together: what they need for that stays small."""
_KINDS = (
    *(events.RoundStarted, events.SolveFinished, events.PrivacySpent, events.SvtTested, events.ReleaseMade),
    *(events.BroadcastSent, events.BroadcastSkipped, events.MessageSent, events.MessageDelivered),
    *(events.MessageLost, events.MessageRefused, events.ValueUsed, events.DualUpdated),
)


@dataclass(frozen=True)
class Wire:
    """What messages weigh, and what becomes of a model on its way."""

    value_payload: int
    """Bytes of an encoded model."""
    around: int
    """What a frame and its packet add to a payload."""
    notices: bool
    """Whether a skip is announced."""
    decoded: Callable[[Vector], Vector]
    """The model as it is decoded."""


@dataclass(frozen=True)
class Timetable:
    """When the work of each round is done, and when the round ends."""

    done: Sequence[float]
    ends: Sequence[float]

    @classmethod
    def of(cls, rounds: int, work: float, next_tick: Callable[[float], float]) -> Timetable | None:
        """None if the instants do not follow each other: agents would take other turns then."""
        done, ends, now = [], [], 0.0
        for _ in range(rounds):
            # As timers add: an instant is scheduled as a delay.
            end = now + work
            ready = now + (end - now if end > now else 0.0)
            tick = next_tick(ready)
            begins = ready + (tick - ready if tick > ready else 0.0)
            if not now <= ready < begins:
                return None
            done.append(ready)
            ends.append(begins)
            now = begins
        return cls(done, ends)


class Crowd:
    """All agents, from the first round to the last."""

    def __init__(
        self,
        peers: ColumnPeers,
        mail: CrowdMail,
        ledgers: SharedLedgers,
        evaluator: Evaluator,
        bus: Bus,
        times: Timetable,
        wire: Wire,
        *,
        private: bool,
        workers: int,
    ) -> None:
        self._peers, self._mail, self._ledgers = peers, mail, ledgers
        self._evaluator, self._bus, self._times, self._wire = evaluator, bus, times, wire
        self._private = private
        self._agents, self._rounds = mail.directions.agents, len(times.ends)
        self._chunks = [(first, min(first + CHUNK, self._agents)) for first in range(0, self._agents, CHUNK)]
        self._shares = shares(self._agents, workers, TOGETHER)
        self._sent: Column = allot((self._agents,), np.bool_)
        """Who has released a model in this round."""
        self._single = any(bus.hears(kind) for kind in _KINDS)
        """Whether somebody listens to single events, which then have numbers."""

    def run(self) -> None:
        """All rounds; the start of the run is on the record already."""
        for first, last in self._chunks:
            agents = np.arange(first, last)
            self._tell([self.column(events.RoundStarted, 0.0, agents, {"round": 1}, agents - first)])
        with Workers(self._shares, self._compute) as workers:
            workers.do("propose", 1)
            for t, (done, end) in enumerate(zip(self._times.done, self._times.ends, strict=True), 1):
                self._arrive(done)
                for first, last in self._chunks:
                    self._take_turns(t, done, np.arange(first, last))
                self._arrive(end)
                workers.do("absorb", t)
                # While the others look at the models and begin to propose, this process tells what there is to tell.
                workers.begin("go on", t)
                self._tell_of_ends(t, end)
                workers.finish("go on", t)
                self._evaluate(t, end)
        self._bus.emit(self._times.ends[-1], events.RunFinished([self._rounds] * self._agents, "", ""))

    def _compute(self, what: str, t: int, share: int) -> None:
        """What a worker does for its share of the agents, which is all that agents compute by themselves.

        `propose` is the work of a round, `absorb` its end. To `go on` is to look at the models as they are then, and to
        propose in the next round.
        """
        if what == "go on":
            self._evaluator.look(self._peers.theta, share, len(self._shares))
            what, t = "propose", t + 1
        mail, peers, (first, last) = self._mail, self._peers, self._shares[share]
        if t > self._rounds:
            return
        if what == "propose":
            mail.delays.prepare(first, last)
        for begin in range(first, last, TOGETHER):
            end = min(begin + TOGETHER, last)
            agents = np.arange(begin, end)
            if what == "propose":
                peers.propose(t, agents)
            else:
                peers.absorb(t, agents, self._sent[begin:end], mail.sums(begin, end))

    def _take_turns(self, t: int, now: float, agents: Agents) -> None:
        """The work of these agents is done: what leaves them, and what is told of it."""
        found, mail = self._peers.proposals, self._mail
        paid, charged = self._pay(agents)
        self._sent[agents] = sent = paid & found.releases[agents]
        asked, passed = paid & found.asks[agents], found.passed[agents]
        models = self._decoded(agents[sent])
        sends = np.ones(len(agents), np.bool_) if self._wire.notices else sent
        letters = mail.send(t, now, agents[sends], sent[sends], models)
        turns = _Turns(self, t, now, agents, sends)
        turns.one(events.SolveFinished, np.ones(len(agents), np.bool_), self._solved(agents))
        for charge, whom in charged:
            turns.one(events.PrivacySpent, whom, _spending(charge))
        query = _rounded(found.query[agents[asked]]) if self._private else None
        turns.one(events.SvtTested, asked, {"passed": passed[asked], "query": query})
        turns.one(events.ReleaseMade, sent, {"value": Models(models)})
        turns.one(events.BroadcastSent, sent, {"payload_bytes": self._wire.value_payload})
        turns.one(events.BroadcastSkipped, ~paid, {"reason": "budget"})
        for place, reason in enumerate(SILENCES):
            silent = paid & ~sent & (found.silence[agents] == place)
            turns.one(events.BroadcastSkipped, silent, {"reason": reason})
        self._tell(turns.columns(mail, self._wire, letters))

    def _decoded(self, agents: Agents) -> Vector:
        """The models that these agents release, as their neighbours decode them."""
        models: Vector = self._peers.proposals.model[agents]
        strange = np.flatnonzero(~np.isfinite(models).all(axis=1))
        for place in strange.tolist():
            models[place] = self._wire.decoded(models[place])
        self._peers.proposals.model[agents[strange]] = models[strange]
        return models

    def _solved(self, agents: Agents) -> Mapping[str, Field]:
        found = self._peers.proposals
        residual = _rounded(found.residual[agents]) if self._private else None
        return {"gradients": found.gradients[agents], "residual": residual, "notes": None}

    def _pay(self, agents: Agents) -> tuple[Mask, list[tuple[Charge, Mask]]]:
        """Charge ledgers for what these agents propose: who could pay, and which charges were made of whom.

        Agents of one kind with one ledger and like proposals pay the same; what that is, the program of a single agent
        says. None of their charges are for something recycled, so it does not matter what they have heard.
        """
        found, peers = self._peers.proposals, self._peers
        paid = np.ones(len(agents), np.bool_)
        charged: list[tuple[Charge, Mask]] = []
        alike = 8 * peers.kinds[agents] + 4 * found.opens[agents] + 2 * found.asks[agents] + found.releases[agents]
        for like in np.unique(alike).tolist():
            places = np.flatnonzero(alike == like)
            opens, asks, releases = bool(like & 4), bool(like & 2), bool(like & 1)
            charges = peers.charges(int(agents[places[0]]), opens=opens, releases=releases)
            release: Parts | None = (np.empty(0),) if releases else None
            proposal = Proposal(release, charges=charges, test=Test(releases, 0.0) if asks else None)
            for ledger, which in self._ledgers.by_kind(agents[places]):
                some = places[which]
                wanted = due(proposal, ledger, heard=True)
                paid[some] = accepted = self._ledgers.spend_all(agents[some], wanted)
                for charge in wanted:
                    whom = np.zeros(len(agents), np.bool_)
                    whom[some[accepted]] = True
                    charged.append((charge, whom))
        peers.settled(agents, paid)
        return paid, charged

    def _arrive(self, until: float) -> None:
        """Deliver what arrives until then."""
        arrived = self._mail.arrive(until)
        if self._single and arrived:
            # Rounds come in their order, so what arrives at one instant stays in the order of sending.
            letters = Letters.joined(arrived)
            arrived = [letters.only(np.argsort(letters.ends, kind="stable"))]
        for each in arrived:
            self._tell(self.arrivals(each, each.ends, np.arange(len(each))))

    def arrivals(self, letters: Letters, t: float | Vector, order: Whole) -> list[EventColumn]:
        """What is told of messages that arrive; `order` says where each stands among what is told."""
        directions, columns = self._mail.directions, []
        kinds: list[tuple[type[events.Event], Mask]] = [
            (events.MessageDelivered, ~letters.refused),
            (events.MessageRefused, letters.refused),
        ]
        for kind, which in kinds:
            link = letters.link[which]
            fields: dict[str, Field] = {
                "round": letters.round[which],
                "peer": directions.sender[link],
                "message": letters.number[which],
            }
            when = t if isinstance(t, float) else t[which]
            columns.append(self.column(kind, when, directions.receiver[link], fields, order[which]))
        return columns

    def _tell_of_ends(self, t: int, now: float) -> None:
        """Everybody has used what it knows, and begins the next round."""
        mail, more = self._mail, t < self._rounds
        for first, last in self._chunks:
            agents, some = np.arange(first, last), mail.directions.of(first, last)
            degree = mail.directions.degree[first:last]
            # What an agent tells: a value of each neighbour, its dual, the next round.
            begins = np.cumsum(degree + 1 + more) - (degree + 1 + more)
            user = np.repeat(np.arange(last - first), degree)
            used: Mapping[str, Field] = {
                "round": t,
                "peer": mail.directions.receiver[some],
                "staleness": t - mail.known_round[some],
            }
            places = begins[user] + _ranks(degree)
            columns = [
                self.column(events.ValueUsed, now, agents[user], used, places),
                self.column(events.DualUpdated, now, agents, {"round": t}, begins + degree),
            ]
            if more:  # the last agent's comes after the evaluation
                some_agents = agents[: len(agents) - (last == self._agents)]
                begin = (begins + degree + 1)[: len(some_agents)]
                columns.append(self.column(events.RoundStarted, now, some_agents, {"round": t + 1}, begin))
            self._tell(columns)

    def _evaluate(self, t: int, now: float) -> None:
        """Put the evaluation of a round on the record, which comes before the last agent's next round."""
        more = t < self._rounds
        self._evaluator.seen(self._peers.theta)
        evaluation = self._evaluator.evaluate(self._peers.theta, self._peers.dual)
        self._bus.emit(now, evaluation_done(RoundFigures(t, evaluation, not more)))
        if more:
            self._bus.emit(now, events.RoundStarted(self._agents - 1, t + 1))

    def column(
        self,
        kind: type[events.Event],
        t: float | Vector,
        agents: npt.NDArray[Any],
        fields: Mapping[str, Field],
        order: Whole,
    ) -> EventColumn:
        """Events of these agents, of which each is the `order`-th from now on, counted from 0."""
        numbers = self._bus.events + 1 + order if self._single else None
        return EventColumn(kind, t, {"agent": agents, **fields}, len(agents), numbers)

    def _tell(self, columns: Sequence[EventColumn]) -> None:
        self._bus.tell(columns)


class _Turns:
    """What is told of the turns of some agents, each of which tells all of its own before the next."""

    def __init__(self, crowd: Crowd, t: int, now: float, agents: Agents, sends: Mask) -> None:
        self._crowd, self._round, self._now, self._agents, self._sends = crowd, t, now, agents, sends
        self._told = np.zeros(len(agents), np.int64)
        """How many events each agent has told so far."""
        self._noted: list[tuple[type[events.Event], Mask, Mapping[str, Field], Whole]] = []

    def one(self, kind: type[events.Event], which: Mask, fields: Mapping[str, Field]) -> None:
        """An event of each of these agents, after all that they have told so far."""
        self._noted.append((kind, which, fields, self._told[which]))
        self._told[which] += 1

    def columns(self, mail: CrowdMail, wire: Wire, letters: Letters) -> list[EventColumn]:
        """All columns, with those of the messages that each agent sends, and of those that end at once."""
        crowd, now, directions = self._crowd, self._now, mail.directions
        messages = directions.degree[self._agents] * self._sends
        sender = np.repeat(np.arange(len(self._agents)), messages)
        at_once = letters.ends <= now
        ended = np.bincount(sender[at_once], minlength=len(self._agents))
        size = self._told + messages + ended
        begins = np.cumsum(size) - size
        found = []
        for kind, which, fields, places in self._noted:
            found.append(
                crowd.column(kind, now, self._agents[which], {"round": self._round, **fields}, begins[which] + places)
            )
        places = (begins + self._told)[sender] + _ranks(messages)
        for carries, which in (("value", letters.slot != NOTICE), ("notice", letters.slot == NOTICE)):
            payload = wire.value_payload if carries == "value" else 0
            link, weight = letters.link[which], payload + wire.around
            of_sent: dict[str, Field] = {
                "round": self._round,
                "peer": directions.receiver[link],
                "message": letters.number[which],
                "carries": carries,
                "payload_bytes": payload,
                "wire_bytes": weight,
                "offered_bytes": weight,
            }
            found.append(crowd.column(events.MessageSent, now, directions.sender[link], of_sent, places[which]))
        places = (begins + self._told + messages)[sender[at_once]] + _ranks(ended)
        over, gone = letters.only(at_once), letters.lost[at_once]
        link = over.link[gone]
        of_lost: Mapping[str, Field] = {
            "round": self._round,
            "peer": directions.receiver[link],
            "message": over.number[gone],
        }
        found.append(crowd.column(events.MessageLost, now, directions.sender[link], of_lost, places[gone]))
        return found + crowd.arrivals(over.only(~gone), now, places[~gone])


def _ranks(sizes: Whole) -> Whole:
    """0, 1, 2, … for each group of these sizes."""
    found: Whole = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return found


def _spending(charge: Charge) -> Mapping[str, Field]:
    return {
        "spent_on": charge.kind,
        "mechanism": charge.mechanism,
        "parameters": dict(charge.parameters),
        "times": charge.times,
    }


def _rounded(numbers: Vector) -> Vector:
    return np.array([sig(number) for number in numbers.tolist()])
