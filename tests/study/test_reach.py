"""Costs until a target, some of them never known."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simnet.study.reach import costs, kaplan_meier_median


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
