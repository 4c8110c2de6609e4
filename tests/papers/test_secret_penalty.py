"""M-ADMM's section 6.2: a secret penalty hides no row from somebody who knows all others; noise does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from analysis.papers import secret_penalty
from analysis.papers.passages.reading import FIGURES
from simnet import Scenario


def scenario(**changes: object) -> Scenario:
    base = {
        "rounds": 8,
        "data": {"source": "synthetic", "rows": 600, "features": 8, "train": 400},
        "topology": {"kind": "ring", "agents": 4},
        "algorithm": {"name": "m-admm", "agent_eta": [0.08, 0.06, 0.07, 0.09], "agent_growth": [1.1, 1.0, 1.2, 1.05]},
    }
    return Scenario.of(base).with_(**{"algorithm.dual_step": 0.05}, **changes)


def exact(**changes: object) -> Scenario:
    return scenario(**{"privacy.calibration": "none", "algorithm.tolerance": 1e-13}, **changes)


@pytest.mark.parametrize("victim", [0, 2])
def test_the_row_comes_out_whether_the_penalty_is_known_or_not_where_there_is_no_noise(victim):
    found = secret_penalty.errors(exact(), victim)
    assert found["η"] < 1e-3
    assert found["no η"] < 1e-3
    assert found["a guess, η = θ"] > 0.5


def test_the_secret_penalty_comes_out_as_well():
    chosen = exact()
    a, b, _, _ = secret_penalty.equations(chosen, 0)
    gradients = secret_penalty.without_penalties(a, b)
    etas = [(of - g) @ each / (each @ each) for of, g, each in zip(a, gradients, b, strict=True)]
    np.testing.assert_allclose(etas, 0.08 * 1.1 ** np.arange(8), rtol=1e-4)


def test_two_entries_are_too_few_to_tell_without_the_penalty():
    """The plane of a_t and b_t is then all there is."""
    found = secret_penalty.errors(exact(**{"data.features": 2}))
    assert found["η"] < 1e-3 < found["no η"]


def test_the_noise_of_a_moderate_epsilon_hides_the_row_from_all_of_them():
    assert min(secret_penalty.errors(scenario(**{"privacy.epsilon": 5.0})).values()) > 0.5


def test_the_table_says_the_same():
    table = pl.read_csv(FIGURES / "secret-penalty.csv")
    exact, noisy = table.filter(noise="none"), table.filter(pl.col("noise") != "none")
    assert exact.filter(pl.col("knows") != "a guess, η = θ")["max"].max() < 1e-4
    assert noisy["min"].min() > 0.5
