"""Everything that the page of a run tells, from one pass over its log.

The tables are those of `Metrics`, recomputed from the events. Other subscribers of the same stream count what the
tables do not hold: what each link carried, when messages met their fates, every charge to a privacy ledger, and what
the page plays back. The log is checked on the way: schema, order, seals, and the laws that every run obeys.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from simnet.agent.pacing import ALIGNED
from simnet.errors import LogError
from simnet.learning.yardsticks import Yardsticks
from simnet.record import events
from simnet.record.folder import load_json, load_summary
from simnet.record.formats import flat
from simnet.record.laws import Laws
from simnet.record.lines import event_of
from simnet.record.log import end_of, find_log, read_lines
from simnet.record.metrics import Row
from simnet.record.recount import Recount
from simnet.record.thinning import refuse_thinned
from simnet.record.verify import figures, making_sense
from simnet.report.charges import Charges
from simnet.report.link_counts import LinkCounts
from simnet.report.message_flow import MessageFlow
from simnet.report.playback import Playback
from simnet.scenario.embedded import embedded_scenario

LISTED = 20_000
"""Agents that the tables of the page hold; of more it lists one in 2, 3, 4, …"""


@dataclass(frozen=True, eq=False)
class RunFacts:
    """A verified run. `summary`, `rounds` and `agents` are the tables of the run folder, to the last digit.

    Of many agents `agents` and `accounts` hold every `step`-th.
    """

    start: events.RunStarted
    summary: dict[str, Any]
    rounds: list[Row]
    agents: list[Row]
    accounts: list[Row]
    """what each agent spent in all"""
    step: int
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
    laws, recount = Laws(ALIGNED), Recount()
    links, flow, charges, playback = LinkCounts(), MessageFlow(end_of(log)), Charges(), Playback()
    for lines in read_lines(log):
        told = [(line.seq, line.t, event_of(line)) for line in lines]
        if isinstance(lines[0], events.RunStarted):
            embedded_scenario(lines[0])
            refuse_thinned(lines[0])
        for each in told:
            laws(*each)
        if found := laws.finish():
            raise LogError(f"{log}: the log breaks a law of runs: {found[0]}")
        with making_sense(lines):
            recount(lines)
            for subscriber in (links, flow, charges, playback):
                for each in told:
                    subscriber(*each)
    metrics = recount.metrics
    assert metrics.start is not None  # `read_lines` checked that there is a first line,
    assert metrics.end is not None  # and a last one
    environment = log.with_name("environment.json")
    stored = load_json(environment) if environment.exists() else None
    step = -(-len(metrics.start.rows) // LISTED) or 1
    listed = range(0, len(metrics.start.rows), step)
    summary, agents = figures(metrics, metrics.end.digest, listed)
    beside = _beside_the_log(path, metrics.end.digest)
    summary["time"]["wall"] = _wall(beside)
    if held_against := _yardsticks(beside, published=metrics.start.published):
        summary["yardsticks"] = held_against
    return RunFacts(
        start=metrics.start,
        summary=summary,
        rounds=metrics.rounds,
        agents=[*agents],
        accounts=[*charges.accounts(listed)],
        step=step,
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
