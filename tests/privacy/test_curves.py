"""Curves and their conversion, against dp-accounting, against two other libraries, and against exact sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from simnet.errors import BudgetError
from simnet.privacy import curves
from simnet.privacy.curves import ORDERS
from simnet.privacy.mechanisms import MECHANISMS
from tests.privacy import pld


@pytest.mark.parametrize("sigma", [0.7, 5.0, 40.0])
@pytest.mark.parametrize("times", [1, 30])
@pytest.mark.parametrize("delta", [1e-3, 1e-4, 1e-7])
def test_gaussian_compositions_agree_with_dp_accounting(sigma: float, times: int, delta: float) -> None:
    from dp_accounting import GaussianDpEvent, rdp

    ours = curves.epsilon(times * curves.gaussian(ORDERS, 1.0, sigma), delta)
    same = rdp.RdpAccountant(ORDERS.tolist()).compose(GaussianDpEvent(sigma), times).get_epsilon(delta)
    default = rdp.RdpAccountant().compose(GaussianDpEvent(sigma), times).get_epsilon(delta)
    assert ours == pytest.approx(same, abs=1e-12)
    # Its own orders begin at 1.1 and have gaps above 63: outside that range it may be worse, but never better.
    assert ours <= default + 1e-3
    if 0.5 < default < 10.0:
        assert ours == pytest.approx(default, abs=1e-3)
    exact = pld.gaussian_epsilon(1.0, sigma, times, delta)
    assert exact <= ours + 1e-3


def test_the_grid_of_orders_is_fine_enough() -> None:
    """Against the best of a million orders."""
    orders = 1.0 + np.geomspace(0.011, 1e5, 1_000_000)
    for delta in (1e-3, 1e-6):
        for rho in (1e-8, 1e-4, 0.01, 1.0, 50.0):
            best = float(np.min(rho * orders + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)))
            if best > 0:
                assert curves.epsilon(rho * ORDERS, delta) == pytest.approx(best, rel=2e-4, abs=1e-9)


def test_the_conversion_uses_all_orders_as_dp_accounting_would() -> None:
    from dp_accounting.rdp import compute_epsilon

    rng = np.random.default_rng(1)
    for _ in range(50):
        curve = 10.0 ** rng.uniform(-10, 1) * ORDERS ** rng.uniform(0.2, 1.5)
        delta = 10.0 ** rng.uniform(-9, -1)
        theirs = compute_epsilon(ORDERS.tolist(), curve.tolist(), delta)[0]
        assert curves.epsilon(curve, delta) == pytest.approx(theirs, rel=1e-13, abs=1e-15)


def test_allowance_is_the_inverse_of_the_conversion() -> None:
    for epsilon in (0.01, 1.0, 20.0):
        allowed = curves.allowance(epsilon, 1e-5)
        for i in np.flatnonzero(allowed > 0.0)[::50]:
            curve = np.full_like(ORDERS, np.inf)
            curve[i] = allowed[i]
            assert curves.epsilon(curve, 1e-5) == pytest.approx(epsilon)


def test_a_curve_that_is_infinite_everywhere_means_no_privacy() -> None:
    assert curves.epsilon(curves.gaussian(ORDERS, 1.0, 0.0), 1e-4) == math.inf
    assert curves.epsilon(curves.gaussian(ORDERS, 0.0, 0.0), 1e-4) == 0.0
    with pytest.raises(BudgetError, match="strictly between 0 and 1"):
        curves.epsilon(ORDERS, 0.0)


@given(st.floats(1e-8, 40.0))
@settings(max_examples=100, deadline=None)
def test_the_pure_curve_is_that_of_randomised_response(epsilon: float) -> None:
    """Tight: the two-point divergence, computed with forty digits."""
    import mpmath

    with mpmath.workdps(40):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        for a in (1.011, 1.5, 2.0, 37.0, 5000.0):
            exact = mpmath.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (mpmath.mpf(a) - 1)
            ours = float(curves.pure(np.array([a]), epsilon)[0])
            assert ours == pytest.approx(float(exact), rel=1e-9)
            assert ours <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("times", [1, 10, 100])
def test_repeated_randomised_response_costs_no_more_than_its_curves_say(times: int) -> None:
    """δ(ε) of n responses is an exact binomial sum; the curve's ε must leave at most δ."""
    label, delta = 0.3, 1e-5
    epsilon = curves.epsilon(times * curves.pure(ORDERS, label), delta)
    k = np.arange(times + 1)
    p = 1 / (1 + math.exp(-label))
    one, other = stats.binom(times, p).pmf(k), stats.binom(times, 1 - p).pmf(k)
    assert np.maximum(one - math.exp(epsilon) * other, 0.0).sum() <= delta
    assert np.maximum(one - math.exp(0.8 * epsilon) * other, 0.0).sum() > delta or times == 1
    assert pld.randomised_response_epsilon(label, times, delta) <= epsilon + 1e-3 * times


@pytest.mark.parametrize(("rate", "kappa"), [(0.5, 0.0), (2.0, 0.4), (8.0, 2.0)])
def test_the_laplace_mechanism_and_objective_perturbation_by_gamma_noise_stay_below_the_pure_curve(
    rate: float, kappa: float
) -> None:
    """One dimension: n is Laplace, θ ↦ n is any map with slope ratio at most 1 + κ and shift at most Δ."""
    shift = 0.7
    numbers = {"rows": 1.0, "curvature": 1.0, "lipschitz": shift / 2, "smoothness": kappa, "weight": 1.0, "rate": rate}
    numbers |= {"noise_weight": 1.0, "tolerance": 0.0, "output_sigma": 1.0}
    n = np.linspace(-60 / rate - 5, 60 / rate + 5, 400_001)
    # v rises from −Δ to Δ with slope κ around 0, which is as steep as a row's curvature allows.
    v = np.clip(kappa * n, -shift, shift)
    slope = np.where(np.abs(kappa * n) < shift, kappa, 0.0)
    ratio = rate * (np.abs(n + v) - np.abs(n)) - np.log1p(slope)
    assert np.abs(ratio).max() <= rate * shift + math.log1p(kappa) + 1e-12
    for a in (1.5, 4.0, 16.0):
        density = 0.5 * rate * np.exp(-rate * np.abs(n) + (a - 1) * ratio)
        truth = math.log(integrate.trapezoid(density, n)) / (a - 1)
        assert truth <= MECHANISMS["linear-gamma"].curve(np.array([a]), numbers)[0] + 1e-9
    plain = rate * (np.abs(n + shift) - np.abs(n))
    for a in (1.5, 4.0):
        density = 0.5 * rate * np.exp(-rate * np.abs(n) + (a - 1) * plain)
        truth = math.log(integrate.trapezoid(density, n)) / (a - 1)
        assert truth <= MECHANISMS["primal-gamma"].curve(np.array([a]), numbers)[0] + 1e-6


def test_a_noisy_mean_gradient_costs_what_its_two_densities_say() -> None:
    """Four slopes in one dimension, one of them replaced by its opposite: numerical integration, and a PLD."""
    slopes, sigma = np.array([1.0, -0.3, 0.8, 0.1]), 0.9
    price, numbers = MECHANISMS["noisy-gradient"].curve, {"rows": 4.0, "gradient_bound": 1.0, "sigma": sigma}
    other = slopes.copy()
    other[0] = -1.0
    x = np.linspace(-15.0, 15.0, 3001)
    for a in (1.5, 4.0, 9.0):
        log = a * stats.norm.logpdf(x, slopes.mean(), sigma) + (1 - a) * stats.norm.logpdf(x, other.mean(), sigma)
        truth = math.log(integrate.trapezoid(np.exp(log), x)) / (a - 1)
        assert price(np.array([a]), numbers)[0] == pytest.approx(truth, rel=1e-6)
    exact = pld.gaussian_epsilon(2.0 / 4, sigma, 10, 1e-5)
    ours = curves.epsilon(10 * price(ORDERS, numbers), 1e-5)
    assert exact <= ours <= 1.1 * exact


def test_a_noisy_minimiser_costs_what_its_two_densities_say() -> None:
    """The quadratic (μ/2)θ² ± (L/m)θ has its minimisers 2L/(mμ) apart, as far as any."""
    mu, m, sigma = 0.7, 5.0, 0.4
    place = 1.0 / (m * mu)
    numbers = {"rows": m, "curvature": mu, "lipschitz": 1.0, "smoothness": 0.0, "weight": 1.0}
    numbers |= {"sigma": sigma, "tolerance": 0.0}
    x = np.linspace(-15.0, 15.0, 3001)
    for a in (1.5, 4.0, 9.0):
        log = a * stats.norm.logpdf(x, place, sigma) + (1 - a) * stats.norm.logpdf(x, -place, sigma)
        truth = math.log(integrate.trapezoid(np.exp(log), x)) / (a - 1)
        assert MECHANISMS["primal-gaussian"].curve(np.array([a]), numbers)[0] == pytest.approx(truth, rel=1e-6)


def test_laplace_compositions_agree_with_privacy_loss_distributions() -> None:
    """The pure curve is for the worst ε-private mechanism, of which Laplace is a milder one."""
    for scale, times in ((5.0, 10), (20.0, 100)):
        exact = pld.laplace_epsilon(1.0, scale, times, 1e-4)
        ours = curves.epsilon(times * curves.pure(ORDERS, 1.0 / scale), 1e-4)
        assert exact <= ours <= 1.2 * exact


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_autodp_agrees() -> None:
    zoo = pytest.importorskip("autodp.mechanism_zoo", reason="autodp, a second accountant, is not installed")
    transformers = pytest.importorskip("autodp.transformer_zoo")
    for sigma, times in ((2.0, 3), (20.0, 30)):
        theirs = transformers.Composition()([zoo.GaussianMechanism(sigma)], [times]).get_approxDP(1e-4)
        assert curves.epsilon(times * curves.gaussian(ORDERS, 1.0, sigma), 1e-4) == pytest.approx(theirs, abs=1e-3)
    for epsilon in (0.05, 0.3, 2.0):
        for a in (2.0, 5.0, 30.0):
            # Its pure curve is Bun and Steinke's, at most as good as the tight one.
            assert curves.pure(np.array([a]), epsilon)[0] <= zoo.PureDP_Mechanism(epsilon).RenyiDP(a) + 1e-12


def test_prv_accountant_agrees() -> None:
    prv = pytest.importorskip("prv_accountant", reason="prv-accountant, a second accountant, is not installed")
    gaussian = prv.PRVAccountant(
        prvs=prv.PoissonSubsampledGaussianMechanism(noise_multiplier=20.0, sampling_probability=1.0),
        max_self_compositions=30,
        eps_error=1e-3,
        delta_error=1e-9,
    )
    low, middle, high = gaussian.compute_epsilon(delta=1e-4, num_self_compositions=30)
    assert low - 1e-3 <= pld.gaussian_epsilon(1.0, 20.0, 30, 1e-4) <= high + 1e-3
    ours = curves.epsilon(30 * curves.gaussian(ORDERS, 1.0, 20.0), 1e-4)
    assert middle <= ours <= 1.15 * middle
    laplace = prv.PRVAccountant(
        prvs=prv.LaplaceMechanism(mu=0.05), max_self_compositions=30, eps_error=1e-3, delta_error=1e-9
    )
    low, middle, _ = laplace.compute_epsilon(delta=1e-4, num_self_compositions=30)
    assert low <= curves.epsilon(30 * curves.pure(ORDERS, 0.05), 1e-4) <= 1.2 * middle


def test_the_order_at_which_the_bound_of_objective_perturbation_ends_has_no_bound() -> None:
    """4κ(a − 1) = 1 at a = 2: infinite there and above, without a division by zero; finite just below."""
    with np.errstate(all="raise"):
        found = curves.objective(np.array([1.9, 2.0, 2.1]), 0.5, 0.25)
    assert np.isfinite(found).tolist() == [True, False, False]
