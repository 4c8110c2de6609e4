"""Recomputes a run's figures from its log alone, and says whether they are those in the run folder."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from simnet.errors import LogError, SimnetError
from simnet.record.events import Event, RunFinished, RunStarted
from simnet.record.folder import find_log, load_summary
from simnet.record.formats import csv_text, flat, json_text
from simnet.record.log import read
from simnet.record.metrics import Metrics
from simnet.record.thinning import refuse_thinned
from simnet.record.verify import Report, same

_SHOWN = 20


def replay(path: Path) -> Report:
    """Compare summary.json, rounds.csv and agents.csv with what the log gives; only `time.wall` is left out."""
    log = find_log(path)
    metrics = Metrics()
    count, digest, private = 0, "", False
    for seq, t, event in read(log):
        _feed(metrics, seq, t, event)
        count = seq
        if isinstance(event, RunStarted):
            private = event.private
            refuse_thinned(event)
        elif isinstance(event, RunFinished):
            digest = event.digest
    try:
        summary = metrics.summary(digest, None)
    except (LookupError, TypeError, ValueError) as error:
        raise LogError(f"the log gives no summary: its scenario lacks something ({error!r})") from None
    findings = [
        *_summary_findings(log.parent, summary),
        *_table_findings(log.parent / "rounds.csv", csv_text(metrics.rounds)),
        *_table_findings(log.parent / "agents.csv", csv_text(metrics.agents)),
    ]
    more = [f"and {len(findings) - _SHOWN} more"] if len(findings) > _SHOWN else []
    return Report(count, digest, private, (*findings[:_SHOWN], *more))


def _feed(metrics: Metrics, seq: int, t: float, event: Event) -> None:
    try:
        metrics(seq, t, event)
    except (LookupError, TypeError, SimnetError) as error:
        raise LogError(f"event {seq}, {event.kind}: no figures can be computed from it ({error!r})") from None


def _summary_findings(folder: Path, summary: dict[str, Any]) -> Iterator[str]:
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


def _shown(value: Any) -> str:
    return "missing" if value is None or value == "" else str(value)
