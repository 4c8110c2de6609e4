"""What it costs to reach a target, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.table import Table

from simnet.studies.reaching import amount
from simnet.studies.results import labels

if TYPE_CHECKING:
    import polars as pl

    from simnet.studies.reaching import Reach

_MOST_ROWS = 60


def reach_table(name: str, found: Reach) -> Table:
    """One row per setting, the cheapest first: how many seeds get there, and the median of each cost."""
    table = Table(title=f"{name}: the cost of a test error of {found.target:g}; median, 95 % interval")
    for label in labels(found.fields):
        table.add_column(label, style="bold", overflow="fold")
    table.add_column("reach it", justify="right")
    for cost in found.known:
        table.add_column({"epsilon": "ε", "rounds": "in round"}.get(cost, cost), justify="right")
    for setting in found.settings[:_MOST_ROWS]:
        told = f"{setting['rounds']['reached']} of {setting['n']}"
        cells = (_spread(cost, setting[cost]) for cost in found.known)
        table.add_row(*(_cell(value) for value in setting["values"]), told, *cells)
    hidden = len(found.settings) - _MOST_ROWS
    left = f"… and {hidden:,} more settings; --json has all\n" if hidden > 0 else ""
    table.caption = f"{left}–: fewer than half of the seeds; ≥: the interval has no upper end"
    return table


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


def _spread(cost: str, row: Mapping[str, Any]) -> str:
    if row["km_median"] is None:
        return "–"
    if row["km95_low"] is None:
        return _plain(cost, row["km_median"])
    median, low = (_plain(cost, row[name]) for name in ("km_median", "km95_low"))
    if row["km95_high"] is None:
        return f"{median}\n≥ {low}"
    return f"{median}\n{low} to {_plain(cost, row['km95_high'])}"


def _plain(cost: str, value: float) -> str:
    return amount(cost, value).removeprefix("ε = ").removesuffix(" rounds")


def _cell(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else "–" if value is None else str(value)
