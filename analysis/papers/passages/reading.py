"""Numbers out of the tables beside the figures, as words for a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from scipy.stats import t as student

from analysis.papers.drawing import where

FIGURES = Path(__file__).parents[3] / "docs" / "figures"


@cache
def table(name: str) -> pl.DataFrame:
    """A stored table."""
    return pl.read_csv(FIGURES / f"{name}.csv", infer_schema_length=None)


def value(name: str, column: str = "mean", **at: Any) -> float:
    """One number of a table: the only row with these values."""
    return float(where(table(name), **at)[column].item())


def each(name: str, field: str, values: Iterable[Any], digits: int = 4, column: str = "mean", **at: Any) -> str:
    """The numbers of a table for several values of a field: a, b, c."""
    return ", ".join(f"{value(name, column, **{field: each}, **at):.{digits}f}" for each in values)


def span(name: str, digits: int = 4, **at: Any) -> str:
    """The smallest and the largest mean among the rows with these values."""
    found = where(table(name), **at)["mean"]
    low, high = f"{found.min():.{digits}f}", f"{found.max():.{digits}f}"
    return low if low == high else f"{low} to {high}"


def half(name: str, **at: Any) -> float:
    """Half a 95 % interval (Student's t) of a mean whose standard deviation over seeds is in the table."""
    row = where(table(name), **at)
    n = row["n"].item()
    return float(student.ppf(0.975, n - 1) * row["std"].item() / n**0.5)


def link(name: str) -> str:
    return f"[{name}.csv](figures/{name}.csv)"
