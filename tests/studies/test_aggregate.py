"""Statistics over replicates, against plain computations."""

from __future__ import annotations

import statistics
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simnet.errors import SimnetError
from simnet.studies.aggregate import bounds, differences, means

figures = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12)


@given(figures)
def test_the_t_interval_is_that_of_a_one_sample_t_test(values):
    low, high = bounds(np.array(values), "t")
    if np.ptp(values) == 0:
        assert low == pytest.approx(values[0])
    else:
        expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
        assert (low, high) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-9)


@given(figures)
def test_the_bootstrap_interval_lies_within_the_range_and_is_always_the_same(values):
    low, high = bounds(np.array(values), "bootstrap")
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert bounds(np.array(values), "bootstrap") == (low, high)


def test_the_bootstrap_interval_is_that_of_the_means_of_all_resamples():
    values = [0.0, 1.0, 2.5, 4.0, 9.0]
    resampled = [sum(each) / 5 for each in product(values, repeat=5)]
    expected = tuple(np.quantile(resampled, [0.025, 0.975]))
    assert bounds(np.array(values), "bootstrap") == pytest.approx(expected, abs=0.2)
    assert bounds(np.array([0.1] * 5), "bootstrap") == pytest.approx((0.1, 0.1))


def test_means_leave_failed_runs_out_and_say_which_interval_they_give():
    runs = pl.DataFrame({"eta": [1, 1, 1, 2], "test_error": [0.1, 0.4, None, 0.5]})
    found = means(runs, ["eta"], ["test_error"])
    assert found.columns == ["eta", "figure", "n", "mean", "t95_low", "t95_high", "median", "min", "max"]
    first, second = found.to_dicts()
    assert (first["n"], first["min"], first["max"]) == (2, 0.1, 0.4)
    assert first["mean"] == pytest.approx(statistics.mean([0.1, 0.4]))
    assert (second["n"], second["mean"], second["t95_low"]) == (1, 0.5, None)
    assert "bootstrap95_low" in means(runs, ["eta"], ["test_error"], "bootstrap").columns


def test_differences_are_taken_seed_by_seed():
    seeds, codecs, losses = [1, 2, 3], ["a", "b"], [0.0, 0.5]
    rows = [
        {"codec": codec, "loss": loss, "seed": seed, "test_error": 10.0 * seed + loss + (0.25 if codec == "b" else 0)}
        for codec in codecs
        for loss in losses
        for seed in seeds
        if (codec, loss, seed) != ("a", 0.5, 3)
    ]
    found = differences(pl.DataFrame(rows), ["codec", "loss"], ["loss"], "codec", "a", ["test_error"])
    assert found.select("codec", "loss", "n").rows() == [("b", 0.0, 3), ("b", 0.5, 2)]
    # Seeds differ by 10, but no pair does.
    assert found["mean"].to_list() == pytest.approx([0.25, 0.25])
    assert found["t95_high"].to_list() == pytest.approx([0.25, 0.25])


def test_a_wrong_question_is_a_sentence():
    runs = pl.DataFrame({"eta": [1], "seed": [1], "test_error": [0.1]})
    with pytest.raises(SimnetError, match="error: the runs have no such column"):
        means(runs, ["eta"], ["error"])
    with pytest.raises(SimnetError, match="eta = 3: no run has it, choose one of 1"):
        differences(runs, ["eta"], [], "eta", 3, ["test_error"])
    with pytest.raises(SimnetError, match="eta = 1: several settings of the study have it"):
        differences(pl.concat([runs, runs]), ["eta"], [], "eta", 1, ["test_error"])
    with pytest.raises(SimnetError, match="choose one of t, bootstrap"):
        means(runs, ["eta"], ["test_error"], "normal")
