"""Everything that the page of a run tells, from one pass over its log.

The tables are those of `Metrics`, recomputed from the events; what the tables do not hold (links, time series of fates,
charges, the replay) is counted beside them by subscribers of the same stream. The log is checked on the way: schema,
order, seals, and the laws that every run obeys.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simnet.errors import LogError, SimnetError
from simnet.record import events
from simnet.record.folder import find_log, load_summary
from simnet.record.laws import Laws
from simnet.record.log import read
from simnet.record.metrics import Metrics, Row
from simnet.record.thinning import refuse_thinned
from simnet.report.charges import Charges
from simnet.report.flow import Flow
from simnet.report.link_counts import LinkCounts
from simnet.report.tape import Tape


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
    flow: Flow
    charges: Charges
    tape: Tape
    environment: dict[str, Any] | None
    """None when the log comes without its folder"""


def read_run(path: Path) -> RunFacts:
    """The facts of a run folder or of an event log. LogError, in one sentence, unless the log is whole and lawful."""
    log = find_log(path)
    laws, metrics, watch = Laws(), Metrics(), _Watch()
    links, flow, charges, tape = LinkCounts(), Flow(), Charges(), Tape()
    for seq, t, event in read(log):
        laws(seq, t, event)
        if found := laws.finish():
            raise LogError(f"{log}: the log breaks a law of runs: {found[0]}")
        if isinstance(event, events.RunStarted):
            refuse_thinned(event)
        try:
            for subscriber in (metrics, watch, links, flow, charges, tape):
                subscriber(seq, t, event)
        except (LookupError, TypeError, SimnetError) as error:
            raise LogError(f"{log}: event {seq}, {event.kind}: no figures can be computed from it ({error})") from None
    assert watch.start is not None  # `read` checked that there is a first line, and a last one
    try:
        summary = metrics.summary(watch.digest, None)
    except (LookupError, TypeError, ValueError) as error:
        raise LogError(f"{log}: the log gives no summary: its scenario lacks something ({error!r})") from None
    told = _told(path, watch.digest) if Path(path).is_dir() else {}
    summary["time"]["wall"] = told.get("time", {}).get("wall")
    return RunFacts(
        start=watch.start,
        summary=summary,
        rounds=metrics.rounds,
        agents=metrics.agents,
        staleness=dict(sorted(watch.staleness.items())),
        links=links,
        flow=flow,
        charges=charges,
        tape=tape,
        environment=_environment(log.with_name("environment.json")),
    )


class _Watch:
    """The ends of the stream, and how stale the values in between were."""

    def __init__(self) -> None:
        self.start: events.RunStarted | None = None
        self.digest = ""
        self.staleness: Counter[int] = Counter()

    def __call__(self, _seq: int, _t: float, event: events.Event) -> None:
        if isinstance(event, events.ValueUsed):
            self.staleness[event.staleness] += 1
        elif isinstance(event, events.RunStarted):
            self.start = event
        elif isinstance(event, events.RunFinished):
            self.digest = event.digest


def _told(folder: Path, digest: str) -> dict[str, Any]:
    summary = load_summary(folder)
    if summary.get("digest") != digest:
        raise LogError(f"{folder}: summary.json speaks of another run than the log: its digest is not {digest[:12]}")
    return summary


def _environment(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise LogError(f"{path} is not JSON") from None
    return found if isinstance(found, dict) else None
