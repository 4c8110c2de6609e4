"""Statistics over replicates, against plain computations."""

from __future__ import annotations

import statistics

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simnet.errors import SimnetError
from simnet.studies.aggregate import bounds, costs, differences, kaplan_meier_median, means

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


def test_the_bootstrap_interval_is_near_scipys():
    values = np.random.default_rng(3).exponential(size=30)
    expected = stats.bootstrap((values,), np.mean, method="percentile", rng=1, n_resamples=20_000)
    assert bounds(values, "bootstrap") == pytest.approx(tuple(expected.confidence_interval), abs=0.05)


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


def rounds(errors: dict[int, list[float]], spent: float | None = 1.0) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"run": run, "codec": "x", "round": number, "test_error": error, "wire_bytes": spent and spent * number}
            for run, each in errors.items()
            for number, error in enumerate(each, 1)
        ],
        schema_overrides={"wire_bytes": pl.Float64},
    )


def test_a_run_reaches_a_target_in_its_first_round_that_does():
    found = costs(rounds({0: [0.5, 0.2, 0.3], 1: [0.5, 0.4, 0.2]}), ["codec"], 0.25, "wire_bytes").to_dicts()
    assert found == [
        {"codec": "x", "target": 0.25, "cost": "wire_bytes", "n": 2, "reached": 2, "share": 1.0}
        | {"km_median": 2.0, "least": 2.0, "most": 3.0}
    ]


def test_a_run_that_never_reaches_it_counts_as_costing_more():
    some = costs(rounds({0: [0.5, 0.1], 1: [0.5, 0.4], 2: [0.4, 0.4]}), [], 0.25, "wire_bytes").to_dicts()[0]
    assert (some["n"], some["reached"], some["km_median"], some["least"]) == (3, 1, None, 2.0)
    none = costs(rounds({0: [0.5], 1: [0.5]}), [], 0.25, "wire_bytes").to_dicts()[0]
    assert (none["share"], none["km_median"], none["most"]) == (0.0, None, None)


def test_a_cost_that_is_nowhere_finite_is_never_reached():
    found = costs(rounds({0: [0.1], 1: [0.1]}, spent=None), [], 0.25, "wire_bytes").to_dicts()[0]
    assert (found["n"], found["reached"], found["km_median"]) == (2, 0, None)


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=15))
def test_the_median_is_that_of_scipys_kaplan_meier_curve(pairs):
    spent = np.array([float(cost) for cost, _ in pairs])
    reached = np.array([hit for _, hit in pairs])
    curve = stats.ecdf(stats.CensoredData(uncensored=spent[reached], right=spent[~reached])).sf
    below = curve.quantiles[curve.probabilities <= 0.5 + 1e-12]
    assert kaplan_meier_median(spent, reached) == (below[0] if reached.any() and len(below) else None)
