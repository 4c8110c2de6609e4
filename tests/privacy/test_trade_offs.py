"""Gaussian trade-offs: exact where noise is Gaussian, and theorem G against what really happens on small problems."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logit

from simnet.errors import BudgetError
from simnet.privacy import curves, trade_offs
from simnet.privacy.curves import ORDERS
from simnet.privacy.trade_offs import TradeOff
from simnet.streams import Streams
from simnet.vectors import Vector
from tests.privacy import pld
from tests.privacy.plain_trade_offs import (
    gaussian_delta,
    least_delta,
    least_epsilon,
    mixture_delta,
    release_leak,
)
from tests.privacy.truth import Case, losses_by_quadrature, random_case

ratios, kappas = st.floats(1e-3, 1.0), st.floats(1e-5, 0.3)
counts, tests = st.integers(1, 100), st.sampled_from([0.0, 0.05, 0.4])
deltas = st.sampled_from([1e-3, 1e-5, 1e-8])

# Plain Gaussian noise: the account is exact.


@pytest.mark.parametrize(("sigma", "times"), [(0.7, 1), (5.0, 30), (40.0, 300)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_composed_gaussians_cost_what_privacy_loss_distributions_say(sigma: float, times: int, delta: float) -> None:
    exact = trade_offs.epsilon(trade_offs.gaussian(1.0, sigma).times(times), delta)
    theirs = pld.gaussian_epsilon(1.0, sigma, times, delta)
    # Theirs is discretised pessimistically, in steps of 1e-4 per mechanism.
    assert theirs - 2e-3 <= exact <= theirs + 1e-9


def test_different_gaussians_add_their_squares() -> None:
    mixed = trade_offs.gaussian(0.3, 1.0) + trade_offs.gaussian(1.0, 2.5)
    assert trade_offs.epsilon(mixed, 1e-5) == pytest.approx(trade_offs.epsilon(TradeOff(0.25), 1e-5), rel=1e-9)


def test_thirty_noisy_gradients_that_renyi_curves_price_at_one_cost_less() -> None:
    mean = math.sqrt(30.0) / 23.0
    by_curves = curves.epsilon(30 * curves.gaussian(ORDERS, 1.0, 23.0), 1e-4)
    exact = trade_offs.epsilon(trade_offs.gaussian(1.0, 23.0).times(30), 1e-4)
    assert mixture_delta(exact, mean, nodes=40_001) == pytest.approx(1e-4, rel=1e-6)
    assert 0.88 < exact / by_curves < 0.91


@given(st.floats(1e-4, 30.0), deltas, tests)
@settings(max_examples=100, deadline=None)
def test_epsilon_and_delta_are_inverse_and_from_above(mean: float, delta: float, pure: float) -> None:
    epsilon = trade_offs.epsilon(TradeOff(square=mean * mean, pure=pure), delta)
    found, _ = trade_offs.excess(epsilon, mean, pure)
    assert found <= delta * (1.0 + 1e-12)
    assert epsilon == 0.0 or found >= delta * (1.0 - 1e-6)
    if epsilon > 0.0 and pure == 0.0:
        assert trade_offs.gaussian_mean(epsilon, delta) == pytest.approx(mean, rel=1e-7)


def test_extreme_noise_is_priced_without_overflow() -> None:
    assert trade_offs.epsilon(TradeOff(square=1e10), 1e-6) == pytest.approx(5e9, rel=1e-3)
    assert trade_offs.epsilon(TradeOff(), 1e-6) == 0.0
    assert trade_offs.epsilon(trade_offs.gaussian(1.0, 0.0), 1e-6) == math.inf
    assert trade_offs.gaussian(0.0, 0.0) == TradeOff()
    assert trade_offs.epsilon(TradeOff(pure=0.5), 1e-9) == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(BudgetError, match="strictly between 0 and 1"):
        trade_offs.epsilon(TradeOff(), 0.0)


# A test beside Gaussian noise.


@given(st.floats(0.05, 3.0), st.floats(0.0, 2.0), st.floats(0.0, 3.0))
@settings(max_examples=60, deadline=None)
def test_randomised_response_beside_gaussian_noise_costs_what_their_densities_say(
    mean: float, pure: float, epsilon: float
) -> None:
    ours, _ = trade_offs.excess(epsilon, mean, pure)
    assert ours == pytest.approx(mixture_delta(epsilon, mean, pure, 20_001), rel=1e-4, abs=1e-9)


def test_a_test_beside_gaussian_noise_agrees_with_privacy_loss_distributions() -> None:
    for pure, mean in ((0.1, 0.3), (0.8, 1.0)):
        ours = trade_offs.epsilon(TradeOff(square=mean * mean, pure=pure), 1e-4)
        theirs = pld.response_beside_gaussian(pure, mean, 1e-4)
        assert theirs - 1e-3 <= ours <= theirs + 1e-9


# Theorem G, step by step.


def test_lemma_a_log_ratio_that_is_lipschitz_in_gaussian_noise_is_a_gaussian_trade_off() -> None:
    """Random Lipschitz log-ratios, normalised, in one dimension: no test beats N(0, 1) against N(l, 1)."""
    rng = Streams(1).generator("lemma")
    x = np.linspace(-10.0, 10.0, 4001)
    weights = stats.norm.pdf(x) * (x[1] - x[0])
    for _ in range(300):
        steepest = 10.0 ** rng.uniform(-1.0, 0.4)
        slopes = np.repeat(rng.choice([-1.0, 1.0, rng.uniform(-1.0, 1.0)], 100), 40) * steepest
        loss = np.concatenate([[0.0], np.cumsum(slopes * np.diff(x))])
        loss += math.log(float(weights @ np.exp(-loss)))
        for epsilon in (0.0, 0.5 * steepest, 2.0 * steepest):
            for found in hockey_sticks(loss, weights, epsilon):
                assert found <= gaussian_delta(epsilon, steepest) + 1e-9


def test_step_4_a_bounded_log_ratio_is_a_gaussian_trade_off() -> None:
    """Two points are the worst pair; odds that differ by a factor e^w are at most √(π/8) w apart in Φ⁻¹."""
    p = np.concatenate([np.geomspace(1e-9, 0.5, 2000), 1.0 - np.geomspace(1e-9, 0.5, 2000)])
    for width in (0.01, 0.3, 2.0, 6.0):
        q = 1.0 / (1.0 + np.exp(-(logit(p) + width)))
        inside = q < 1.0 - 1e-12
        apart = stats.norm.ppf(q[inside]) - stats.norm.ppf(p[inside])
        assert apart.max() <= math.sqrt(math.pi / 8) * width * (1.0 + 1e-9)


def a_map(rng: np.random.Generator, trial: int, ratio: float, kappa: float) -> tuple[Vector, Vector]:
    """Any n with |n| <= d and slope in [−κ/(1+κ), κ], whether or not a loss makes it: knots and values."""
    reach = 11.0 + 2.0 * ratio
    knots = np.linspace(-reach, reach, 401)
    down = -kappa / (1.0 + kappa)
    if trial % 3 == 0:
        values = (kappa if rng.random() < 0.6 else down) * (knots - rng.uniform(-4.0, 4.0))
    else:
        zigzag = np.repeat(rng.choice([down, kappa], 40), 10)
        slopes = rng.uniform(down, kappa, 400) if trial % 3 == 1 else zigzag
        values = np.concatenate([[0.0], np.cumsum(slopes * np.diff(knots))])
        values += rng.uniform(-ratio, ratio) - values[200]
    return knots, np.clip(values, -ratio, ratio)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def hockey_sticks(loss: Vector, weights: Vector, epsilon: float) -> tuple[float, float]:
    """δ in both directions: of P against Q, and of Q against P, given log dP/dQ at points of P."""
    over = (weights * np.maximum(0.0, -np.expm1(epsilon - loss))).sum()
    under = (weights * np.maximum(0.0, np.exp(-loss) - math.exp(epsilon))).sum()
    return float(over), float(under)


def integrated(case: Case, step: float) -> tuple[Vector, Vector]:
    """log dP/dQ of a problem at points of P, and their probabilities, on a grid that resolves its kinks."""
    step = min(step, 0.15 * case.ratio / case.kappa)
    loss, log_weight = losses_by_quadrature(case, 9.0 + 2.0 * case.ratio, step)
    return loss, np.exp(log_weight)


def test_no_admissible_map_of_the_noise_beats_theorem_g() -> None:
    rng = Streams(2).generator("maps")
    closest = 0.0
    for trial in range(900):
        kappa, ratio = 10.0 ** rng.uniform(-2.5, 0.7), 10.0 ** rng.uniform(-2.0, 0.5)
        knots, values = a_map(rng, trial, ratio, kappa)
        half = 0.5 * np.diff(knots)[:, None]
        slopes = (np.diff(values) / np.diff(knots))[:, None]
        g = 0.5 * (knots[:-1] + knots[1:])[:, None] + half * NODES
        n = values[:-1, None] + slopes * (g - knots[:-1, None])
        loss, weights = g * n + 0.5 * n * n - np.log1p(slopes), half * WEIGHTS * stats.norm.pdf(g)
        assert (weights * np.exp(-loss)).sum() == pytest.approx(1.0, abs=1e-6)
        # Step 3: what is left out, under Q and under the measure that replaces it.
        radius = ratio + rng.uniform(0.2, 4.0)
        outside = np.abs(g) > radius
        assert (weights * np.exp(-loss))[outside].sum() <= release_leak(ratio, kappa, radius)
        for epsilon in (0.0, ratio, 3.0 * ratio):
            bound = least_delta(epsilon, [(ratio, kappa)])
            for found in hockey_sticks(loss, weights, epsilon):
                assert found <= bound + 1e-9, (ratio, kappa, epsilon)
                closest = max(closest, found / bound)
    assert closest > 0.9


@pytest.mark.parametrize(
    ("dimension", "cases", "log_kappa", "step"), [(1, 800, (-3.0, 0.5), 0.05), (2, 40, (-2.0, 0.3), 0.2)]
)
def test_theorem_g_is_never_below_the_exact_loss_of_random_problems(
    dimension: int, cases: int, log_kappa: tuple[float, float], step: float
) -> None:
    rng = Streams(3).generator("cases", dimension)
    closest, tried = 0.0, 0
    while tried < cases:
        case = random_case(rng, dimension, log_kappa=log_kappa)
        if dimension == 2 and case.ratio < 0.5 * case.kappa:
            continue  # narrower kinks would need finer grids than a test can afford
        tried += 1
        loss, weights = integrated(case, step)
        for epsilon in (0.0, case.ratio, 3.0 * case.ratio):
            bound = least_delta(epsilon, [(case.ratio, case.kappa)])
            for found in hockey_sticks(loss, weights, epsilon):
                assert found <= bound + 1e-7, (case, epsilon)
                closest = max(closest, found / bound)
    assert closest > 0.5


def test_two_releases_after_each_other_stay_below_their_composition() -> None:
    """The second problem depends on what the first released: its linear term is a function of that."""
    rng = Streams(4).generator("cases")

    for _ in range(40):
        first, second = (random_case(rng, 1, log_kappa=(-2.0, -0.5)) for _ in range(2))
        if min(first.ratio / first.kappa, second.ratio / second.kappa) < 0.3:
            continue
        loss, weights = integrated(first, 0.2)
        answers = [integrated(second.pulled_by(pull), 0.2) for pull in (-1.0, 0.0, 1.0)]
        # The neighbour's answer to the first release, any function of it.
        later = [answers[k % 3] for k in range(len(loss))]
        both = np.concatenate([one + more for one, (more, _) in zip(loss, later, strict=True)])
        joint = np.concatenate([weight * more for weight, (_, more) in zip(weights, later, strict=True)])
        scale = math.hypot(first.ratio, second.ratio)
        for epsilon in (0.0, scale, 3.0 * scale):
            bound = least_delta(epsilon, [(c.ratio, c.kappa) for c in (first, second)])
            assert max(hockey_sticks(both, joint, epsilon)) <= bound + 1e-6


# The account by theorem G, and calibration by it.


@given(st.floats(1e-3, 0.2), st.floats(1e-5, 0.02), counts, tests, deltas)
@settings(max_examples=60, deadline=None)
def test_an_account_is_the_theorem_written_plainly(
    ratio: float, kappa: float, releases: int, pure: float, delta: float
) -> None:
    spent = trade_offs.objective(ratio, kappa).times(releases) + TradeOff(square=0.01 * ratio**2, pure=pure)
    plain = least_epsilon(ratio, kappa, releases, 0.01 * ratio**2, pure, delta)
    # A few shares of δ instead of hundreds of radii: never better, and hardly worse.
    assert plain - 1e-6 * (1.0 + plain) <= trade_offs.epsilon(spent, delta) <= 1.002 * plain + 1e-4


@given(ratios, kappas, counts, tests, deltas)
@settings(max_examples=100, deadline=None)
def test_more_of_anything_is_never_cheaper(ratio: float, kappa: float, count: int, pure: float, delta: float) -> None:
    def price(r: float, k: float, n: int, p: float, d: float) -> float:
        spent = trade_offs.objective(r, k).times(n) + trade_offs.gaussian(0.1 * r, 1.0).times(n) + TradeOff(pure=p)
        return trade_offs.epsilon(spent, d)

    here = price(ratio, kappa, count, pure, delta)
    slack = 1e-8 * (1.0 + here)
    assert price(ratio, kappa, count + 1, pure, delta) >= here - slack
    assert price(1.1 * ratio, kappa, count, pure, delta) >= here - slack
    assert price(ratio, 1.1 * kappa, count, pure, delta) >= here - slack
    assert price(ratio, kappa, count, pure + 0.1, delta) >= here - slack
    assert price(ratio, kappa, count, pure, 0.5 * delta) >= here - slack
    # Without curvature it would be plain Gaussian noise, which is attained.
    plain = trade_offs.gaussian(ratio, 1.0) + trade_offs.gaussian(0.1 * ratio, 1.0)
    assert here >= trade_offs.epsilon(plain.times(count) + TradeOff(pure=pure), delta) - slack


@given(st.floats(0.05, 8.0), kappas, counts, tests, deltas)
@settings(max_examples=100, deadline=None)
def test_the_largest_ratio_meets_its_target_and_a_larger_one_does_not(
    epsilon: float, kappa: float, count: int, pure: float, delta: float
) -> None:
    ratio = trade_offs.largest_ratio(kappa, count, 0.01 * count, (epsilon, delta, pure))

    def price(d: float) -> float:
        spent = trade_offs.objective(d, kappa).times(count) + TradeOff(square=0.01 * count * d * d, pure=pure)
        return trade_offs.epsilon(spent, delta)

    if ratio > 0.0:
        assert epsilon * (1.0 - 1e-4) - 1e-6 <= price(ratio) <= epsilon * (1.0 + 1e-8)
    else:
        assert price(0.0) >= epsilon * (1.0 - 1e-8)
