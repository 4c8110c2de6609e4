"""What it costs to reach an error, when some runs never do.

A run reaches a target in the first round whose test error is at most the target; its cost is that round's. A run that
never does is censored at what it had spent in the end: the true cost is more, nobody knows how much. The median is
Kaplan and Meier's (1958), which uses such runs for what they do say; it is empty when fewer than half get there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from simnet.errors import SimnetError

COSTS = ("t", "wire_bytes", "payload_bytes", "messages", "broadcasts", "proven_epsilon", "claimed_epsilon", "round")


def costs(rounds: pl.DataFrame, by: Sequence[str], target: float, cost: str) -> pl.DataFrame:
    """A row a setting: n runs, how many reached the target, their share, the Kaplan–Meier median, least and most.

    A cost that is nowhere finite, such as ε without noise, is never reached.
    """
    for name in (*by, cost, "test_error"):
        if name not in rounds.columns:
            raise SimnetError(f"{name}: the rounds have no such column, choose a cost from {', '.join(COSTS)}")
    each = first_hits(rounds, by, target, cost)
    rows: list[dict[str, Any]] = []
    for names, group in each.group_by(list(by), maintain_order=True) if by else [((), each)]:
        spent, reached = group["cost"].to_numpy(), group["reached"].to_numpy()
        hits = spent[reached]
        rows.append(
            dict(zip(by, names, strict=True))
            | {"target": target, "cost": cost, "n": len(spent), "reached": len(hits), "share": len(hits) / len(spent)}
            | {"km_median": kaplan_meier_median(spent, reached)}
            | {"least": float(hits.min()) if len(hits) else None, "most": float(hits.max()) if len(hits) else None}
        )
    named: dict[str, Any] = {name: rounds.schema[name] for name in by}
    counts: dict[str, Any] = {"target": pl.Float64, "cost": pl.String, "n": pl.Int64, "reached": pl.Int64}
    figures: dict[str, Any] = dict.fromkeys(("share", "km_median", "least", "most"), pl.Float64)
    return pl.DataFrame(rows, schema=named | counts | figures, orient="row")


def first_hits(rounds: pl.DataFrame, by: Sequence[str], target: float, cost: str) -> pl.DataFrame:
    """A row a run: what it had spent when it reached the target, or in the end."""
    spent = pl.col(cost).cast(pl.Float64)
    hit = pl.col("test_error") <= target
    table = rounds.sort("run", "round").group_by("run", maintain_order=True)
    each = table.agg(
        *(pl.col(name).first() for name in by),
        reached=hit.any() & spent.filter(hit).first().is_not_null(),
        cost=pl.when(hit.any()).then(spent.filter(hit).first()).otherwise(spent.last()),
    )
    return each.with_columns(pl.col("cost").fill_null(float("inf")))


def kaplan_meier_median(spent: npt.NDArray[np.float64], reached: npt.NDArray[np.bool_]) -> float | None:
    """The least cost by which half have reached the target; None if the curve never falls to a half."""
    alive = 1.0
    for cost in np.unique(spent[reached]):
        at_risk = np.count_nonzero(spent >= cost)
        alive *= 1.0 - np.count_nonzero(reached & (spent == cost)) / at_risk
        if alive <= 0.5 + 1e-12:
            return float(cost)
    return None
