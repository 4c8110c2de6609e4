"""Every number of a run, computed from its events and from nothing else, and what it costs ([cost]).

`Metrics` is a subscriber of the live stream; fed from a saved log it gives the same summary and the same rows.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from pydantic import Field

from simnet.allowance import Allowance
from simnet.errors import LogError
from simnet.network.model import WayOut, way_out
from simnet.parts.fields import NonNegative
from simnet.parts.part import Section
from simnet.privacy.ledger import Account, Charge, ChargeKind, network
from simnet.privacy.mechanisms import HUB
from simnet.privacy.noise import grid_price
from simnet.privacy.shared_ledgers import SharedLedgers
from simnet.record import events
from simnet.record.answer_scores import AnswerScores
from simnet.record.counters import COUNTS, Counters
from simnet.record.event_columns import EventColumn, Whole
from simnet.record.observed import Observed

Row = dict[str, Any]
"""A row of a table: figures by the names of their columns."""


class Prices(Section):
    """Prices of what an agent does."""

    per_byte: NonNegative = Field(0.0, description="for a byte on the wire")
    per_message: NonNegative = Field(
        0.0,
        description="for a transmission, acknowledgements and repetitions included; on a shared medium one reaches all",
    )
    per_reception: NonNegative = Field(0.0, description="for a message that a receiver has taken in")
    per_second: NonNegative = Field(0.0, description="for a second of local work")


class Airtime(msgspec.Struct):
    """Seconds on a shared channel: for which agents sent, listened, and for which it was busy."""

    sent: list[float] = []
    heard: float = 0.0
    busy: float = 0.0

    def add(self, event: events.AirUsed) -> None:
        """A transmission is over."""
        self.sent[event.agent] += event.airtime
        self.heard += event.heard
        self.busy += event.busy

    def summary(self, now: float) -> Row:
        """What summary.json tells; nothing if nobody used a channel."""
        utilisation = self.busy / now if now else 0.0
        found = {"sent": sum(self.sent), "heard": self.heard, "busy": self.busy, "utilisation": utilisation}
        return {"airtime": found} if any(self.sent) else {}


class PhysicalLinks(msgspec.Struct):
    """What the physical links of an underlay have carried."""

    told: list[events.UnderlayLink] = []

    def summary(self) -> Row:
        """What summary.json tells: sums, and the busiest link; nothing if there is no underlay."""
        if not self.told:
            return {}
        busiest = max(self.told, key=lambda link: (link.utilisation, link.bytes))
        sums = {name: sum(getattr(link, name) for link in self.told) for name in ("bytes", "dropped", "lost")}
        of_busiest = {name: getattr(busiest, name) for name in ("utilisation", "shared_by")}
        return {"underlay": {"links": len(self.told), **sums, "busiest": busiest.link, **of_busiest}}


ROUNDING_TELLS = (
    "what float64 adds to ε and δ (grid_epsilon, grid_delta) is more than a hundredth of them; a smaller ε, a larger δ "
    "or fewer rounds would do"
)
SILENCED = (
    "neighbours' values have silenced an agent; if they chose the round by what it had released, the promise is the ε "
    "of its whole plan, not the smaller one of what it spent"
)


class Energy(Prices):
    """Prices in joules, and power: what an agent draws while it sends, listens, does neither, and computes."""

    send_watts: NonNegative | None = Field(None, description="power of an agent that sends on a shared channel")
    receive_watts: NonNegative | None = Field(None, description="power of an agent that hears a transmission on it")
    idle_watts: NonNegative | None = Field(None, description="power of an agent that does neither")
    compute_watts: NonNegative | None = Field(None, description="power of local work, beside that of the radio")

    def joules(self, air: Airtime, now: float, work: float) -> dict[str, float]:
        """What all agents together have drawn, by what they did; nothing if no power is set."""
        sent = sum(air.sent)
        idle = max(0.0, len(air.sent) * now - sent - air.heard)
        seconds = {"send": sent, "receive": air.heard, "idle": idle, "compute": work}
        watts = (self.send_watts, self.receive_watts, self.idle_watts, self.compute_watts)
        found = {name: (power or 0.0) * seconds[name] for name, power in zip(seconds, watts, strict=True)}
        return found if any(watts) else {}


class Money(Prices):
    """Prices in a currency."""


class Cost(Section):
    """Totals appear in the summary when set."""

    energy: Energy | None = Field(None, description="prices in joules")
    money: Money | None = Field(None, description="prices in a currency")

    def totals(self, wire_bytes: int, transmissions: int, seconds: float, receptions: int = 0) -> dict[str, float]:
        """What all agents together have to pay, by each list of prices that is set."""
        return {
            name: prices.per_byte * wire_bytes
            + prices.per_message * transmissions
            + prices.per_reception * receptions
            + prices.per_second * seconds
            for name, prices in (("energy", self.energy), ("money", self.money))
            if prices
        }


_COUNTED: dict[type[events.Event], str] = {
    **events.FATES,
    events.MessageRetransmitted: "retransmissions",
    events.MessageDuplicated: "duplicates",
    events.BroadcastSent: "broadcasts",
    events.BroadcastSkipped: "skips",
}
"""What is counted one by one, and under which name."""
_ACCURACY = ("test_error", "train_loss", "objective", "consensus", "dual_drift")
_GATHERED = ("messages", "delivered", "lost", "payload_bytes", "wire_bytes")


class PrivacyMeter:
    """Every agent's privacy ledger, as an outsider can keep it from `privacy.spent` events alone."""

    def __init__(self, delta: float, agents: int, *, claims: bool = True) -> None:
        self._ledgers = SharedLedgers(agents, delta)
        self._claims = claims
        """Whether the papers' claims are about this method; a user's own has none, whichever mechanism it uses."""
        self._entrusted: set[int] = set()
        self.declares = False
        """Whether some charge is declared and not proven."""
        self.chosen: dict[str, float] = {}
        """What users choose the ε of their labels from, where each has its own; the account has the largest."""

    def spend(self, event: events.PrivacySpent) -> None:
        """Enter a charge."""
        charge = _checked(event.mechanism, event.spent_on, event.times, *event.parameters.items())
        self._ledgers.spend(event.agent, [charge])
        self.declares = self.declares or charge.declared
        if event.mechanism == "trusted-upload":
            self._entrusted.add(event.agent)
        if "median_epsilon" in event.parameters:
            names = {"least": "least_epsilon", "median": "median_epsilon", "largest": "label_epsilon"}
            self.chosen = {name: event.parameters[parameter] for name, parameter in names.items()}

    def spend_together(self, agents: Whole, event: events.PrivacySpent) -> None:
        """Enter the same charge for each of these agents, which `event` has for one of them."""
        charge = _checked(event.mechanism, event.spent_on, event.times, *event.parameters.items())
        self._ledgers.spend_all(agents, [charge])
        self.declares = self.declares or charge.declared

    def agent(self, agent: int) -> Account:
        """What has been spent of one agent's rows: by itself, and by the hub if it has entrusted them to one."""
        mine = self._ledgers[agent].account()
        both = network([self._ledgers[HUB].account(), mine]) if agent in self._entrusted else mine
        return both if self._claims else replace(both, claimed_epsilon=None)

    def network(self) -> Account:
        """What the network has spent: one row lives at one agent, so the worst agent counts."""
        every = network(ledger.account() for ledger in self._ledgers.in_use())
        return every if self._claims else replace(every, claimed_epsilon=None)


def claims_of(start: events.RunStarted) -> bool:
    """Whether a paper may claim something of a run: not of a method of the user's own."""
    method = start.scenario.get("algorithm")
    return not (isinstance(method, dict) and method.get("name") in start.foreign)


@lru_cache(maxsize=1 << 12)
def _checked(name: str, kind: ChargeKind, times: int, *parameters: tuple[str, float]) -> Charge:
    """A charge. Agents make the same charges over and over, and each one is checked once."""
    return Charge.of(name, dict(parameters), kind, times)


class Metrics:
    """A subscriber that keeps what the summary and the tables need. Messages are only counted, in `counters`."""

    def __init__(self) -> None:
        self.kinds = frozenset(_HANDLERS)
        self.start: events.RunStarted | None = None
        self.end: events.RunFinished | None = None
        self._degrees: Counter[int] = Counter()
        self.counters = Counters()
        self._add = self.counters.add
        self._skips: dict[str, int] = dict.fromkeys(events.REASONS, 0)
        self._accuracy: events.EvaluationDone | None = None
        self._privacy = PrivacyMeter(0.5, 0)
        self._began = array("d")
        self._work = 0.0
        self._air = Airtime()
        self._prices = Cost()
        self._sockets: dict[int, events.SocketsCounted] = {}
        self._underlay = PhysicalLinks()
        self._answers = AnswerScores(0)
        self._events = 0
        self._now = 0.0
        self.rounds: list[Row] = []
        self.observed: Observed | None = None
        """Who saw what, if the scenario asks for it; whoever sets it feeds it with all events."""
        self._feeds = False

    def __call__(self, seq: int, t: float, event: events.Event) -> None:
        self._events, self._now = seq, t
        if self._feeds and self.observed is not None:
            self.observed(seq, t, event)
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def tell(self, column: EventColumn) -> None:
        """What a column of events tells, in place of its single events."""
        handler = _COLUMNS.get(column.kind)
        if handler is not None:
            handler(self, column)

    def _began_together(self, column: EventColumn) -> None:
        np.frombuffer(self._began)[column.array("agent")] = column.at

    def _solved_together(self, column: EventColumn) -> None:
        agents = column.array("agent")
        seconds = column.at - np.frombuffer(self._began)[agents]
        # One after the other, as single events are added.
        self._work = float(np.add.accumulate(np.concatenate(([self._work], seconds)))[-1])
        self.counters.add_all(agents, "gradients", column.array("gradients"))

    def _spent_together(self, column: EventColumn) -> None:
        agents, before = column.array("agent"), self._privacy.declares
        event: Any = column.first
        self._privacy.spend_together(agents, event)
        self._answers.paid_together(agents, event.parameters)
        self._declare(before)

    def _asked_together(self, column: EventColumn) -> None:
        queries = column.fields["query"]
        assert queries is None or isinstance(queries, np.ndarray)
        self._answers.asked_together(column.array("agent"), column.array("passed"), queries)

    def _released_together(self, column: EventColumn) -> None:
        agents, round = column.array("agent"), column.fields["round"]
        assert isinstance(round, int), "all are in one round"
        self.counters.add_all(agents, "releases")
        self.counters.values.released_together(column.at, agents, round)

    def _counted_together(self, column: EventColumn) -> None:
        self.counters.add_all(column.senders, _COUNTED[column.kind])
        if column.kind is events.BroadcastSkipped:
            reason = str(column.fields["reason"])
            self._skips[reason] = self._skips.get(reason, 0) + column.size

    def _started(self, event: events.RunStarted) -> None:
        self.start = event
        if self.observed is None and event.scenario["privacy"].get("observers"):
            self.observed, self._feeds = Observed(Allowance(LogError)), True
            self.observed(self._events, self._now, event)
        self._degrees = Counter(agent for edge in event.edges for agent in edge)
        self._skips |= dict.fromkeys(event.silences, 0)
        self.counters.open(len(event.rows))
        self._air = Airtime([0.0] * len(event.rows))
        self._began = array("d", [0.0]) * len(event.rows)
        self._answers = AnswerScores(len(event.rows))
        self._prices = Cost.model_validate(event.scenario.get("cost", {}))
        delta = event.scenario["privacy"]["delta"]
        self._privacy = PrivacyMeter(delta, len(event.rows), claims=claims_of(event))

    def _sent(self, event: events.MessageSent) -> None:
        sizes = (event.payload_bytes, event.wire_bytes, events.offered(event))
        self.counters.sent(event.agent, event.carries, 1, 1 if event.wire_bytes else 0, *sizes)

    def _packets(self, event: events.PacketsSent) -> None:
        self._add(event.agent, "transmissions", event.segments + event.acknowledgements)
        self._add(event.agent, "wire_bytes", event.wire_bytes - event.unsent_bytes)
        self._add(event.agent, "offered_bytes", event.offered_bytes)

    def _released(self, event: events.ReleaseMade) -> None:
        self.counters.released(self._now, event.agent, event.round)

    def _gathered(self, event: events.ReportsGathered) -> None:
        for name in _GATHERED:
            self._add(event.agent, name, getattr(event, name))
        self._add(event.agent, "offered_bytes", events.offered(event))
        self._add(event.agent, "transmissions", event.messages)

    def _counted(self, event: Any) -> None:
        """Count for the agent that did it; what became of a message counts for its sender."""
        sender = events.sender(event)
        self._add(sender, _COUNTED[type(event)])
        if type(event) in (events.MessageLost, events.MessageUnreachable):
            self._add(sender, "wire_bytes", -event.unsent_bytes)
        if type(event) is events.MessageLost:
            self._add(sender, "corrupted", int(event.reason == "corrupted"))
        if type(event) is events.BroadcastSkipped:
            self._skips[event.reason] = self._skips.get(event.reason, 0) + 1
        if type(event) is events.MessageRetransmitted:
            self._add(sender, "transmissions")
            self._add(sender, "wire_bytes", event.wire_bytes)
            self._add(sender, "offered_bytes", events.offered(event))

    def _worked(self, event: events.RoundStarted | events.SolveFinished) -> None:
        """Seconds of local work, from the start of a round to the end of its solve."""
        if isinstance(event, events.RoundStarted):
            self._began[event.agent] = self._now
        else:
            self._work += self._now - self._began[event.agent]
            self._add(event.agent, "gradients", event.gradients)

    def _used(self, event: events.ValueUsed) -> None:
        self.counters.used(self._now, event.agent, event.round, (event.peer,), (event.staleness,))

    def _aired(self, event: events.AirUsed) -> None:
        self._air.add(event)

    def _counted_sockets(self, event: events.SocketsCounted) -> None:
        self._sockets[event.agent] = event

    def _crossed(self, event: events.UnderlayLink) -> None:
        self._underlay.told.append(event)

    def _spent(self, event: events.PrivacySpent) -> None:
        before = self._privacy.declares
        self._privacy.spend(event)
        self._answers.paid(event)
        self._declare(before)

    def _declare(self, before: bool) -> None:
        """What is declared from here on was the proven ε of the rounds so far, if nothing was declared before."""
        if self._privacy.declares and not before:
            for row in self.rounds:
                row["declared_epsilon"] = row["proven_epsilon"]

    def _asked(self, event: events.SvtTested) -> None:
        self._answers.asked(event)

    def _evaluated(self, event: events.EvaluationDone) -> None:
        self._accuracy = event
        if event.at_end and self.rounds and self.rounds[-1]["round"] == event.round:
            return  # the models stand as that round left them
        stale = self.counters.values.close(event.round)
        spent = self._privacy.network().figures(declares=self._privacy.declares)
        declared = {name: spent.pop(name) for name in ("declared_epsilon",) if name in spent}
        row = (
            {"round": event.round, "t": self._now}
            | {name: getattr(event, name) for name in _ACCURACY}
            | spent
            | self.counters.communication()
            | {"missed_share": stale.pop("missed_share"), "gradients": self._gradients}
            | {f"staleness_{name}": value for name, value in stale.items()}
            | {f"skips_{reason}": count for reason, count in self._skips.items()}
            | self._spent_on_air()
        )
        measures = (event.measures or {}).items()
        told = {f"measure_{name}" if name in row else name: value for name, value in measures}
        self.rounds.append(row | told | declared)

    def _spent_on_air(self) -> Row:
        """Columns of a round in a run over a channel, or with prices of power."""
        joules = self._joules()
        channel = self.start and self.start.scenario["network"].get("channel")
        aired = {"airtime_sent": sum(self._air.sent)} if channel else {}
        return aired | ({"joules": sum(joules.values())} if joules else {})

    def _joules(self) -> dict[str, float]:
        """What all agents together have drawn until now, by what they did; nothing if no power is set."""
        energy = self._prices.energy
        return energy.joules(self._air, self._now, self._work) if energy else {}

    def _finished(self, event: events.RunFinished) -> None:
        self.end = event

    @property
    def _gradients(self) -> int | None:
        """Of all agents so far; a published record does not tell."""
        return None if self.start is not None and self.start.published else sum(self.counters["gradients"])

    @property
    def staleness(self) -> Counter[int]:
        """How many of the values used were how many rounds old."""
        return self.counters.values.so_far

    @property
    def agents(self) -> list[Row]:
        """One row per agent: what it sent, how stale its values were, how good its model became, what it spent."""
        errors = (self._accuracy and self._accuracy.agent_test_error) or []
        losses = (self._accuracy and self._accuracy.agent_train_loss) or []
        finished = self.end.rounds if self.end else []
        aired, worked = any(self._air.sent), self._gradients is not None
        rows = []
        for agent, held in enumerate(self.start.rows if self.start else ()):
            row: Row = {"agent": agent, "rows": held, "degree": self._degrees[agent]}
            row |= {name: self.counters[name][agent] for name in (*COUNTS, "releases")}
            used = self.counters["values_used"][agent]
            privacy = self._privacy.agent(agent)
            row["staleness_mean"] = self.counters["staleness_sum"][agent] / used if used else 0.0
            row["missed_share"] = self.counters["missed"][agent] / used if used else 0.0
            row["gradients"] = self.counters["gradients"][agent] if worked else None
            if aired:
                row["airtime"] = self._air.sent[agent]
            if agent in self._sockets:
                row["socket_bytes"] = self._sockets[agent].sent_bytes
            row["rounds"] = finished[agent] if finished else None
            row["test_error"] = errors[agent] if errors else None
            row["train_loss"] = losses[agent] if losses else None
            rows.append(row | privacy.figures(declares=self._privacy.declares))
        return rows

    def _cost(self) -> Row:
        """Totals by the scenario's prices, where it has any."""
        spent, received = self.counters, sum(self.counters["delivered"])
        totals = self._prices.totals(sum(spent["wire_bytes"]), sum(spent["transmissions"]), self._work, received)
        joules = self._joules()
        if joules:
            totals["energy"] += sum(joules.values())
        return (
            self._air.summary(self._now) | ({"joules": joules} if joules else {}) | ({"cost": totals} if totals else {})
        )

    def _promise(self, epsilon: float | None) -> Row:
        """What rounding adds to ε and δ, at most, where there is a promise to add it to; what a record is fit for."""
        assert self.start is not None
        delta, caveats = self.start.scenario["privacy"]["delta"], list(self.start.caveats)
        more: tuple[float | None, float | None] = (None, None)
        if epsilon is not None:
            more = grid_price(self.start.scenario["rounds"], self.start.features, epsilon, delta)
            if epsilon > 0.0 and (more[0] > 0.01 * epsilon or more[1] > 0.01 * delta):
                caveats.append(ROUNDING_TELLS)
        if self._skips["domain"]:
            caveats.append(SILENCED)
        found: Row = {"grid_epsilon": more[0], "grid_delta": more[1]}
        return found | ({"fit": self.start.fit, "caveats": caveats} if self.start.fit else {})

    def _observers(self, scenario: dict[str, Any], proven: float | None) -> Row:
        """ε against each observer that the scenario names."""
        wanted = scenario["privacy"].get("observers")
        return {"observers": self.observed.summary(wanted, proven)} if wanted and self.observed is not None else {}

    def _measured(self) -> Row:
        """What the task, outputs and metrics tell of the last evaluation, where they tell anything."""
        assert self.start is not None
        found: Row = {} if self.start.test_error_is is None else {"test_error_is": self.start.test_error_is}
        measures = self._accuracy and self._accuracy.measures
        outputs = self.start.scenario.get("output", ())
        found |= next(({"output": each.get("name", each["kind"])} for each in outputs if each.get("headline")), {})
        return found | ({"measures": measures} if measures else {})

    def _tests(self) -> Row:
        """How good the answers of a test were; of a method of the user's own nobody knows which field is α."""
        assert self.start is not None
        alpha = self.start.scenario["algorithm"].get("threshold") if claims_of(self.start) else None
        return self._answers.summary(alpha)

    def _carried(self) -> Row:
        """What sockets carried, where every agent of a live run was told."""
        if self.start is None or not self._sockets or len(self._sockets) < len(self.start.rows):
            return {}
        names = ("sent_bytes", "received_bytes", "segments", "header_bytes")
        return {"sockets": {name: sum(getattr(each, name) for each in self._sockets.values()) for name in names}}

    def summary(self, digest: str, wall: float | None) -> dict[str, Any]:
        """What summary.json tells of a run; `wall` is the only number that does not come from the events."""
        assert self.start is not None
        scenario = self.start.scenario
        privacy = self._privacy.network()
        return {
            "scenario": scenario["name"],
            "digest": digest,
            "algorithm": scenario["algorithm"]["name"],
            "seed": scenario["seed"],
            "agents": len(self.start.rows),
            "edges": len(self.start.edges),
            "uplink": _uplink(scenario.get("network", {})),
            "rounds": scenario["rounds"],
            "last_rounds": self.end.rounds if self.end else [],
            "accuracy": {name: getattr(self._accuracy, name, None) for name in _ACCURACY},
            "privacy": {
                "epsilon": scenario["privacy"]["epsilon"],
                "delta": scenario["privacy"]["delta"],
                **privacy.figures(declares=self._privacy.declares),
                "basis": privacy.basis,
                "releases_max": max(self.counters["releases"]),
            }
            | ({"label_epsilon": self._privacy.chosen} if self._privacy.chosen else {})
            | self._observers(scenario, privacy.proven_epsilon)
            | self._promise(privacy.proven_epsilon),
            "communication": self.counters.communication(),
            "skips_by_reason": dict(self._skips),
            "staleness": self.counters.values.summary(),
            "work": {"gradients": self._gradients, "work_seconds": self._work if self._gradients is not None else None},
            "time": {"simulated": self._now, "wall": wall, "events": self._events},
        } | (self._underlay.summary() | self._cost() | self._carried() | self._measured() | self._tests())


def _uplink(network: dict[str, Any]) -> WayOut:
    """What an agent's links have in common when they send, by the resolved scenario of a log."""
    line, link = network.get("line", {}), network.get("link", {})  # logs of old versions lack some of it
    medium, preset = network.get("medium", "unicast"), link.get("preset")
    channel, underlay, up = "channel" in network, "underlay" in network, "up" in line
    return way_out(medium, network.get("uplink"), preset, channel=channel, underlay=underlay, up=up)


_HANDLERS: dict[type[events.Event], Any] = {
    events.RunStarted: Metrics._started,
    events.ReportsGathered: Metrics._gathered,
    events.MessageSent: Metrics._sent,
    **dict.fromkeys(_COUNTED, Metrics._counted),
    events.ReleaseMade: Metrics._released,
    events.RoundStarted: Metrics._worked,
    events.SolveFinished: Metrics._worked,
    events.PacketsSent: Metrics._packets,
    events.AirUsed: Metrics._aired,
    events.SocketsCounted: Metrics._counted_sockets,
    events.UnderlayLink: Metrics._crossed,
    events.ValueUsed: Metrics._used,
    events.PrivacySpent: Metrics._spent,
    events.SvtTested: Metrics._asked,
    events.EvaluationDone: Metrics._evaluated,
    events.RunFinished: Metrics._finished,
}
_COLUMNS: dict[type[events.Event], Any] = {
    **dict.fromkeys(
        (events.MessageSent, events.MessageDelivered, events.MessageLost, events.ValueUsed),
        lambda metrics, column: metrics.counters.tell(column),
    ),
    events.RoundStarted: Metrics._began_together,
    events.SolveFinished: Metrics._solved_together,
    events.PrivacySpent: Metrics._spent_together,
    events.SvtTested: Metrics._asked_together,
    events.ReleaseMade: Metrics._released_together,
    **dict.fromkeys((events.BroadcastSent, events.BroadcastSkipped, events.MessageRefused), Metrics._counted_together),
}
"""For the kinds of events that come in columns."""
