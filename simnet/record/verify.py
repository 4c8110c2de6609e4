"""Is a run folder what it says it is?

`verify` checks the log: schema, order, seal, the laws of every run, and the ε of its charges. `replay` recomputes all
figures from the log alone and compares them with those in the folder.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from simnet.errors import BudgetError, LogError, SimnetError
from simnet.privacy.ledger import Account
from simnet.record.events import Event, PrivacySpent, RunFinished, RunStarted
from simnet.record.folder import load_summary
from simnet.record.formats import csv_text, flat, json_text
from simnet.record.laws import Laws
from simnet.record.log import find_log, read
from simnet.record.metrics import Metrics, PrivacyMeter
from simnet.record.thinning import Thinning, refuse_thinned

_SHOWN = 20


@dataclass(frozen=True)
class Report:
    """What was found out about a log; a finding is a sentence about something that is wrong."""

    events: int
    digest: str
    findings: tuple[str, ...]
    privacy: Account | None = None
    """the ε that the `privacy.spent` events add up to, for the network"""
    notes: tuple[str, ...] = ()
    """what could not be checked, and why"""


def verify(path: Path, aligned: Collection[str]) -> Report:
    """Check a run folder or a log; `aligned` is as in `Laws`. A log that cannot be read to its end is a finding.

    The log of a run folder must also be the one that its summary.json speaks of, and spend the ε that stands there.
    """
    laws, thinning = Laws(aligned), None
    count, digest, meter = 0, "", None
    findings = []
    try:
        for seq, t, event in read(path):
            laws(seq, t, event)
            count = seq
            if isinstance(event, RunStarted):
                thinning = Thinning.of(event.scenario)
                if "privacy" in event.scenario:
                    meter = PrivacyMeter(event.scenario["privacy"]["delta"], len(event.rows))
            elif isinstance(event, PrivacySpent) and meter is not None:
                meter.spend(event)
            elif isinstance(event, RunFinished):
                digest = event.digest
    except LogError as error:
        return Report(count, "", (str(error),))
    except BudgetError as error:
        return Report(count, digest, (f"event {count}, privacy.spent: {error}",))
    findings += laws.finish()
    holds_charges = thinning is None or (PrivacySpent in thinning.kinds and thinning.share is None)
    spent = meter.network() if meter is not None and holds_charges else None
    if Path(path).is_dir():
        findings += _summary_findings(Path(path), digest, spent)
    missing = [f"the laws of {title}" for title in laws.unchecked] + ([] if holds_charges else ["ε"])
    notes = [] if thinning is None else [f"{thinning}; not checked: {', '.join(missing) or 'nothing'}"]
    return Report(count, digest, tuple(findings), spent, tuple(notes))


def _summary_findings(folder: Path, digest: str, spent: Account | None) -> list[str]:
    try:
        summary = load_summary(folder)
    except LogError as error:
        return [str(error)]
    told = summary.get("digest")
    if told != digest:
        return [f"summary.json speaks of another run: its digest is {told}, the log's {digest}"]
    if spent is None:
        return []
    found, stated = spent.figures(), summary.get("privacy", {})
    return [
        f"summary.json says {name} = {stated.get(name)}, the log's charges come to {epsilon}"
        for name, epsilon in found.items()
        if not same(stated.get(name), epsilon)
    ]


def same(stated: object, found: object) -> bool:
    """Whether two figures agree, but for the last bits of ε, which depend on the processor's logarithms."""
    if isinstance(stated, (int, float)) and isinstance(found, (int, float)):
        return math.isclose(stated, found, rel_tol=1e-9) or (math.isnan(stated) and math.isnan(found))
    return bool(stated == found)


def replay(path: Path) -> Report:
    """Compare summary.json, rounds.csv and agents.csv with what the log gives; only `time.wall` is left out."""
    log = find_log(path)
    metrics = Metrics()
    count, digest = 0, ""
    for seq, t, event in read(log):
        _feed(metrics, seq, t, event)
        count = seq
        if isinstance(event, RunStarted):
            refuse_thinned(event)
        elif isinstance(event, RunFinished):
            digest = event.digest
    try:
        summary = metrics.summary(digest, None)
    except (LookupError, TypeError, ValueError) as error:
        raise LogError(f"the log gives no summary: its scenario lacks something ({error!r})") from None
    findings = [
        *_figure_findings(log.parent, summary),
        *_table_findings(log.parent / "rounds.csv", csv_text(metrics.rounds)),
        *_table_findings(log.parent / "agents.csv", csv_text(metrics.agents)),
    ]
    more = [f"and {len(findings) - _SHOWN} more"] if len(findings) > _SHOWN else []
    return Report(count, digest, (*findings[:_SHOWN], *more))


def _feed(metrics: Metrics, seq: int, t: float, event: Event) -> None:
    try:
        metrics(seq, t, event)
    except (LookupError, TypeError, SimnetError) as error:
        raise LogError(f"event {seq}, {event.kind}: no figures can be computed from it ({error!r})") from None


def _figure_findings(folder: Path, summary: dict[str, Any]) -> Iterator[str]:
    try:
        stored = flat(load_summary(folder))
    except LogError as error:
        yield str(error)
        return
    computed = flat(json.loads(json_text(summary)))
    for name in {**computed, **stored}:
        told, found = stored.get(name), computed.get(name)
        if name != "time.wall" and not same(told, found):
            yield f"summary.json: {name} is {_shown(told)}, the log gives {_shown(found)}"


def _table_findings(path: Path, computed: str) -> Iterator[str]:
    try:
        stored = _table(path.read_text(encoding="utf-8"))
    except OSError as error:
        yield f"{path}: {error.strerror}"
        return
    except (ValueError, csv.Error):
        yield f"{path} is not a table"
        return
    expected = _table(computed)
    if stored[:1] != expected[:1]:
        yield f"{path.name}: the columns are not those that the log gives"
        return
    if len(stored) != len(expected):
        yield f"{path.name}: there are {len(stored) - 1} rows, the log gives {len(expected) - 1}"
    for told, found in zip(stored[1:], expected[1:], strict=False):
        for column, a, b in zip_longest(expected[0], told, found):
            if not same(_number(a), _number(b)):
                row = f"{expected[0][0]} {found[0]}"
                yield f"{path.name}, {row}: {column} is {_shown(a)}, the log gives {_shown(b)}"


def _table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def _number(cell: str | None) -> float | str | None:
    try:
        return float(cell) if cell else cell
    except ValueError:
        return cell


def _shown(value: object) -> str:
    return "missing" if value is None or value == "" else str(value)
