"""What it costs to reach a target, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from simnet.record.amounts import byte_unit, in_digits
from simnet.studies.results import labels

if TYPE_CHECKING:
    import polars as pl

    from simnet.studies.reaching import Reach

_MOST_ROWS = 60


def reach_table(name: str, found: Reach) -> Table:
    """One row per setting, the cheapest first: how many seeds get there, and the median of each cost."""
    title = f"{name}: the cost of a test error of {found.target:g}; median, 95 % interval"
    table = Table(title=title, box=SIMPLE_HEAD, padding=0)  # many columns, little room
    for label in labels(found.fields):
        table.add_column(label, style="bold", no_wrap=True)
    table.add_column("seeds", justify="right", no_wrap=True)
    size, unit = byte_unit(_ends(found, "bytes"))
    for cost in found.known:
        heading = {"bytes": unit, "seconds": "s", "rounds": "round", "joules": "J", "epsilon": "ε"}[cost]
        table.add_column(heading, justify="right", no_wrap=True)
    for setting in found.settings[:_MOST_ROWS]:
        told = f"{setting['rounds']['reached']} of {setting['n']}"
        cells = (_spread(setting[cost], size if cost == "bytes" else 1.0) for cost in found.known)
        table.add_row(*(_cell(value) for value in setting["values"]), told, *cells)
    hidden = len(found.settings) - _MOST_ROWS
    left = f"… and {hidden:,} more settings; --json has all\n" if hidden > 0 else ""
    table.caption = f"{left}–: fewer than half of the seeds; ≥: the interval has no upper end"
    return table


def _ends(found: Reach, cost: str) -> list[float]:
    """All medians and ends of intervals of a cost."""
    if cost not in found.known:
        return []
    each = (setting[cost][name] for setting in found.settings for name in ("km_median", "km95_low", "km95_high"))
    return [value for value in each if value is not None]


def seeds_table(found: Reach, hits: pl.DataFrame) -> Table:
    """One row per run: the first round that reaches the target, or how many rounds were not enough."""
    table = Table(title="first round of each seed")
    for label in (*labels(found.fields), "seed", "round"):
        table.add_column(label, overflow="fold")
    for row in hits.to_dicts():
        told = f"{row['cost']:g}" if row["reached"] else f"never in {row['cost']:g}"
        table.add_row(*(_cell(row[field]) for field in found.fields), str(row["seed"]), told)
    return table


def reach_json(found: Reach, hits: pl.DataFrame) -> dict[str, Any]:
    """The answer, the settings and the seeds."""
    settings = [
        {"settings": dict(zip(found.fields, each["values"], strict=True)), "runs": each["n"]}
        | {cost: {name: each[cost][name] for name in _FIGURES} for cost in found.known}
        for each in found.settings
    ]
    seeds = [
        {"settings": {field: row[field] for field in found.fields}, "seed": row["seed"]}
        | {"reached": row["reached"], "round": int(row["cost"]) if row["reached"] else None}
        for row in hits.to_dicts()
    ]
    asked = {"target": found.target, "by": found.by, "answer": found.answer(), "caveats": [*found.caveats]}
    return asked | {"settings": settings, "seeds": seeds}


_FIGURES = ("reached", "share", "km_median", "km95_low", "km95_high", "least", "most")


def _spread(row: Mapping[str, Any], size: float) -> str:
    median, low, high = (row[name] for name in ("km_median", "km95_low", "km95_high"))
    if median is None or low is None:
        return "–" if median is None else in_digits(median / size)
    least = in_digits(low / size)
    return f"{in_digits(median / size)}\n{f'≥ {least}' if high is None else f'{least} to {in_digits(high / size)}'}"


def _cell(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else "–" if value is None else str(value)
