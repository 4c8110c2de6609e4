"""Rows as a data frame: one type per column, whatever the first rows hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from simnet.allowance import Allowance

CELL = 16
"""Bytes of a cell, at least."""
_TEXT = (
    "error",
    "scenario",
    "digest",
    "algorithm",
    "uplink",
    "basis",
    "resolved",
    "code",
    "key",
    "underlay_busiest",
    "test_error_is",
    "yardsticks_absent",
    "output",
)
"""Columns of texts, where they are empty: all others count something."""


def data_frame(
    rows: Sequence[Mapping[str, Any]], empty: Mapping[str, Any], within: Allowance | None = None
) -> pl.DataFrame:
    """Rows under the names that any of them has; `empty` are the columns of no rows at all."""
    if not rows:
        return pl.DataFrame(schema=empty)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if within is not None:
        within.need(CELL * len(names) * len(rows), "a table of finished runs")
    columns = {name: [row.get(name) for row in rows] for name in names}
    kinds = {name: pl.String() if name in _TEXT else pl.Float64() for name in names}
    return pl.DataFrame({name: column(values, kinds[name]) for name, values in columns.items()})


def column(values: Sequence[Any], empty: pl.DataType) -> pl.Series:
    """Values under one type: switches, numbers, or else text; `empty` where there are none."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pl.Series(values, dtype=empty)
    if kinds == {bool}:
        return pl.Series(values, dtype=pl.Boolean)
    if kinds <= {int, float}:
        return pl.Series(values, dtype=pl.Int64 if kinds == {int} else pl.Float64, strict=False)
    text = (
        value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values
    )
    return pl.Series([*text], dtype=pl.String)
