"""Studies on a terminal."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.table import Table

from simnet.cli import yardstick_words
from simnet.cli.output import say
from simnet.errors import SimnetError
from simnet.printable import escaped_json, harmless
from simnet.record.amounts import byte_unit, in_digits
from simnet.studies.results import labels
from simnet.studies.runs import described

if TYPE_CHECKING:
    from simnet.studies.results import StudyResult
    from simnet.studies.sweep import SweepPlan

_MOST_ROWS, _MANY_COLUMNS = 60, 12
_AT_ONCE = 100
_LONG = 60
"""A column of texts of more characters tells what nobody reads in a table of many columns."""
_LONGEST = 10_000
"""Characters of a cell that are shown."""
_HEADINGS = {
    "test_error": "test error",
    "wire_bytes": "sent",
    "simulated": "time s",
    "proven_epsilon": "ε proven",
    "airtime_sent": "air s",
    "joules": "J",
    "declared_epsilon": "ε declared",
}
"""What a headline figure is called in a table; errors of outputs go by the names of these."""


def means_table(result: StudyResult) -> Table:
    """One row per setting: mean and half the width of its 95 % interval (Student's t) of the headline figures."""
    table = Table(title=f"{result.name}: mean ± half of the 95 % interval (t) over seeds")
    for name in labels(result.fields):
        table.add_column(name, style="bold")
    table.add_column("runs", justify="right")
    figures = [name for name in result.headlines if name in result.runs.columns]
    means = result.means(*figures).to_dicts() if figures else []
    size, unit = byte_unit([row["mean"] for row in means if row["figure"] == "wire_bytes" and row["mean"] is not None])
    for name in figures:
        heading = _HEADINGS.get(name, name.removeprefix("test_error_").replace("_", " "))
        heading += f" {unit}" if name == "wire_bytes" else ""
        table.add_column(heading, justify="right", no_wrap=True)
    if not figures:
        return table
    settings = [means[start : start + len(figures)] for start in range(0, len(means), len(figures))]
    for rows in settings[:_MOST_ROWS]:
        cells = [_spread(row, size if row["figure"] == "wire_bytes" else 1.0) for row in rows]
        table.add_row(*(_cell(rows[0][name]) for name in result.fields), str(rows[0]["n"]), *cells)
    hidden = len(settings) - _MOST_ROWS
    held_against = yardstick_words.line(result.yardsticks().to_dicts())
    notes = [f"… and {hidden:,} more settings" if hidden > 0 else "", held_against]
    table.caption = "\n".join(filter(None, notes)) or None
    return table


def plan_table(plan: SweepPlan) -> Table:
    """One row per run: what is done and what would run."""
    table = Table(title=f"{plan.study.name}: {len(plan.todo):,} of {len(plan.runs):,} runs to do")
    for name in ("run", *labels(plan.study.fields), "seed", "state"):
        table.add_column(name)
    for run in plan.runs[:_MOST_ROWS]:
        state = "done" if run.key in plan.finished else "to do"
        table.add_row(str(run.number), *(_cell(run.settings[name]) for name in plan.study.fields), str(run.seed), state)
    hidden = len(plan.runs) - _MOST_ROWS
    table.caption = f"… and {hidden:,} more; --json lists all" if hidden > 0 else None
    return table


def plan_json(plan: SweepPlan) -> dict[str, Any]:
    """What is done and what would run."""
    runs = [
        {"key": run.key, "done": run.key in plan.finished, "seed": run.seed, "settings": run.settings}
        for run in plan.runs
    ]
    return {"study": plan.study.name, "folder": str(plan.folder), "runs": runs}


def sweep_json(plan: SweepPlan, result: StudyResult) -> dict[str, Any]:
    """How a sweep went."""
    return {
        "study": result.name,
        "folder": str(result.folder),
        "runs": len(plan.runs),
        "done_before": len(plan.runs) - len(plan.todo),
        "done_now": len(plan.todo),
        "failed": result.failures.height,
        "failures": result.failures.to_dicts(),
    }


def say_failures(result: StudyResult) -> None:
    """One sentence per setting that failed."""
    rows = result.failures.to_dicts()
    seeds = Counter((described({name: row[name] for name in result.fields}), row["error"]) for row in rows)
    for (settings, error), count in list(seeds.items())[:_MOST_ROWS]:
        say(f"failed, {count} of the seeds: {settings}: {error}", err=True)
    if len(seeds) > _MOST_ROWS:
        say(f"… and {len(seeds) - _MOST_ROWS:,} more settings failed", err=True)


def answer_table(answer: pl.DataFrame) -> Table:
    """What a query found; of many columns those without a value are left out, and those of long texts."""
    table, all_of_them, long = Table(), answer.width, 0
    if answer.width > _MANY_COLUMNS and answer.height:
        answer = answer[[column.name for column in answer if column.null_count() < answer.height] or answer.columns]
        short = [name for name, kind in answer.schema.items() if kind != pl.String or _longest(answer[name]) <= _LONG]
        long, answer = answer.width - len(short), answer[short or answer.columns]
    for name, kind in answer.schema.items():
        table.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in answer[:_MOST_ROWS].iter_rows():
        table.add_row(*(_cell(value) for value in row))
    hidden = answer.height - _MOST_ROWS
    left = [f"{hidden:,} more rows"] if hidden > 0 else []
    empty = all_of_them - answer.width - long
    left += [f"{empty} columns without a value"] if empty else []
    left += [f"{long} columns of long texts"] if long else []
    table.caption = f"… and {', '.join(left)}; --json or --csv gives all" if left else None
    return table


def _longest(texts: pl.Series) -> int:
    most = texts.str.len_chars().max()
    return most if isinstance(most, int) else 0


def answer_csv(answer: pl.DataFrame) -> Iterator[str]:
    """The same as CSV, some rows at a time, with texts that no spreadsheet takes for formulas."""
    texts = [name for name, kind in answer.schema.items() if kind == pl.String]
    head = io.StringIO()
    csv.writer(head, lineterminator="\n").writerow(map(harmless, answer.columns))
    yield head.getvalue()
    for part in answer.iter_slices(_AT_ONCE):
        plain = part.with_columns(pl.Series(name, list(map(harmless, part[name])), pl.String) for name in texts)
        try:
            yield plain.write_csv(include_header=False)
        except pl.exceptions.PolarsError as error:  # lists, for which CSV has no words
            raise SimnetError(f"query: {error}; --json gives it") from None


def answer_json(answer: pl.DataFrame) -> Iterator[str]:
    """The same as a JSON list, some rows at a time."""
    for place, part in enumerate(answer.iter_slices(_AT_ONCE)):
        rows = json.dumps(part.to_dicts(), indent=2, ensure_ascii=False, default=str)
        inside = rows.removeprefix("[").removesuffix("]").rstrip("\n")
        yield ("," if place else "[") + escaped_json(inside)
    yield "\n]\n" if answer.height else "[]\n"


def _spread(row: dict[str, Any], size: float = 1.0) -> str:
    if row["mean"] is None:
        return "–"
    mean, half = row["mean"] / size, 0.0 if row["t95_low"] is None else (row["mean"] - row["t95_low"]) / size
    # What is left of equal numbers after adding them up is no spread, nor is what calibration leaves of an ε.
    return f"{in_digits(mean, 4)} ± {in_digits(half, 2)}" if half > 1e-6 * abs(mean) else in_digits(mean, 4)


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        text = "–" if value is None else str(value)
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
