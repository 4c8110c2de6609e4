"""Stored runs as data frames: one of runs, one of rounds, with the same words as summary.json and rounds.csv."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from simnet.allowance import Allowance
from simnet.record.data_frames import CELL, column, data_frame
from simnet.record.metrics import Row

RUNS = {
    "key": pl.String,
    "seed": pl.Int64,
    "error": pl.String,
    "final": pl.Boolean,
    "code": pl.String,
    "resolved": pl.String,
}
"""Columns that every run has, failed or not."""
ROUNDS = {"key": pl.String, "round": pl.Int64}

_KINDS = (pl.String, pl.Int64, pl.Float64, pl.Boolean)
"""What columns of stored tables are."""
_MAGIC = b"PAR1"
_SECTIONS = ("accuracy", "privacy", "communication", "work", "time")
_PREFIXED = ("staleness", "airtime", "joules", "underlay", "cost", "sockets", "yardsticks", "tests")


def run_row(record: Row) -> Row:
    """A stored record as a row; a failed run has no figures."""
    row: Row = {"key": record["key"], "seed": record["seed"], "error": record["error"], "final": record["final"]}
    for name, value in (record["summary"] or {}).items():
        if name in _SECTIONS:
            row |= value
        elif name in _PREFIXED:
            row |= {f"{name}_{each}": amount for each, amount in value.items()}
            row |= {"joules": sum(value.values())} if name == "joules" else {}
        elif name == "measures":
            row |= {f"measure_{each}" if each in row else each: number for each, number in value.items()}
        elif name == "last_rounds":
            row["last_round_min"] = min(value, default=0)
        elif name == "skips_by_reason":
            row |= {f"skips_{reason}": count for reason, count in value.items()}
        else:
            row[name] = value
    resolved = json.dumps(record["scenario"], sort_keys=True, ensure_ascii=False)
    return row | {"code": record["code"], "resolved": resolved}


def readable(record: Row) -> bool:
    """Whether a stored record reads as a run, whoever wrote it."""
    try:
        row = run_row(record)
    except (TypeError, AttributeError, ValueError):
        return False
    if any(row[name] != record[name] for name in ("key", "seed", "error", "final")):
        return False
    return all(type(each.get("round")) is int and "key" not in each for each in record["rounds"])


def runs_frame(records: Sequence[Row], within: Allowance | None = None) -> pl.DataFrame:
    """One row per run."""
    return data_frame([run_row(record) for record in records], RUNS, within)


def rounds_frame(records: Sequence[Row], within: Allowance | None = None) -> pl.DataFrame:
    """One row per round, with the key of its run."""
    return data_frame([{"key": record["key"], **row} for record in records for row in record["rounds"]], ROUNDS, within)


def plan_fits(plan: Row) -> bool:
    """Whether the columns of a study's fields have names of their own, and its runs keys of their own."""
    names, keys = ["run", "study", "round", *RUNS, *plan["fields"]], [run["key"] for run in plan["runs"]]
    return len(set(names)) == len(names) and len(set(keys)) == len(keys)


def plan_frame(plan: Row) -> pl.DataFrame:
    """One row per planned run: number, key, seed and the varied fields."""
    runs = plan["runs"]
    columns: dict[str, Any] = {"run": [*range(len(runs))]} | {
        name: [run[name] for run in runs] for name in ("key", "seed")
    }
    for name in plan["fields"]:
        columns[name] = column([run["settings"].get(name) for run in runs], pl.Boolean())
    return pl.DataFrame(columns)


def assembled(plan: Row, runs: pl.DataFrame, *, keep_others: bool = False) -> pl.DataFrame:
    """Finished runs in the study's order, with its fields; with `keep_others` also runs that it no longer asks for.

    Of those others, the ones that newer code has done again are dropped.
    """
    planned = plan_frame(plan)
    figures = [name for name in runs.columns if name not in {*planned.columns, *_fields(runs), *RUNS}]
    known = ["key", "error", "final", *figures, "code", "resolved"]
    table = planned.join(runs.select(known), on="key", how="inner").sort("run")
    if not keep_others:
        return table
    others = runs.select([*known, "seed"]).join(planned, on="key", how="anti")
    others = others.join(table, on="resolved", how="anti").sort("key")
    return stacked(table, others)


def _fields(runs: pl.DataFrame) -> list[str]:
    """The columns of varied fields stand between seed and error."""
    names = runs.columns
    return names[names.index("seed") + 1 : names.index("error")]


def stacked(*tables: pl.DataFrame, within: Allowance | None = None) -> pl.DataFrame:
    """Tables one after the other; a column that one of them lacks is empty there."""
    if within is not None:
        columns = {name for each in tables for name in each.columns}
        within.need(CELL * len(columns) * sum(each.height for each in tables), "a table of all runs")
    return pl.concat(tables, how="diagonal_relaxed")


def table(content: bytes, schema: Mapping[str, Any]) -> pl.DataFrame:
    """The table in the bytes of a Parquet file; ValueError if there is none, or none with these columns."""
    if len(content) < 2 * len(_MAGIC) or not content.startswith(_MAGIC) or not content.endswith(_MAGIC):
        raise ValueError("it is cut, or no Parquet file")
    try:
        found = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(" ".join(str(error).split())[:200]) from None
    for name, kind in schema.items():
        if found.schema.get(name) != kind:
            raise ValueError(f"it has no column {name} as a study has it")
    for name, kind in found.schema.items():
        if kind not in _KINDS:
            raise ValueError("it has a column that holds neither texts nor numbers")
        if kind == pl.Float64 and not found[name].is_finite().all():
            raise ValueError("it has a column of numbers that are not finite")
    if "final" in schema and found["key"].is_duplicated().any():
        raise ValueError("two of its runs have one key")
    return found


def parquet(table: pl.DataFrame) -> bytes:
    """A table as the bytes of a Parquet file."""
    out = io.BytesIO()
    table.write_parquet(out, compression="zstd")
    return out.getvalue()
