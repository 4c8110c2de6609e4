"""Studies on a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.table import Table

from simnet.cli.output import say
from simnet.printable import harmless
from simnet.studies.results import labels
from simnet.studies.runs import described

if TYPE_CHECKING:
    from simnet.studies.results import StudyResult
    from simnet.studies.sweep import SweepPlan

_MOST_ROWS = 60
_HEADINGS = {
    "test_error": ("test error", 1.0),
    "wire_bytes": ("sent MB", 1e-6),
    "simulated": ("time s", 1.0),
    "proven_epsilon": ("ε proven", 1.0),
    "airtime_sent": ("air s", 1.0),
    "joules": ("J", 1.0),
    "declared_epsilon": ("ε declared", 1.0),
}
"""What a headline figure is called in a table, and the factor to its unit there."""


def means_table(result: StudyResult) -> Table:
    """One row per setting: mean and half the width of its 95 % interval (Student's t) of the headline figures."""
    table = Table(title=f"{result.name}: mean ± half of the 95 % interval (t) over seeds")
    for name in labels(result.fields):
        table.add_column(name, style="bold")
    table.add_column("runs", justify="right")
    figures = [name for name in result.headlines if name in result.runs.columns]
    for name in figures:
        table.add_column(_HEADINGS[name][0], justify="right", no_wrap=True)
    if not figures:
        return table
    means = result.means(*figures).to_dicts()
    settings = [means[start : start + len(figures)] for start in range(0, len(means), len(figures))]
    for rows in settings[:_MOST_ROWS]:
        cells = [_spread(row) for row in rows]
        table.add_row(*(_cell(rows[0][name]) for name in result.fields), str(rows[0]["n"]), *cells)
    hidden = len(settings) - _MOST_ROWS
    table.caption = f"… and {hidden:,} more settings" if hidden > 0 else None
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
    """What a query found."""
    table = Table()
    for name, kind in answer.schema.items():
        table.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in answer[:_MOST_ROWS].iter_rows():
        table.add_row(*(_cell(value) for value in row))
    hidden = answer.height - _MOST_ROWS
    table.caption = f"… and {hidden:,} more rows; --json or --csv gives all" if hidden > 0 else None
    return table


def answer_csv(answer: pl.DataFrame) -> str:
    """The same as CSV, with texts that no spreadsheet takes for formulas."""
    texts = [name for name, kind in answer.schema.items() if kind == pl.String]
    plain = answer.with_columns(pl.Series(name, list(map(harmless, answer[name])), pl.String) for name in texts)
    return plain.rename({name: str(harmless(name)) for name in answer.columns}).write_csv()


def _spread(row: dict[str, Any]) -> str:
    if row["mean"] is None:
        return "–"
    factor = _HEADINGS[row["figure"]][1]
    mean = f"{row['mean'] * factor:.4g}"
    half = 0.0 if row["t95_low"] is None else (row["mean"] - row["t95_low"]) * factor
    # What is left of equal numbers after adding them up is no spread.
    return f"{mean} ± {half:.2g}" if half > 1e-12 * abs(row["mean"] * factor) else mean


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "–" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
