"""Is a run folder what it says it is?

`verify` checks the log: schema, order, seal, the laws of every run, and the ε of its charges. `replay` recomputes all
figures from the log alone and compares them with those in the folder.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from simnet.errors import BudgetError, LogError, SimnetError
from simnet.privacy.ledger import Account
from simnet.record.bus import Subscriber
from simnet.record.events import Event, PrivacySpent, RunFinished, RunStarted
from simnet.record.folder import load_bytes, load_summary, load_toml
from simnet.record.formats import csv_lines, flat, json_text
from simnet.record.laws import Laws
from simnet.record.log import find_log, read, read_lines
from simnet.record.metrics import Metrics, PrivacyMeter, Row, claims_of
from simnet.record.recount import Recount
from simnet.record.thinning import Thinning, refuse_thinned

_SHOWN = 20
_LONGEST = 80
"""Characters of a value that are shown."""


Accept = Callable[[RunStarted], object]
"""Looks at the first line of a log, and raises LogError if there can be no such run."""


def anything(start: RunStarted) -> None:
    """Accept every first line."""


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


def verify(path: Path, aligned: Collection[str], accept: Accept = anything) -> Report:
    """Check a run folder or a log; `aligned` is as in `Laws`. A log that cannot be read to its end is a finding.

    The log of a run folder must also be the one that its other files speak of, and spend the ε that stands there.
    """
    laws, spending, last = Laws(aligned), _Spending(), RunFinished([], "", "")
    start, count = None, 0
    try:
        for seq, t, event in read(path):
            if isinstance(event, RunStarted):
                accept(event)
                start = event
            laws(seq, t, event)
            count = seq
            spending(event)
            if isinstance(event, RunFinished):
                last = event
        spent = spending.total()
    except LogError as error:
        return Report(count, "", (str(error),))
    except (BudgetError, ArithmeticError) as error:
        return Report(count, "", (f"event {count}, privacy.spent: {error}",))
    assert start is not None  # `read` checked that there is a first line
    findings = laws.finish()
    if Path(path).is_dir():
        findings += _folder_findings(Path(path), start, last.digest, spent)
    thinning = Thinning.of(start.scenario)
    missing = [f"the laws of {title}" for title in laws.unchecked] + ([] if spending.known else ["ε"])
    notes = [] if thinning is None else [f"{thinning}; not checked: {', '.join(missing) or 'nothing'}"]
    return Report(count, last.digest, tuple(findings), spent, tuple(notes))


class _Spending:
    """The ε of a log's charges, where it holds all of them and says at which δ."""

    def __init__(self) -> None:
        self._meter: PrivacyMeter | None = None
        self._agents = 0
        self.known = True
        """Whether a log that says nothing of charges has none."""

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            thinning, self._agents = Thinning.of(event.scenario), len(event.rows)
            self.known = thinning is None or (PrivacySpent in thinning.kinds and thinning.share is None)
            delta = flat(event.scenario).get("privacy.delta")
            if isinstance(delta, float) and 0.0 < delta < 1.0:
                self._meter = PrivacyMeter(delta, self._agents, claims=claims_of(event))
        elif isinstance(event, PrivacySpent) and self._meter is not None and event.agent < self._agents:
            self._meter.spend(event)

    def total(self) -> Account | None:
        return self._meter.network() if self._meter is not None and self.known else None


def _folder_findings(folder: Path, start: RunStarted, digest: str, spent: Account | None) -> list[str]:
    """Where the other files of a run folder do not speak of its log."""
    try:
        summary, told = load_summary(folder), load_toml(folder / "scenario.toml")
    except LogError as error:
        return [str(error)]
    if summary.get("digest") != digest:
        return [f"summary.json speaks of another run: its digest is {summary.get('digest')}, the log's {digest}"]
    if start.published and "yardsticks" in summary:
        return ["summary.json has yardsticks: they look at all rows without noise, so a published record has none"]
    stated, logged = flat(summary), flat(start.scenario)
    found = {"scenario": logged.get("name"), "algorithm": logged.get("algorithm.name"), "agents": len(start.rows)}
    found |= {name: logged.get(name) for name in ("seed", "rounds")}
    if spent is not None:
        found |= {f"privacy.{name}": value for name, value in spent.figures().items()}
    return [
        f"summary.json says {name} = {_shown(stated.get(name))}, the log {_shown(value)}"
        for name, value in found.items()
        if not same(stated.get(name), value)
    ] + [
        f"scenario.toml says {name} = {_shown(value)}, the log {_shown(logged.get(name))}"
        for name, value in flat(told).items()
        if not same(value, logged.get(name))
    ][:_SHOWN]


def same(stated: object, found: object) -> bool:
    """Whether two figures agree, but for the last bits of ε, which depend on the processor's logarithms."""
    if isinstance(stated, (int, float)) and isinstance(found, (int, float)) and max(abs(stated), abs(found)) < 1e300:
        return math.isclose(stated, found, rel_tol=1e-9) or (math.isnan(stated) and math.isnan(found))
    return bool(stated == found)


NOT_FROM_EVENTS = ("time.wall", "yardsticks.")
"""What summary.json tells beside the log: how long the computing took, and facts of the rows, which a rerun checks."""


NEWER = "tests"
"""A section of summary.json that those of older versions have not got."""


def replay(path: Path, accept: Accept = anything) -> Report:
    """Compare summary.json, rounds.csv and agents.csv with what the log gives, but for `NOT_FROM_EVENTS`."""
    log = find_log(path)
    recount = Recount()
    for lines in read_lines(log):
        if isinstance(lines[0], RunStarted):
            accept(lines[0])
            refuse_thinned(lines[0])
        with making_sense(lines):
            recount(lines)
    metrics = recount.metrics
    assert metrics.end is not None  # `read_lines` checked that there is a last line
    count, digest = lines[-1].seq, metrics.end.digest
    summary, agents = figures(metrics, digest)
    findings = chain(
        _figure_findings(log.parent, summary),
        _table_findings(log.parent / "rounds.csv", csv_lines(metrics.rounds)),
        _table_findings(log.parent / "agents.csv", csv_lines(agents)),
    )
    shown = list(islice(findings, _SHOWN))
    more = sum(1 for _ in findings)
    return Report(count, digest, (*shown, *([f"and {more} more"] if more else [])))


_SENSELESS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, SimnetError)
"""What figures of events that make no sense end in."""


@contextmanager
def making_sense(lines: Sequence[Any]) -> Iterator[None]:
    """Whoever computes with lines of a stranger's log does it in here: LogError if they make no sense."""
    try:
        yield
    except _SENSELESS as error:
        which = f"events {lines[0].seq} to {lines[-1].seq}"
        raise LogError(f"{which}: no figures can be computed from them ({error!r})") from None


def feed(subscriber: Subscriber, seq: int, t: float, event: Event) -> None:
    """Hand an event of a stranger's log to who computes with it; LogError if it makes no sense there."""
    try:
        subscriber(seq, t, event)
    except _SENSELESS as error:
        raise LogError(f"event {seq}, {event.kind}: no figures can be computed from it ({error!r})") from None


def figures(metrics: Metrics, digest: str, agents: Sequence[int] | None = None) -> tuple[dict[str, Any], Iterator[Row]]:
    """The summary and the table of agents, or of some, that a stranger's log gives; LogError if it gives none."""
    try:
        summary = metrics.summary(digest, None)
    except _SENSELESS as error:
        raise LogError(f"the log gives no summary: its scenario lacks something ({error!r})") from None
    return summary, _agent_rows(metrics, agents)


def _agent_rows(metrics: Metrics, agents: Sequence[int] | None) -> Iterator[Row]:
    try:
        yield from metrics.agent_rows(agents)
    except _SENSELESS as error:
        raise LogError(f"the log gives no table of agents: it does not tell of all of them ({error!r})") from None


def _figure_findings(folder: Path, summary: dict[str, Any]) -> Iterator[str]:
    try:
        stored = flat(load_summary(folder))
    except LogError as error:
        yield str(error)
        return
    computed = flat(json.loads(json_text(summary)))
    older = not any(name.startswith(f"{NEWER}.") for name in stored)
    for name in {**computed, **stored}:
        if older and name.startswith(f"{NEWER}."):
            continue
        told, found = stored.get(name), computed.get(name)
        if not name.startswith(NOT_FROM_EVENTS) and not same(told, found):
            yield f"summary.json: {name} is {_shown(told)}, the log gives {_shown(found)}"


def _table_findings(path: Path, computed: Iterator[str]) -> Iterator[str]:
    expected = csv.reader(computed)
    try:
        stored = csv.reader(io.TextIOWrapper(io.BytesIO(load_bytes(path)), "utf-8", newline=""))
        heading = next(stored, None)
    except LogError as error:
        yield str(error)
        return
    except (ValueError, csv.Error):
        yield f"{path} is not a table"
        return
    columns = next(expected, None)
    if columns is None or heading != columns:
        yield f"{path.name}: the columns are not those that the log gives"
        return
    rows = [0, 0]
    try:
        for told, found in zip_longest(stored, expected):
            rows = [rows[0] + (told is not None), rows[1] + (found is not None)]
            if told is not None and found is not None:
                yield from _row_findings(path.name, columns, told, found)
    except (ValueError, csv.Error):
        yield f"{path} is not a table"
        return
    if rows[0] != rows[1]:
        yield f"{path.name}: there are {rows[0]} rows, the log gives {rows[1]}"


def _row_findings(name: str, columns: list[str], told: list[str], found: list[str]) -> Iterator[str]:
    for column, a, b in zip_longest(columns, told, found):
        if not same(_number(a), _number(b)):
            yield f"{name}, {columns[0]} {found[0]}: {column} is {_shown(a)}, the log gives {_shown(b)}"


def _number(cell: str | None) -> float | str | None:
    try:
        return float(cell) if cell else cell
    except ValueError:
        return cell


def _shown(value: object) -> str:
    text = "missing" if value is None or value == "" else str(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
