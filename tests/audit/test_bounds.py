"""The audit's statistics against mechanisms whose ε is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta, norm

from simnet.audit.bounds import (
    against_curve,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_shape,
    lower_bound,
    region,
    roc,
)
from simnet.errors import BudgetError


def gaussians(rng, mu, runs):
    """Log-likelihood ratios of the Gaussian mechanism, runs on either data set."""
    score = lambda x: mu * x - mu * mu / 2  # noqa: E731
    return score(rng.normal(mu, 1.0, runs)), score(rng.normal(0.0, 1.0, runs))


@given(mu=st.floats(0.05, 4.0), epsilon=st.floats(0.0, 6.0))
@settings(max_examples=20, deadline=None)
def test_the_gaussian_trade_off_is_the_integral_of_the_positive_part(mu, epsilon):
    excess = lambda x: max(norm.pdf(x, mu) - math.exp(epsilon) * norm.pdf(x), 0.0)  # noqa: E731
    kink = epsilon / mu + mu / 2
    found = quad(excess, kink, kink + 40.0, limit=200)[0]
    assert gaussian_delta(mu, epsilon) == pytest.approx(found, abs=1e-8)


@given(mu=st.floats(0.05, 5.0), delta=st.sampled_from([1e-6, 1e-4, 1e-2, 0.1]))
@settings(max_examples=50, deadline=None)
def test_epsilon_and_delta_of_a_gaussian_are_inverse(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    if epsilon > 0.0:
        assert gaussian_delta(mu, epsilon) == pytest.approx(delta, rel=1e-6)
    else:
        assert gaussian_delta(mu, 0.0) <= delta


@pytest.mark.parametrize(("mu", "delta"), [(0.5, 1e-2), (1.0, 1e-4), (2.0, 1e-2)])
def test_the_bound_exceeds_the_true_epsilon_in_at_most_a_twentieth_of_all_audits(mu, delta):
    rng = np.random.default_rng(20)
    truth = gaussian_epsilon(mu, delta)
    wrong = sum(lower_bound(*gaussians(rng, mu, 200), delta).epsilon > truth for _ in range(300))
    # 5 % of 300 is 15; a binomial count stays below 26 with probability 0.997.
    assert wrong <= 25


def test_the_bound_holds_for_randomised_response_whose_scores_have_two_values():
    rng = np.random.default_rng(3)
    keep = math.exp(1.0) / (1.0 + math.exp(1.0))
    wrong = 0
    for _ in range(300):
        first, second = (rng.random((2, 500)) < keep).astype(float)
        wrong += lower_bound(first, 1.0 - second, 0.0).epsilon > 1.0
    assert wrong <= 25


def test_a_choice_among_many_useless_scores_proves_nothing():
    rng = np.random.default_rng(4)
    bounds = [lower_bound(rng.normal(size=(100, 8)), rng.normal(size=(100, 8)), 0.0).epsilon for _ in range(100)]
    assert sum(bound > 0.0 for bound in bounds) <= 11


def test_many_runs_bring_the_bound_near_the_truth():
    rng = np.random.default_rng(5)
    truth = gaussian_epsilon(1.0, 0.05)
    found = lower_bound(*gaussians(rng, 1.0, 200_000), 0.05).epsilon
    assert 0.85 * truth < found < truth


def test_the_bound_is_clopper_pearson_on_the_runs_that_did_not_choose():
    first = np.r_[np.ones(90), np.zeros(10)].repeat(2)
    second = np.r_[np.ones(5), np.zeros(95)].repeat(2)
    bound = lower_bound(first, second, 0.01)
    assert (bound.likely, bound.unlikely, bound.runs) in [(90, 5, (100, 100)), (95, 10, (100, 100))]
    p = beta.ppf(0.025, bound.likely, 101 - bound.likely)
    q = beta.ppf(0.975, bound.unlikely + 1, 100 - bound.unlikely)
    assert bound.epsilon == pytest.approx(math.log((p - 0.01) / q))


def test_perfectly_told_apart_runs_are_bounded_by_their_number_alone():
    bound = lower_bound(np.full(2000, np.inf), np.full(2000, -np.inf), 1e-4)
    p, q = 0.025 ** (1 / 1000), 1.0 - 0.025 ** (1 / 1000)
    assert bound.epsilon == pytest.approx(math.log((p - 1e-4) / q))


@given(swap=st.booleans(), negate=st.booleans(), hits=st.tuples(st.integers(0, 60), st.integers(0, 60)))
@settings(max_examples=30, deadline=None)
def test_the_names_of_the_data_sets_and_the_sign_of_the_score_do_not_matter(swap, negate, hits):
    # Every run twice, so that the half that chooses and the half that judges agree.
    first, second = (np.r_[np.ones(k), np.zeros(60 - k)].repeat(2) for k in hits)
    expected = lower_bound(first, second, 1e-3).epsilon
    if negate:
        first, second = -first, -second
    if swap:
        first, second = second, first
    assert lower_bound(first, second, 1e-3).epsilon == pytest.approx(expected)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_the_gaussian_shape_covers_the_truth_as_often_as_it_says(mu):
    rng = np.random.default_rng(6)
    truth = gaussian_epsilon(mu, 1e-4)
    found = [gaussian_shape(*gaussians(rng, mu, 300), 1e-4) for _ in range(400)]
    assert sum(value > truth for value in found) <= 34
    assert np.median(found) > 0.5 * truth


def test_the_gaussian_shape_has_nothing_to_say_about_infinite_or_constant_scores():
    assert gaussian_shape(np.full(9, np.inf), np.zeros(9), 1e-4) is None
    assert gaussian_shape(np.ones(9), np.zeros(9), 1e-4) is None


def test_the_gaussian_shape_has_nothing_to_say_about_scores_of_another_shape():
    rng = np.random.default_rng(8)
    coins = [np.where(rng.random(1000) < p, 1.0, -1.0) for p in (0.73, 0.27)]
    assert gaussian_shape(*coins, 1e-4) is None
    # The log-likelihood ratio of Laplace noise: most of it at either end.
    laplace = [np.clip(rng.laplace(place, 0.5, 1000), -1.0, 1.0) for place in (1.0, -1.0)]
    assert gaussian_shape(*laplace, 1e-4) is None


def test_the_roc_of_the_gaussian_mechanism_stays_inside_its_region():
    rng = np.random.default_rng(7)
    false, true = roc(*gaussians(rng, 1.0, 50_000))
    assert (false[0], true[0]) == (0.0, 0.0)
    assert (false[-1], true[-1]) == (1.0, 1.0)
    assert np.all(np.diff(false) >= 0.0)
    assert np.allclose(true, norm.cdf(norm.ppf(np.clip(false, 1e-9, 1 - 1e-9)) + 1.0), atol=0.02)
    assert np.all(true <= region(false, gaussian_epsilon(1.0, 0.01), 0.01) + 0.02)


@given(epsilon=st.floats(0.0, 20.0), delta=st.floats(0.0, 0.5))
def test_the_region_holds_every_point_of_the_diagonal_and_has_two_slopes(epsilon, delta):
    false = np.linspace(0.0, 1.0, 101)
    highest = region(false, epsilon, delta)
    assert np.all(highest >= false - 1e-12)
    assert highest[0] == pytest.approx(delta)
    assert highest[-1] == 1.0


def test_too_few_runs_or_scores_that_are_no_numbers_are_refused():
    with pytest.raises(BudgetError, match="at least four runs"):
        lower_bound(np.zeros(3), np.zeros(10), 0.0)
    with pytest.raises(BudgetError, match="not a number"):
        lower_bound(np.full(10, np.nan), np.zeros(10), 0.0)
    with pytest.raises(BudgetError, match="confidence"):
        lower_bound(np.zeros(10), np.zeros(10), 0.0, confidence=1.0)


def test_a_bound_over_a_curve_of_one_point_is_the_bound_at_that_point():
    rng = np.random.default_rng(8)
    first, second = gaussians(rng, 1.5, 400)
    at = lower_bound(first, second, 1e-2)
    over = against_curve(first, second, [(1e-2, 0.7)])
    assert over.epsilon == at.epsilon
    assert over.excess == pytest.approx(at.epsilon - 0.7)


def test_a_curve_is_broken_where_one_of_its_points_alone_would_not_be():
    # Noise of half its size: at δ = 1e-4 the bound from 1,000 runs stays below what is promised, elsewhere it does not.
    rng = np.random.default_rng(9)
    mu, runs = 0.4, 2000
    first, second = gaussians(rng, 2 * mu, runs)
    curve = [(delta, gaussian_epsilon(mu, delta)) for delta in np.geomspace(1e-4, 0.3, 12)]
    assert against_curve(first, second, curve[:1]).excess < 0.0
    assert against_curve(first, second, curve).excess > 0.0


def test_an_honest_gaussian_breaks_its_own_curve_in_at_most_a_twentieth_of_all_audits():
    rng = np.random.default_rng(10)
    curve = [(delta, gaussian_epsilon(0.8, delta)) for delta in np.geomspace(1e-4, 0.3, 12)]
    broken = sum(against_curve(*gaussians(rng, 0.8, 300), curve).excess > 0.0 for _ in range(200))
    assert broken <= 18
