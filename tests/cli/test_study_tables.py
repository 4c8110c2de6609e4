"""What a study's table on a terminal says."""

from __future__ import annotations

import io

import polars as pl
import pytest
from rich.console import Console
from rich.table import Table

from simnet.cli.study_tables import _spread, means_table
from simnet.cli.widths import fitting
from simnet.studies.results import StudyResult


def told(errors: list[float]) -> str:
    """The table of one setting with these errors, as text."""
    number = len(errors)
    runs = pl.DataFrame(
        {"algorithm.name": ["admm"] * number, "test_error": errors, "error": [None] * number},
        schema_overrides={"error": pl.String},
    )
    listed = [{"key": str(seed), "seed": seed, "settings": {"algorithm.name": "admm"}} for seed in range(number)]
    plan = {"name": "few", "question": None, "fields": ["algorithm.name"], "together": [], "runs": listed}
    console = Console(file=io.StringIO(), width=200)
    console.print(means_table(StudyResult(None, plan, runs)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_mean_comes_with_half_of_its_interval():
    assert "0.2 ± 0.25" in told([0.1, 0.2, 0.3])


def test_equal_numbers_have_no_interval_even_if_their_sum_is_rounded():
    assert sum([0.1] * 10) / 10 != 0.1
    assert "±" not in told([0.1] * 10).splitlines()[-2]


def test_no_word_of_a_table_is_broken_while_there_is_room_for_it():
    table = Table()
    for heading in ("method", "what became of it", "seeds"):
        table.add_column(heading)
    table.add_row("noisy-nesterov", "a long story with many words that may be told on several lines", "12")
    out = Console(width=40, file=io.StringIO())
    for part in fitting(table, out):
        out.print(part)
    told = out.file.getvalue()
    assert "noisy-nesterov" in told
    assert max(map(len, told.splitlines())) <= 40


def test_what_calibration_leaves_of_an_epsilon_is_no_spread():
    row = {"figure": "proven_epsilon", "mean": 1.0, "t95_low": 1.0 - 6e-10}
    assert _spread(row) == "1"
    assert _spread(row | {"t95_low": 0.99}) == "1 ± 0.01"


@pytest.mark.parametrize("width", [60, 80])
def test_no_method_is_cut_beside_columns_that_must_not_be_wrapped(width):
    table = Table("algorithm", "calibration")
    for heading in ("test error", "sent MB"):
        table.add_column(heading, no_wrap=True)
    for name in ("noisy-nesterov", "prox-rounds"):
        table.add_row(name, "proven", "0.4556 ± 0.0571", "0.05434 ± 0.0091")
    out = Console(width=width, file=io.StringIO())
    for part in fitting(table, out):
        out.print(part)
    for word in ("algorithm", "calibration", "noisy-nesterov", "prox-rounds"):
        assert word in out.file.getvalue()


def test_a_turned_table_keeps_its_words_whole():
    methods = ("pp-admm", "ipp-admm", "pp-admm", "noisy-nesterov", "noisy-nesterov", "prox-rounds")
    table = Table("algorithm", "calibration", "bytes", *(f"figure{k}" for k in range(8)))
    for name in methods:
        table.add_row(name, "proven", "10.66 kB\n≥ 10.66 kB", *["0.05434 ± 0.0091"] * 8)
    out = Console(width=80, file=io.StringIO())
    parts = fitting(table, out)
    assert len(parts) > 1
    for part in parts:
        out.print(part)
    told = out.file.getvalue()
    assert all(told.count(f" {name} ") == methods.count(name) for name in methods)
    assert told.count(" calibration ") == len(parts)


def test_a_column_that_must_not_be_wrapped_is_whole_beside_long_ones():
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row("what ε does not cover", "the labels decided which agent holds which rows, and more of it")
    out = Console(width=50, file=io.StringIO())
    for part in fitting(table, out):
        out.print(part)
    assert "what ε does not cover" in out.file.getvalue()
    assert max(len(line.rstrip()) for line in out.file.getvalue().splitlines()) <= 50
