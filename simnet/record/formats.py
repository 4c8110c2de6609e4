"""Figures and events as text: CSV and JSON, which read back the same, and HTML for notebooks."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Protocol

from simnet.errors import LogError, SimnetError
from simnet.printable import harmless
from simnet.record.events import EVENTS
from simnet.record.lines import line
from simnet.record.log import read

_DEEPEST = 100
"""Levels, or dots in a name."""
_MOST = 200
"""Rows that a notebook shows."""


class Writable(Protocol):
    """What text can be written to."""

    def write(self, text: str, /) -> object: ...


def csv_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows with the same columns, which the first row names; None is empty, and no text is a formula."""
    return "".join(csv_lines(rows))


def csv_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The same line by line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for number, row in enumerate(rows):
        if number == 0:
            writer.writerow(map(harmless, row))
        writer.writerow(map(harmless, row.values()))
        yield out.getvalue()
        out.seek(0)
        out.truncate()


def json_text(value: Mapping[str, Any]) -> str:
    """An object, indented; null stands for what is not finite, because JSON has no such numbers."""
    return json.dumps(_finite(value), indent=2, ensure_ascii=False) + "\n"


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested fields under dotted names; an entry of a list of tables is named by its number.

    >>> flat({"network": {"link": {"queue": 64}}, "seed": 1})
    {'network.link.queue': 64, 'seed': 1}
    """
    if prefix.count(".") > _DEEPEST:
        raise LogError(f"{prefix[:40]}… is nested deeper than anything that a run writes")
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            value = {str(number): each for number, each in enumerate(value)}
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) and value else {prefix + name: value}
    return found


def table_html(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with the same columns, which the first row names; nothing for no rows."""
    if not rows:
        return ""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_shown(value))}</td>" for value in row.values()) + "</tr>"
        for row in rows[:_MOST]
    )
    more = f"<p>… and {len(rows) - _MOST:,} more</p>" if len(rows) > _MOST else ""
    return f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def summary_html(summary: Mapping[str, Any]) -> str:
    """A run's summary, one row per figure."""
    rows = [{"figure": name, "value": value} for name, value in flat(summary).items()]
    return table_html(f"{summary['scenario']}: {summary['algorithm']}, seed {summary['seed']}", rows)


def told_of(figures: Mapping[str, Any]) -> str:
    """Figures in one line, as Python prints the arguments of a call."""
    return ", ".join(
        f"{name}={value!r}" if isinstance(value, str) else f"{name}={_shown(value)}" for name, value in figures.items()
    )


def _shown(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def export_jsonl(path: Path, handle: Writable) -> None:
    """All events as the log holds them, one line of JSON per event.

    The seal stands at the end of a log. So an altered log raises `LogError` only there, after its lines are out.
    """
    for seq, t, event in read(path):
        handle.write(line(seq, t, event).decode() + "\n")


def export_csv(path: Path, kind: str, handle: Writable) -> None:
    """All events of one kind: `seq`, `t` and the kind's own fields. What is missing is empty, lists are JSON.

    A text that a spreadsheet would take for a formula gets an apostrophe.
    """
    if kind not in EVENTS:
        raise SimnetError(f"{kind!r} is not a kind of event: choose one of {', '.join(EVENTS)}")
    wanted = EVENTS[kind]
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(("seq", "t", *wanted.__struct_fields__))
    for seq, t, event in read(path):
        if type(event) is wanted:
            writer.writerow((seq, t, *(_cell(getattr(event, name)) for name in wanted.__struct_fields__)))


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict, tuple)) else harmless(value)
