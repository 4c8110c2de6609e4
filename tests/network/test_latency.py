from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simnet.errors import ScenarioError
from simnet.network.latency import DelayTrace, Distance, Empirical
from simnet.streams import Streams
from tests.network.models import constant, empirical, gamma, lognormal, normal, pareto, refusal, uniform

MODELS = [
    (uniform(0.01, 0.05), stats.uniform(0.01, 0.04)),
    (normal(0.02, 0.005), stats.truncnorm(-4, inf, 0.02, 0.005)),
    (normal(0.01, 0.02), stats.truncnorm(-0.5, inf, 0.01, 0.02)),
    (normal(0.0, 0.02), stats.halfnorm(0, 0.02)),
    (lognormal(0.02, 0.5), stats.lognorm(0.5, scale=0.02)),
    (gamma(0.02, 3.0), stats.gamma(3.0, scale=0.02 / 3)),
    (pareto(0.01, 3.5), stats.pareto(3.5, scale=0.01)),
]


@pytest.mark.parametrize(("model", "law"), MODELS, ids=lambda value: type(value).__name__)
def test_draws_follow_the_named_law(model, law):
    delays = model.draw(Streams(1).generator("latency", "0>1"), 100_000)
    assert stats.kstest(delays, law.cdf).pvalue > 1e-3
    assert delays.mean() == pytest.approx(law.mean(), rel=0.02)
    assert delays.min() >= 0


sizes = st.floats(1e-6, 1e3)


@given(
    st.one_of(
        st.builds(constant, sizes),
        st.builds(lambda low, more: uniform(low, low + more), sizes, sizes),
        st.builds(normal, st.floats(0, 1), st.floats(0, 10)),
        st.builds(lognormal, sizes, st.floats(0, 3)),
        st.builds(gamma, sizes, st.floats(0.1, 10)),
        st.builds(pareto, sizes, st.floats(0.3, 5)),
        st.builds(lambda delays: empirical(*delays), st.lists(sizes, min_size=1)),
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
    model = normal(0.02, 0.0)
    assert set(model.draw(Streams(1).generator("latency"), 5)) == {0.02}


def test_measured_delays_are_drawn_alike(tmp_path):
    path = tmp_path / "delays.csv"
    path.write_text("delay\n0.010\n0.020\n\n0.060\n")
    model = Empirical(kind="empirical", file="delays.csv").read(lambda name: tmp_path / name)
    values, counts = np.unique(model.draw(Streams(1).generator("latency"), 30_000), return_counts=True)
    assert values.tolist() == [0.01, 0.02, 0.06]
    assert counts / 30_000 == pytest.approx([1 / 3] * 3, abs=0.01)


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
        Empirical(kind="empirical", file="delays.csv").read(lambda name: tmp_path / name)


def test_a_missing_file_of_delays_is_a_sentence(tmp_path):
    with pytest.raises(ScenarioError, match=r"latency\.file = .*: cannot be read"):
        Empirical(kind="empirical", file="absent.csv").read(lambda name: tmp_path / name)


def test_distance_makes_a_constant_delay_in_proportion():
    model = Distance(kind="distance", per_unit=0.002, base=0.001)
    assert model.needs_length
    assert model.over(5.0) == constant(0.011)
    assert constant(0.02).over(5.0) == constant(0.02)


@pytest.mark.parametrize(
    ("latency", "sentence"),
    [
        (-1.0, 'latency = -1.0: a time such as 0.02 or "20 ms", at least 0'),
        ({"kind": "uniform", "low": 0.2, "high": 0.1}, "latency.low = 0.2: at most high, which is 0.1 s"),
        ({"kind": "uniform", "low": -0.2, "high": 0.1}, "latency.low = -0.2: a time"),
        ({"kind": "normal", "mean": inf, "std": 0.1}, "latency.mean = inf: a time"),
        ({"kind": "normal", "mean": 0.1, "std": -0.1}, "latency.std = -0.1: a time"),
        ({"kind": "lognormal", "median": 0.0}, 'latency.median = 0.0: a time such as 0.02 or "20 ms", above 0'),
        ({"kind": "gamma", "mean": 0.1, "shape": 0.0}, "latency.shape = 0.0: a number above 0"),
        ({"kind": "pareto", "scale": 0.1, "alpha": nan}, "latency.alpha = nan: a number above 0"),
        ({"kind": "distance", "per_unit": -1.0}, "latency.per_unit = -1.0: a time"),
    ],
)
def test_an_impossible_delay_is_refused_with_its_field(latency, sentence):
    assert refusal(latency=latency).startswith(f"network.link.{sentence}")


def test_a_trace_plays_the_last_delay_measured_before_a_message_leaves_and_begins_again(tmp_path):
    (tmp_path / "delays.csv").write_text("10,0.1\n11,0.2\n13,0.3\n")
    trace = DelayTrace(kind="trace", file="delays.csv").read(lambda name: tmp_path / name)
    # The last delay lasts as long as one does on average, 1.5 s.
    assert trace.period == 4.5
    at, half_way = trace.clock(0.0), trace.clock(0.5)
    leave = [0.0, 0.99, 1.0, 2.99, 3.0, 4.49, 4.5, 5.5]
    assert [at(time) for time in leave] == [0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.1, 0.2]
    assert [half_way(time) for time in (0.0, 0.75, 2.25)] == [0.2, 0.3, 0.1]
