"""Figures over replicates: means with their uncertainty, and paired differences.

Intervals cover 95 %. `t` is Student's: exact for normal figures. `bootstrap` is the percentile interval of 2,000
resampled means, always the same ones for the same data. The columns say which: `t95_low`, `bootstrap95_low`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from simnet.errors import SimnetError
from simnet.streams import Streams

Interval = Literal["t", "bootstrap"]

_LEVEL = 0.95
_RESAMPLES = 2000


def means(runs: pl.DataFrame, by: Sequence[str], figures: Sequence[str], interval: Interval = "t") -> pl.DataFrame:
    """One row per setting and figure: n, mean, interval, median, least and most. Failed runs do not count."""
    _check(runs, by, figures, interval)
    return _summary(runs, by, figures, interval)


def differences(
    runs: pl.DataFrame,
    fields: Sequence[str],
    others: Sequence[str],
    field: str,
    baseline: Any,
    figures: Sequence[str],
    interval: Interval = "t",
) -> pl.DataFrame:
    """One row per setting and figure: statistics of (setting − baseline) over the seeds that both have, `others` equal.

    Settings that share a seed share every draw that they do not change, so the difference is sharper than the
    difference of the means.
    """
    _check(runs, [*fields, field], figures, interval)
    base = runs.filter(pl.col(field).eq_missing(baseline)).select(*others, "seed", *figures)
    if base.is_empty():
        known = ", ".join(map(str, runs[field].unique(maintain_order=True)))
        raise SimnetError(f"{field} = {baseline}: no run has it, choose one of {known}")
    if base.select(*others, "seed").is_duplicated().any():
        raise SimnetError(f"{field} = {baseline}: several settings of the study have it, so it is no baseline")
    rest = runs.filter(~pl.col(field).eq_missing(baseline))
    pairs = rest.join(
        base, on=[*others, "seed"], how="inner", suffix="|baseline", nulls_equal=True, maintain_order="left"
    )
    changes = pairs.with_columns(pl.col(figure) - pl.col(f"{figure}|baseline") for figure in figures)
    return _summary(changes, fields, figures, interval)


def groups(table: pl.DataFrame, by: Sequence[str]) -> list[tuple[dict[str, Any], pl.DataFrame]]:
    """The settings of these fields, in order, each with its rows."""
    if not by:
        return [({}, table)]
    found = table.group_by(list(by), maintain_order=True)
    return [(dict(zip(by, names, strict=True)), group) for names, group in found]


def _summary(table: pl.DataFrame, by: Sequence[str], figures: Sequence[str], interval: Interval) -> pl.DataFrame:
    numbers = ("mean", f"{interval}95_low", f"{interval}95_high", "median", "min", "max")
    rows = []
    for names, group in groups(table, by):
        for figure in figures:
            values = group[figure].drop_nulls().to_numpy().astype(np.float64)
            row: dict[str, Any] = names | {"figure": figure, "n": len(values)}
            if len(values):
                with np.errstate(over="ignore", invalid="ignore"):
                    found = values.mean(), *bounds(values, interval), np.median(values), values.min(), values.max()
                # What is too large for float64 is not known.
                row |= {name: value for name, value in zip(numbers, found, strict=True) if math.isfinite(value or 0.0)}
            rows.append(row)
    schema: dict[str, Any] = {name: table.schema[name] for name in by} | {"figure": pl.String, "n": pl.Int64}
    return pl.DataFrame(rows, schema=schema | dict.fromkeys(numbers, pl.Float64), orient="row")


def bounds(values: npt.NDArray[np.float64], interval: Interval) -> tuple[float | None, float | None]:
    """The interval of a mean; none for fewer than two values."""
    from scipy import stats

    if len(values) < 2:
        return None, None
    if interval == "bootstrap":
        chance: dict[str, Any] = {"random_state": Streams(0).generator("bootstrap")}
        found = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=_RESAMPLES, **chance)
        return float(found.confidence_interval.low), float(found.confidence_interval.high)

    half = float(stats.t.ppf((1 + _LEVEL) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean()) - half, float(values.mean()) + half


def _check(runs: pl.DataFrame, columns: Sequence[str], figures: Sequence[str], interval: str) -> None:
    if interval not in get_args(Interval):
        raise SimnetError(f"interval = {interval!r}: choose one of {', '.join(get_args(Interval))}")
    for name in (*columns, *figures):
        if name not in runs.columns:
            raise SimnetError(f"{name}: the runs have no such column, choose from {', '.join(runs.columns)}")
    for name in figures:
        if runs.schema[name] == pl.String:
            raise SimnetError(f"{name}: the runs hold texts there, choose a column of numbers")
