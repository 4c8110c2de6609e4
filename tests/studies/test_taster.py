"""A table is read for a try by a process that may die of it."""

from __future__ import annotations

import io

import polars as pl
import pytest

from simnet.allowance import Allowance
from simnet.errors import SimnetError
from simnet.studies.taster import taste


def packed(table: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    table.write_parquet(out, compression="zstd")
    return out.getvalue()


def test_a_text_counts_as_often_as_it_stands_there():
    one_megabyte = pl.DataFrame({"x": ["x" * 10_000] * 100})
    allowance = Allowance(SimnetError, 2.5)
    taste(packed(one_megabyte), allowance, "a")
    taste(packed(one_megabyte), allowance, "b")
    with pytest.raises(SimnetError, match=r"what c lists would take more than 2\.5 MB"):
        taste(packed(one_megabyte), allowance, "c")  # all that was taken before counts


def test_what_no_process_survives_is_too_large_and_what_none_can_read_is_no_table():
    rows = pl.select(pl.repeat(7, 60_000_000, dtype=pl.Int64).alias("n"))
    with pytest.raises(SimnetError, match="what rows lists would take more than 64 MB"):
        taste(packed(rows), Allowance(SimnetError), "rows")
    with pytest.raises(ValueError, match="found no table"):
        taste(b"PAR1" + bytes(1000) + b"PAR1", Allowance(SimnetError), "zeros")
