"""The quickstart's skips: what docs/skip_test.md says is what its table holds, and what a run gives."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from analysis import skip_test
from simnet import Scenario
from simnet.methods import METHODS
from simnet.methods.ipp_admm import IppAdmm

ROOT = Path(__file__).parents[2]
TABLE = pl.read_csv(ROOT / "docs" / "skip_test.csv")


def test_a_row_of_the_table_is_what_a_run_gives():
    base = Scenario.load(ROOT / "scenarios" / "quickstart.toml").with_(**{"seed": 4, "log.private": True})
    row, asked = skip_test.figures(base)
    stored = TABLE.filter(seed=4).to_dicts()[0]
    assert row == pytest.approx(stored, rel=1e-4)
    assert len(asked) == row["tests_asked"]


def test_the_skip_is_a_coin_flip_and_stopping_earlier_is_better():
    asked, passed = TABLE["tests_asked"].sum(), TABLE["tests_passed"].sum()
    # Within two standard errors of a coin's half.
    assert abs(passed / asked - 0.5) < 1.0 / asked**0.5
    assert abs((TABLE["tests_auc"] * TABLE["tests_asked"]).sum() / asked - 0.5) < 0.05
    assert (TABLE["tests_noise"] > 500 * TABLE["tests_improvement"]).all()
    assert (TABLE["same_bytes_test_error"] < TABLE["test_error"]).sum() >= 8
    assert (TABLE["same_bytes_wire_bytes"] <= TABLE["wire_bytes"]).all()
    assert (TABLE["same_bytes_proven_epsilon"] < TABLE["proven_epsilon"]).all()


def test_readers_meet_it_on_the_page_of_results():
    shown = (ROOT / "docs" / "skip_test.md").read_text(encoding="utf-8")
    assert shown in (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    means = shown.splitlines()[2:5]
    for line, prefix in zip(means, ("", "same_bytes_", "same_time_"), strict=True):
        assert f"{TABLE[prefix + 'test_error'].mean():.4f}" in line


def test_the_control_of_a_method_with_a_test_is_a_method():
    assert IppAdmm.control in METHODS
