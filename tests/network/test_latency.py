from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simnet.errors import ScenarioError
from simnet.network.latency import Constant, Distance, Empirical, Gamma, Lognormal, Normal, Pareto, Uniform
from simnet.streams import Streams

MODELS = [
    (Uniform(0.01, 0.05), stats.uniform(0.01, 0.04)),
    (Normal(0.02, 0.005), stats.truncnorm(-4, inf, 0.02, 0.005)),
    (Normal(0.01, 0.02), stats.truncnorm(-0.5, inf, 0.01, 0.02)),
    (Normal(0.0, 0.02), stats.halfnorm(0, 0.02)),
    (Lognormal(0.02, 0.5), stats.lognorm(0.5, scale=0.02)),
    (Gamma(0.02, 3.0), stats.gamma(3.0, scale=0.02 / 3)),
    (Pareto(0.01, 3.5), stats.pareto(3.5, scale=0.01)),
]


@pytest.mark.parametrize(("model", "law"), MODELS, ids=lambda value: type(value).__name__)
def test_draws_follow_the_named_law(model, law):
    delays = model.draw(Streams(1).generator("latency", "0>1"), 100_000)
    assert stats.kstest(delays, law.cdf).pvalue > 1e-3
    assert model.expectation == pytest.approx(law.mean(), rel=1e-9)
    assert delays.mean() == pytest.approx(model.expectation, rel=0.02)
    assert delays.min() >= 0


sizes = st.floats(1e-6, 1e3)


@given(
    st.one_of(
        st.builds(Constant, sizes),
        st.builds(lambda low, more: Uniform(low, low + more), sizes, sizes),
        st.builds(Normal, st.floats(0, 1), st.floats(0, 10)),
        st.builds(Lognormal, sizes, st.floats(0, 3)),
        st.builds(Gamma, sizes, st.floats(0.1, 10)),
        st.builds(Pareto, sizes, st.floats(0.3, 5)),
        st.builds(lambda delays: Empirical(tuple(delays)), st.lists(sizes, min_size=1)),
    ),
    st.integers(0, 1000),
)
def test_a_delay_is_finite_and_never_negative_and_blocks_do_not_matter(model, seed):
    whole = model.draw(Streams(seed).generator("latency"), 7)
    rng = Streams(seed).generator("latency")
    assert np.isfinite(whole).all()
    assert (whole >= 0).all()
    np.testing.assert_array_equal(np.concatenate([model.draw(rng, n) for n in (1, 2, 4)]), whole)


def test_a_normal_delay_without_deviation_is_its_mean():
    model = Normal(0.02, 0.0)
    assert model.expectation == 0.02
    assert set(model.draw(Streams(1).generator("latency"), 5)) == {0.02}


def test_a_heavy_tail_has_no_finite_mean():
    assert Pareto(0.01, 1.0).expectation == inf
    assert Pareto(0.01, 2.0).expectation == 0.02


def test_measured_delays_are_drawn_alike(tmp_path):
    path = tmp_path / "delays.csv"
    path.write_text("delay\n0.010\n0.020\n\n0.060\n")
    model = Empirical.read(path)
    assert model == Empirical((0.01, 0.02, 0.06))
    values, counts = np.unique(model.draw(Streams(1).generator("latency"), 30_000), return_counts=True)
    assert values.tolist() == [0.01, 0.02, 0.06]
    assert counts / 30_000 == pytest.approx([1 / 3] * 3, abs=0.01)
    assert model.expectation == pytest.approx(0.03)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("0.1\nfast\n", "line 2 is 'fast', not one number"),
        ("0.1\n0.2,0.3\n", "line 2 is '0.2,0.3', not one number"),
        ("0.1\n-0.2\n", "line 2 is -0.2, not a delay of 0 or more"),
        ("0.1\nnan\n", "line 2 is nan"),
        ("delay\n", "holds no delay"),
        ("", "holds no delay"),
    ],
)
def test_a_file_that_holds_no_delays_is_refused_with_the_line(tmp_path, text, fault):
    path = tmp_path / "delays.csv"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=rf"latency\.file = .*delays\.csv: {fault}"):
        Empirical.read(path)


def test_a_missing_file_of_delays_is_a_sentence(tmp_path):
    with pytest.raises(ScenarioError, match=r"latency\.file = .*: cannot be read"):
        Empirical.read(tmp_path / "absent.csv")


def test_distance_makes_a_constant_delay_in_proportion():
    assert Distance(per_unit=0.002, base=0.001).over(5.0) == Constant(0.011)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(-1.0), r"latency\.value = -1\.0: must be finite and at least 0"),
        (lambda: Uniform(0.2, 0.1), r"latency\.high = 0\.1: must be at least latency\.low = 0\.2"),
        (lambda: Uniform(-0.2, 0.1), r"latency\.low = -0\.2"),
        (lambda: Normal(inf, 0.1), r"latency\.mean = inf"),
        (lambda: Normal(0.1, -0.1), r"latency\.std = -0\.1"),
        (lambda: Lognormal(0.0, 0.1), r"latency\.median = 0\.0: must be finite and greater than 0"),
        (lambda: Gamma(0.1, 0.0), r"latency\.shape = 0\.0"),
        (lambda: Pareto(0.1, float("nan")), r"latency\.alpha = nan"),
        (lambda: Empirical(()), r"latency\.delays is empty"),
        (lambda: Empirical((0.1, -0.1)), r"latency\.delays: every measured delay"),
        (lambda: Distance(-1.0), r"latency\.per_unit = -1\.0"),
    ],
)
def test_an_impossible_delay_is_refused_with_its_field(make, message):
    with pytest.raises(ScenarioError, match=message):
        make()
