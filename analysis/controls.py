"""What a method that skips rounds is held against: its control, stopped when it had sent as much."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from simnet.studies.results import StudyResult

SKIPS, CONTROL = "ipp-admm", "pp-admm"
STOPPED = "pp-admm at ipp-admm's bytes"
"""What tables call PP-ADMM that stops when it has sent as many bytes as the run of IPP-ADMM beside it."""
FIGURES = ("test_error", "train_loss", "wire_bytes", "broadcasts", "proven_epsilon", "claimed_epsilon")


def stopped(runs: pl.DataFrame, rounds: pl.DataFrame, on: Sequence[str]) -> pl.DataFrame:
    """For each run the last round of its control with no more bytes than the run sent in all, and what the run had.

    A control belongs to a run with which it agrees `on` some columns. Columns that both have come twice, those of the
    run as `tested_…`. A run that sent less than its control does in one round has no row.
    """
    ends = runs.select(*on, pl.exclude(*on).name.prefix("tested_"))
    rows = rounds.join(ends, on=list(on)).filter(pl.col("wire_bytes") <= pl.col("tested_wire_bytes"))
    return rows.sort("tested_run", "round").group_by("tested_run", maintain_order=True).last()


def with_controls(study: StudyResult, *on: str, controls: StudyResult | None = None) -> pl.DataFrame:
    """The runs of a study, and beside each of IPP-ADMM one called `STOPPED`: its control, of another study or of this.

    The control has the seed of the run, and agrees with it `on` all settings that PP-ADMM has.
    """
    rounds = (controls or study).rounds.filter(pl.col("algorithm.name") == CONTROL)
    tests = study.runs.filter(pl.col("algorithm.name") == SKIPS)
    ends = stopped(tests.select("run", "wire_bytes", *on, "seed"), rounds, [*on, "seed"])
    known = [name for name in tests.columns if name.startswith("yardsticks_")]
    told = tests.select("run", "seed", *study.fields, *known).join(
        ends.select(*FIGURES, run="tested_run"), on="run", maintain_order="left"
    )
    return pl.concat([study.runs, told.with_columns(pl.lit(STOPPED).alias("algorithm.name"))], how="diagonal_relaxed")
