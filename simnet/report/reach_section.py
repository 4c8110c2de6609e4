"""The section of a study's page that says what targets cost: every sentence and number is there before it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from simnet.studies.reaching import BY, Reach, at_target, lows

_TARGETS = 25
_WORK = 4000
"""About as many medians as a page computes, and at least `_FEWEST` targets."""
_FEWEST = 5


@dataclass(frozen=True, eq=False)
class Question:
    """What the settings of a study cost until the test error is at most each of some targets."""

    targets: list[float]
    """from the largest to the least"""
    found: dict[str, list[Reach]]
    """by cost, for each target"""
    order: list[tuple[Any, ...]]
    """the settings as the page lists them, by their values"""
    start: int
    """the target to begin with: the study's, or the least that half of the settings reach in half of their seeds"""

    @property
    def first(self) -> str:
        """The answer that stands at the top of the page."""
        return self.found["bytes"][self.start].answer()

    def data(self) -> dict[str, Any]:
        """The same for the page, in the order of its settings."""
        costs, none = list(self.found), {"reached": 0, "km_median": None, "km95_low": None, "km95_high": None}
        rows = [{each["values"]: each for each in found.settings} for found in self.found["bytes"]]

        def cell(row: dict[tuple[Any, ...], Any], values: tuple[Any, ...], cost: str) -> dict[str, Any]:
            return row[values][cost] if values in row else none

        return {
            "targets": self.targets,
            "costs": costs,
            "start": self.start,
            "answers": {cost: [found.answer() for found in self.found[cost]] for cost in costs},
            "runs": [rows[0].get(values, {"n": 0})["n"] for values in self.order],
            "reached": [[cell(row, values, "rounds")["reached"] for values in self.order] for row in rows],
            "medians": {
                cost: [
                    [
                        [cell(row, values, cost)[f"km{end}"] for end in ("_median", "95_low", "95_high")]
                        for values in self.order
                    ]
                    for row in rows
                ]
                for cost in costs
            },
        }


def question_of(
    rounds: pl.DataFrame, fields: Sequence[str], order: Sequence[tuple[Any, ...]], asked: float | None = None
) -> Question | None:
    """The targets of a study, between the errors that it starts from and the lowest, with what they cost.

    The page begins with the target that the study asks for, if it does.
    """
    needed = tuple(dict.fromkeys(("run", "round", "test_error", *BY.values())))
    if not order or not all(rounds.schema.get(name, pl.Float64()).is_numeric() for name in needed):
        return None  # a stranger's tables: a text is no cost
    if not {"run", "round", "test_error", "wire_bytes"} <= set(rounds.columns):
        return None
    table = lows(rounds.select(name for name in dict.fromkeys((*needed, *fields)) if name in rounds.columns))
    if table.filter(pl.col("test_error").cast(pl.Float64).is_finite()).is_empty():
        return None
    targets = _targets(table, max(_FEWEST, min(_TARGETS, _WORK // (5 * len(order)))))
    if asked is not None and np.isfinite(asked):
        targets = sorted({*targets, asked}, reverse=True)
    by_bytes = [at_target(table, fields, target, "bytes") for target in targets]
    found = {cost: [each.ranked(cost) for each in by_bytes] for cost in by_bytes[0].known}
    often = [sum(row["bytes"]["km_median"] is not None for row in each.settings) for each in by_bytes]
    start = max((k for k, count in enumerate(often) if 2 * count >= len(order)), default=0)
    return Question(targets, found, list(order), targets.index(asked) if asked in targets else start)


def _targets(table: pl.DataFrame, count: int) -> list[float]:
    """Errors with few digits, from the best first round of a run down to the lowest of all."""
    error = table.filter(pl.col("test_error").is_finite())["test_error"]
    best = table.group_by("run").agg(pl.col("test_error").min())["test_error"].drop_nulls()
    high, low = float(error.quantile(0.9) or 0.0), float(best.min())  # type: ignore[arg-type]
    step = (high - low) / count
    if step <= 0:
        return [high]
    unit = 10.0 ** np.floor(np.log10(step))
    step = float(unit * next(size for size in (1, 2, 5, 10) if size * unit >= step * (1 - 1e-9)))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(f"{k * step:.12g}") for k in range(last, first - 1, -1)] or [high]
