"""The sparse vector technique: its distribution, its ε, and what redrawing the threshold does to it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from simnet.privacy.ledger import Charge, account
from simnet.privacy.sparse_vector import SparseVector, SvtPlan, answer_noise, chance_above, split
from simnet.streams import Streams
from simnet.vectors import Vector


def outcomes(tests: int, cap: int) -> list[tuple[bool, ...]]:
    """All answer sequences with at most `cap` positives and nothing but False after the last of them."""
    return [o for o in itertools.product([False, True], repeat=tests) if sum(o) <= cap]


def probabilities(
    queries: Vector, cap: int, threshold_scale: float, query_scale: float
) -> dict[tuple[bool, ...], float]:
    """Exact probability of every outcome: one integral over the threshold noise, drawn once."""
    z = np.linspace(-25.0 * threshold_scale, 25.0 * threshold_scale, 20001)
    density = stats.laplace(scale=threshold_scale).pdf(z)
    above = [stats.laplace(scale=query_scale).sf(z - q) for q in queries]
    found = {}
    for outcome in outcomes(len(queries), cap):
        integrand, positives = density.copy(), 0
        for answer, p in zip(outcome, above, strict=True):
            if positives < cap:
                integrand = integrand * (p if answer else 1.0 - p)
            positives += answer
        found[outcome] = float(np.trapezoid(integrand, z))
    return found


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_no_outcome_is_more_telling_than_epsilon(cap: int) -> None:
    rng = Streams(1).generator("queries", cap)
    epsilon1, epsilon2, worst = 0.4, 0.7, 0.0
    scales = 1.0 / epsilon1, 2.0 * cap / epsilon2
    for trial in range(30):
        queries = rng.normal(0.0, 4.0, 5)
        # The worst neighbours move some queries fully up and others fully down.
        moves = rng.choice([-1.0, 1.0], 5) if trial % 2 else np.ones(5)
        one = probabilities(queries, cap, *scales)
        other = probabilities(queries + moves, cap, *scales)
        assert sum(one.values()) == pytest.approx(1.0, abs=1e-5)
        worst = max(worst, max(abs(math.log(one[o] / other[o])) for o in one))
    assert worst <= epsilon1 + epsilon2 + 1e-6
    assert worst > 0.4 * (epsilon1 + epsilon2)


@pytest.mark.parametrize("redraw", [False, True])
def test_answers_come_with_their_exact_probabilities(redraw: bool) -> None:
    queries = np.array([0.5, -1.0, 2.0])
    counts: dict[tuple[bool, ...], int] = dict.fromkeys(outcomes(3, 2), 0)
    rng = Streams(2).generator("svt", redraw)
    for _ in range(6000):
        test = SparseVector(2, 0.25, 1.5, 2.5, redraw, rng)
        counts[tuple(test.test(float(q)) for q in queries)] += 1
    if redraw:
        each = [difference_above(0.25 - q, 2.5, 1.5) for q in queries]
        exact = {}
        for o in counts:
            p, positives = 1.0, 0
            for answer, above in zip(o, each, strict=True):
                p *= (above if answer else 1.0 - above) if positives < 2 else 1.0
                positives += answer
            exact[o] = p
    else:
        exact = probabilities(queries - 0.25, 2, 1.5, 2.5)
    expected = np.array([exact[o] for o in counts])
    assert stats.chisquare(list(counts.values()), 6000 * expected / expected.sum()).pvalue > 1e-3


def test_after_the_last_positive_every_answer_is_no() -> None:
    test = SparseVector(2, 0.0, 1e-6, 1e-6, False, Streams(3).generator("svt"))
    assert [test.test(1.0), test.test(-1.0), test.exhausted, test.test(1.0), test.exhausted] == [
        True,
        False,
        False,
        True,
        True,
    ]
    assert not any(test.test(1e9) for _ in range(100))
    assert test.positives == 2


def test_the_budget_is_split_where_the_comparison_is_least_noisy() -> None:
    epsilon1, epsilon2 = split(1.0, 15)
    assert epsilon1 + epsilon2 == pytest.approx(1.0)
    assert epsilon2 / epsilon1 == pytest.approx(30 ** (2 / 3))

    def variance(e1: float) -> float:
        return 1 / e1**2 + (30 / (1 - e1)) ** 2

    assert all(variance(epsilon1) <= variance(e) for e in np.linspace(0.01, 0.99, 99))


def difference_above(x: float, query_scale: float, threshold_scale: float) -> float:
    """P(Lap(a) − Lap(b) >= x) for a != b, by partial fractions of the characteristic function."""
    a2, b2 = query_scale**2, threshold_scale**2
    tail_a, tail_b = (0.5 * math.exp(-abs(x) / s) for s in (query_scale, threshold_scale))
    tail = (a2 * tail_a - b2 * tail_b) / (a2 - b2)
    return tail if x >= 0 else 1.0 - tail


def redrawn_epsilon(tests: int, offset: float, delta: float, up: bool) -> float:
    """ε at δ of "when was the first positive" with c = 1, ε1 = ε2 = 0.5, Δ = 1 and all queries moved by 1."""
    p, q = (difference_above(offset - move, 4.0, 2.0) for move in ((1.0, 0.0) if up else (0.0, 1.0)))
    k = np.arange(tests)
    one, other = (np.append(s * (1 - s) ** k, (1 - s) ** tests) for s in (p, q))

    def excess(epsilon: float) -> float:
        return float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum()) - delta

    return float(brentq(excess, 0.0, 60.0))


def redrawn_price(tests: int, delta: float, **scales: float) -> float:
    """What the ledger charges for them: rows = 1 and clip = 1/2 make Δ = 1."""
    numbers = {"rows": 1.0, "curvature": 1.0, "lipschitz": 1.0, "smoothness": 0.25, "weight": 1.0, "tolerance": 0.0}
    numbers |= {"clip": 0.5, "threshold_scale": 2.0, "query_scale": 4.0, "cap": 1.0, "tests": float(tests)}
    numbers |= {"shared_noise": 0.0, "regularised": 0.0, "redraw": 1.0, "printed": 0.0} | scales
    found = account([Charge.of("sparse-vector", numbers, "test", bound="least")], delta).proven_epsilon
    assert found is not None
    return found


def test_redrawing_the_threshold_doubles_the_loss_that_the_theorem_states() -> None:
    """Erratum 5: claimed ε1 + ε2 = 1; thirty tests with c = 1 really cost 1.99 at δ = 1e-4."""
    worst = max(redrawn_epsilon(30, x, 1e-4, up) for x in np.linspace(-5, 40, 400) for up in (False, True))
    assert worst == pytest.approx(1.99, abs=0.01)
    assert redrawn_price(30, 1e-4) >= worst


def most_telling(silences: int, cap: int, threshold_scale: float, query_scale: float) -> float:
    """The largest log-ratio of "so many noes, then all the yeses" between data sets that move the noes up by Δ = 1 and
    the yeses down: one integral over the threshold's noise, drawn once."""
    z = np.linspace(-60.0 * threshold_scale, 60.0 * threshold_scale, 6001)
    prior, query = stats.laplace(scale=threshold_scale).logpdf(z), stats.laplace(scale=query_scale)

    def log_probability(offset: float, moved: float) -> float:
        found = prior + silences * query.logcdf(z - moved) + cap * query.logsf(z - offset + moved)
        return float(np.logaddexp.reduce(found))

    return max(abs(log_probability(o, 0.0) - log_probability(o, 1.0)) for o in np.linspace(-40.0, 40.0, 17))


@pytest.mark.parametrize("cap", [1, 3])
def test_drawn_once_a_threshold_needs_the_scale_of_one_draw_and_no_less_would_do(cap: int) -> None:
    """Δ/ε1 keeps ε1 + ε2 = 1 and uses all of it, whatever c; half of that noise breaks it."""
    assert most_telling(100, cap, 1.0 / 0.5, 2.0 * cap / 0.5) == pytest.approx(1.0, abs=1e-3)
    assert most_telling(100, cap, 0.5 / 0.5, 2.0 * cap / 0.5) > 1.4


def test_a_redrawn_threshold_keeps_its_claim_where_half_of_the_rounds_may_release() -> None:
    """With c = 15 of T = 30, the paper's own, each answer costs ε2/(2c) by the query's noise alone: ε2 in all."""
    epsilon1, epsilon2, cap = 0.1, 0.9, 15
    scales = {"threshold_scale": cap / epsilon1, "query_scale": 2 * cap / epsilon2, "cap": float(cap)}
    assert redrawn_price(30, 1e-12, **scales) <= epsilon1 + epsilon2
    # Exactly: the worst of all ways to answer thirty queries that one row moves by 1.
    steps = [
        abs(math.log(p(above(1.0)) / p(above(0.0))))
        for x in np.linspace(-60, 60, 241)
        for above in (lambda move, x=x: difference_above(x - move, 2 * cap / epsilon2, cap / epsilon1),)
        for p in (lambda yes: yes, lambda yes: 1.0 - yes)
    ]
    assert 30 * max(steps) <= epsilon2 * (1 + 1e-9)


def test_the_price_of_redrawn_tests_is_never_below_what_they_cost() -> None:
    for tests in (1, 3, 10):
        worst = max(redrawn_epsilon(tests, x, 1e-6, up) for x in np.linspace(-5, 30, 100) for up in (False, True))
        assert worst <= redrawn_price(tests, 1e-6)


@given(st.floats(-5, 5), st.floats(0.01, 10), st.floats(0.01, 10))
def test_a_query_passes_as_often_as_two_laplace_noises_let_it(gap: float, threshold: float, query: float) -> None:
    """One integral over the threshold's noise, by its quantiles."""
    middles = (np.arange(20_000) + 0.5) / 20_000
    bar = stats.laplace(scale=threshold).ppf(middles)
    integral = stats.laplace(scale=query).sf(bar - gap).mean()
    assert chance_above(gap, threshold, query) == pytest.approx(integral, abs=1e-3)


def test_without_noise_a_test_says_what_is_so_and_equal_noises_are_no_exception() -> None:
    assert [chance_above(gap, 0.0, 0.0) for gap in (-1e-9, 0.0, 1e-9)] == [0.0, 1.0, 1.0]
    assert chance_above(1.0, 0.0, 2.0) == pytest.approx(1.0 - 0.5 * math.exp(-0.5))
    for gap in (-3.0, 0.0, 0.7):
        assert chance_above(gap, 1.0, 1.0) == pytest.approx(chance_above(gap, 1.0, 1.0 - 2e-4), abs=1e-3)


@pytest.mark.parametrize("redraw", [False, True])
def test_its_pass_rate_is_that_of_a_plain_simulation(redraw: bool) -> None:
    """The test of numpy alone: queries, thresholds and noise as arrays, the c-th yes the last."""
    cap, alpha, bar, noise, agents, tests = 4, 0.3, 0.8, 1.7, 4000, 10
    rng = np.random.default_rng(5)
    queries = rng.normal(0.5, 1.0, (agents, tests))
    thresholds = alpha + rng.laplace(0.0, bar, (agents, tests if redraw else 1))
    yes = queries + rng.laplace(0.0, noise, (agents, tests)) >= thresholds
    counted = np.cumsum(yes, axis=1) - yes < cap
    ours = [SparseVector(cap, alpha, bar, noise, redraw, Streams(9).generator("svt", agent)) for agent in range(agents)]
    asked = passed = 0
    for test, own in zip(ours, queries, strict=True):
        for query in own:
            asked += not test.exhausted
            passed += test.test(float(query))
    rate = yes[counted].mean()
    assert asked == pytest.approx(counted.sum(), rel=0.02)
    assert passed / asked == pytest.approx(rate, abs=0.015)
    if redraw:  # then every answer has the chance that `explain` tells
        told = [chance_above(float(q) - alpha, bar, noise) for q in queries[:, 0]]
        assert yes[:, 0].mean() == pytest.approx(np.mean(told), abs=0.03)


def test_the_facts_say_how_little_a_noisy_test_can_tell() -> None:
    scales = {"epsilon1": 1.0, "epsilon2": 1.0, "threshold_scale": 30.0, "query_scale": 40.0}
    kind = {"redraw": False, "shared_noise": False, "regularised": False}
    facts = SvtPlan(threshold=0.001, clip=2.0, cap=10, **scales, **kind).facts()
    assert answer_noise(30.0, 40.0) == pytest.approx(math.sqrt(2) * 50)
    assert str(facts["test: signal to noise"]).startswith("at most 0.0283")
    assert "0.00283 if 10 releases share it" in str(facts["test: signal to noise"])
    assert str(facts["test: passes"]).startswith("with probability 0.500 where nothing improves, 0.5")
    bare = SvtPlan(threshold=0.0, clip=2.0, cap=10, **dict.fromkeys(scales, 0.0), **kind).facts()
    assert "test: passes" not in bare
