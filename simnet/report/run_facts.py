"""Everything that the page of a run tells, from one pass over its log.

The tables are those of `Metrics`, recomputed from the events. Other subscribers of the same stream count what the
tables do not hold: what each link carried, when messages met their fates, every charge to a privacy ledger, and what
the page plays back. The log is checked on the way: schema, order, seals, and the laws that every run obeys.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simnet.agent.pacing import ALIGNED
from simnet.errors import LogError
from simnet.learning.yardsticks import Yardsticks
from simnet.privacy.mechanisms import mechanism
from simnet.record import events
from simnet.record.events import FATES
from simnet.record.folder import load_json, load_summary
from simnet.record.formats import flat
from simnet.record.laws import Laws
from simnet.record.log import find_log, read
from simnet.record.metrics import Metrics, PrivacyMeter, Row, claims_of
from simnet.record.thinning import refuse_thinned
from simnet.record.verify import feed, figures
from simnet.report.playback import Playback
from simnet.scenario.embedded import embedded_scenario

_INTERVALS = 60
_PRICED = 20_000
"""Charges that are priced one by one; nobody reads a page that lists more."""
_COUNTED: dict[type[events.Event], str] = {
    events.MessageSent: "messages",
    **FATES,
    events.MessageRetransmitted: "retransmissions",
}
"""What is counted of a link, and under which name."""


@dataclass(frozen=True, eq=False)
class RunFacts:
    """A verified run. `summary`, `rounds` and `agents` are the tables of the run folder, to the last digit."""

    start: events.RunStarted
    summary: dict[str, Any]
    rounds: list[Row]
    agents: list[Row]
    staleness: dict[int, int]
    """how many values were used at each staleness"""
    links: LinkCounts
    flow: MessageFlow
    charges: Charges
    playback: Playback
    environment: dict[str, Any] | None
    """None when the log comes without its folder"""


def read_run(path: Path) -> RunFacts:
    """The facts of a run folder or of an event log. LogError, in one sentence, unless the log is whole and lawful."""
    path, log = Path(path), find_log(path)
    laws, metrics = Laws(ALIGNED), Metrics()
    links, flow, charges, playback = LinkCounts(), MessageFlow(), Charges(), Playback()
    for seq, t, event in read(log):
        if isinstance(event, events.RunStarted):
            embedded_scenario(event)
            refuse_thinned(event)
        laws(seq, t, event)
        if found := laws.finish():
            raise LogError(f"{log}: the log breaks a law of runs: {found[0]}")
        for subscriber in (metrics, links, flow, charges, playback):
            feed(subscriber, seq, t, event)
    assert metrics.start is not None  # `read` checked that there is a first line,
    assert metrics.end is not None  # and a last one
    environment = log.with_name("environment.json")
    stored = load_json(environment) if environment.exists() else None
    summary, agents = figures(metrics, metrics.end.digest)
    beside = _beside_the_log(path, metrics.end.digest)
    summary["time"]["wall"] = _wall(beside)
    if held_against := _yardsticks(beside, published=metrics.start.published):
        summary["yardsticks"] = held_against
    return RunFacts(
        start=metrics.start,
        summary=summary,
        rounds=metrics.rounds,
        agents=agents,
        staleness=dict(sorted(metrics.staleness.items())),
        links=links,
        flow=flow,
        charges=charges,
        playback=playback,
        environment=stored if isinstance(stored, dict) else None,
    )


def _beside_the_log(path: Path, digest: str) -> dict[str, Any]:
    """summary.json of a run folder; of a log alone, nothing but its digest."""
    stored: dict[str, Any] = load_summary(path) if path.is_dir() else {"digest": digest}
    if stored.get("digest") != digest:
        raise LogError(f"{path}: summary.json speaks of another run than the log: its digest is not {digest[:12]}")
    return stored


def _wall(stored: dict[str, Any]) -> float | None:
    """How long the computing took, which only a run folder knows."""
    wall = flat(stored).get("time.wall")
    return wall if isinstance(wall, float) and 0.0 <= wall < math.inf else None


def _yardsticks(stored: dict[str, Any], *, published: bool) -> dict[str, Any]:
    """What the test error is held against, which only a run folder knows; nothing that a published record may tell."""
    found = stored.get("yardsticks")
    if published or not isinstance(found, dict):
        return {}
    numbers = {field.name: found.get(field.name) for field in fields(Yardsticks) if field.name != "absent"}
    known = {name: value for name, value in numbers.items() if isinstance(value, float) and math.isfinite(value)}
    absent = found.get("absent")
    return Yardsticks(**known, absent=absent if isinstance(absent, str) else None).figures()


class LinkCounts:
    """A subscriber that counts messages, their fates and bytes by link."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], Row] = {}

    def __call__(self, _seq: int, _t: float, event: events.Event) -> None:
        if isinstance(event, events.OfMessage):
            row = self._rows[min(event.agent, event.peer), max(event.agent, event.peer)]
            if name := _COUNTED.get(type(event)):
                row[name] += 1
            if isinstance(event, (events.MessageSent, events.MessageRetransmitted)):
                row["wire_bytes"] += event.wire_bytes
            elif isinstance(event, (events.MessageLost, events.MessageUnreachable)):
                row["wire_bytes"] -= event.unsent_bytes
        elif isinstance(event, events.PacketsSent):
            row = self._rows[min(event.agent, event.peer), max(event.agent, event.peer)]
            row["wire_bytes"] += event.wire_bytes - event.unsent_bytes
        elif isinstance(event, events.RunStarted):
            self._rows = {
                (a, b): {"a": a, "b": b} | dict.fromkeys((*_COUNTED.values(), "wire_bytes"), 0) for a, b in event.edges
            }

    @property
    def rows(self) -> list[Row]:
        """One row per link, in the order of `run.started`; `failed_share` is among messages that met a fate."""
        rows = []
        for row in self._rows.values():
            failed = row["lost"] + row["overflowed"] + row["unreachable"] + row["refused"]
            met = failed + row["delivered"]
            rows.append(row | {"failed_share": failed / met if met else 0.0})
        return rows


class MessageFlow:
    """A subscriber that notes the times of messages; rows that travel before the first round are counted apart."""

    def __init__(self) -> None:
        self._sent = array("d")
        self._met = {fate: array("d") for fate in FATES.values()}
        self.reports = 0
        self.end = 0.0

    def __call__(self, _seq: int, t: float, event: events.Event) -> None:
        self.end = t
        if isinstance(event, events.MessageSent):
            self._sent.append(t)
        elif (fate := FATES.get(type(event))) is not None:
            self._met[fate].append(t)
        elif isinstance(event, events.ReportsGathered):
            self.reports += event.messages

    def intervals(self, count: int = _INTERVALS) -> dict[str, Any]:
        """Edges of the intervals, messages of each fate in each, and the most that were under way at once in each.

        An event at an edge belongs to the interval that it ends, so that what happens in the last instant counts.
        A run that takes no time has one interval.
        """
        edges = np.linspace(0.0, self.end, count + 1) if self.end > 0.0 else np.zeros(2)
        return {"edges": edges.tolist(), "under_way": self._under_way(edges).tolist()} | {
            fate: np.bincount(_places(_times(times), edges), minlength=len(edges) - 1).tolist()
            for fate, times in self._met.items()
        }

    def _under_way(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """The most messages at once in each interval: queued at their sender, or on the line."""
        met = np.concatenate([_times(times) for times in self._met.values()])
        times = np.concatenate([_times(self._sent), met])
        steps = np.concatenate([np.ones(len(self._sent), np.int64), -np.ones(len(met), np.int64)])
        # Of what happens in one instant, fates come first: a message that meets its own at once is never under way.
        order = np.lexsort((steps, times))
        level, places = np.cumsum(steps[order]), _places(times[order], edges)
        most = np.zeros(len(edges) - 1, np.int64)
        np.maximum.at(most, places, level)
        # The messages that an interval begins with count in it too.
        started = np.concatenate([np.zeros(1, np.int64), level])[np.searchsorted(places, np.arange(len(most)))]
        return np.asarray(np.maximum(most, started), dtype=np.int64)


def _places(times: npt.NDArray[np.float64], edges: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.asarray(np.searchsorted(edges[1:], times, side="left"), dtype=np.int64)


def _times(times: array[float]) -> npt.NDArray[np.float64]:
    return np.frombuffer(times) if times else np.empty(0)


class Charges:
    """A subscriber that keeps the privacy ledger of a run: every charge, and what its agent had spent after it."""

    def __init__(self, priced: int = _PRICED) -> None:
        self._priced = priced
        self._meter = PrivacyMeter(0.5, 0)
        self._kinds: dict[tuple[str, tuple[tuple[str, float], ...], str], list[tuple[int, int, int]]] = {}
        """(mechanism, parameters, spent_on) → (agent, round, times) of each charge."""
        self._agents = 0
        self._made: Counter[int] = Counter()
        self.count = 0
        self._entries: list[Row] = []

    def __call__(self, _seq: int, _t: float, event: events.Event) -> None:
        if isinstance(event, events.RunStarted):
            self._agents = len(event.rows)
            delta = event.scenario["privacy"]["delta"]
            self._meter = PrivacyMeter(delta, self._agents, claims=claims_of(event))
        elif isinstance(event, events.PrivacySpent):
            self._spent(event)

    def _spent(self, event: events.PrivacySpent) -> None:
        self._meter.spend(event)
        self.count += 1
        self._made[event.agent] += 1
        kind = (event.mechanism, tuple(sorted(event.parameters.items())), event.spent_on)
        self._kinds.setdefault(kind, []).append((event.agent, event.round, event.times))
        if self.count <= self._priced:
            spent = self._meter.agent(event.agent)
            self._entries.append(
                {
                    "round": event.round,
                    "agent": event.agent,
                    "spent_on": event.spent_on,
                    "mechanism": event.mechanism,
                    "times": event.times,
                    **spent.figures(declares=True),
                }
            )

    @property
    def entries(self) -> list[Row]:
        """One row per charge, with what the agent's ε is after it; only the first ones if there are many."""
        unused = set() if self._meter.declares else {"declared_epsilon"}
        return [{name: value for name, value in row.items() if name not in unused} for row in self._entries]

    @property
    def kinds(self) -> list[Row]:
        """One row per mechanism with its numbers: who paid for it, in which rounds, how often, and by which theorem."""
        return [
            {
                "mechanism": name,
                "spent_on": spent_on,
                "agents": _listed({agent for agent, _, _ in uses}),
                "rounds": _listed({round for _, round, _ in uses}),
                "charges": len(uses),
                "times": sum(times for _, _, times in uses),
                "parameters": ", ".join(f"{key} = {value:.4g}" for key, value in parameters),
                "theorem": mechanism(name, dict(parameters)).theorem,
            }
            for (name, parameters, spent_on), uses in self._kinds.items()
        ]

    @property
    def accounts(self) -> list[Row]:
        """One row per agent: what it spent in all, and on which theorems that rests."""
        return [
            {
                "agent": agent,
                "charges": self._made[agent],
                **spent.figures(declares=self._meter.declares),
                "basis": spent.basis,
            }
            for agent, spent in enumerate(map(self._meter.agent, range(self._agents)))
        ]


def _listed(numbers: set[int]) -> str:
    """Numbers for people; those that follow each other are a range.

    >>> _listed({1, 2, 3, 7})
    '1–3, 7'
    """
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{a}–{b}" if b > a else str(a) for a, b in spans)
