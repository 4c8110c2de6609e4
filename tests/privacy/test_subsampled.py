"""The curve of Gaussian noise on a Poisson sample, against integrals, samples of data and dp-accounting."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import logsumexp

from simnet.errors import BudgetError
from simnet.privacy import curves
from simnet.privacy.curves import ORDERS
from simnet.privacy.ledger import Charge, account
from simnet.privacy.subsampled import subsampled_gaussian
from simnet.privacy.trade_offs import gaussian_mean
from tests.privacy import pld

DELTA = 1e-5


def charge(rate: float, sensitivity: float, sigma: float) -> Charge:
    numbers = {"rate": rate, "sensitivity": sensitivity, "sigma": sigma}
    return Charge.of("subsampled-gaussian", numbers, bound="least")


def log_mixture(y: np.ndarray, rate: float, mean: np.ndarray | float) -> np.ndarray:
    """log of (1−q)N(0, I) + qN(mean, I) at the points of y, up to the constant of a Gaussian density."""
    points, centre = np.atleast_2d(y), np.atleast_1d(mean)
    far = -0.5 * ((points - centre) ** 2).sum(axis=1)
    return logsumexp([math.log1p(-rate) - 0.5 * (points**2).sum(axis=1), math.log(rate) + far], axis=0)


def divergence(a: float, rate: float, one: np.ndarray, other: np.ndarray, step: float = 0.02) -> float:
    """D_a of the two mixtures in one or two dimensions, by adding up densities."""
    ratio = max(np.linalg.norm(one), np.linalg.norm(other))
    reach = 9.0 + a * ratio
    axis = np.arange(-reach, reach, step)
    points = np.stack(np.meshgrid(*[axis] * len(one), indexing="ij"), axis=-1).reshape(-1, len(one))
    up, down = log_mixture(points, rate, one), log_mixture(points, rate, other)
    constant = len(one) * math.log(step / math.sqrt(2 * math.pi))
    return float(logsumexp(a * up + (1 - a) * down) + constant) / (a - 1)


@settings(max_examples=40, deadline=None)
@given(
    rate=st.floats(1e-3, 0.999),
    ratio=st.floats(0.05, 3.0),
    a=st.floats(1.05, 12.0),
)
def test_the_curve_is_the_divergence_of_the_two_mixtures_and_never_below_it(rate, ratio, a):
    ours = float(subsampled_gaussian(np.array([a]), rate, ratio)[0])
    if (a - 1.0) * ratio**2 > 29.0:
        return
    truth = divergence(a, rate, np.array([ratio]), np.array([-ratio]))
    assert ours >= truth * (1.0 - 1e-9) - 1e-13
    assert ours <= truth * (1.0 + 1e-6) + 2e-12 / (a - 1.0)


def test_an_adaptive_integrator_agrees():
    for rate, ratio, a in ((0.01, 1.0, 4.0), (0.3, 0.4, 30.0), (0.05, 2.5, 1.7)):

        def density(y: float, rate: float = rate, ratio: float = ratio, a: float = a) -> float:
            up = 1 - rate + rate * math.exp(ratio * y - ratio**2 / 2)
            down = 1 - rate + rate * math.exp(-ratio * y - ratio**2 / 2)
            return math.exp(-y * y / 2 + a * math.log(up) + (1 - a) * math.log(down)) / math.sqrt(2 * math.pi)

        found, _ = integrate.quad(density, -15.0, a * ratio + 15.0, limit=500, points=[0.0, a * ratio])
        assert float(subsampled_gaussian(np.array([a]), rate, ratio)[0]) == pytest.approx(
            math.log(found) / (a - 1), rel=1e-8
        )


def test_no_other_pair_of_rows_is_told_apart_better():
    """Any two vectors of norm at most c, in the plane, by brute force: the opposite ones are the worst."""
    rng = np.random.default_rng(7)
    for _ in range(12):
        rate, ratio, a = rng.uniform(0.05, 0.9), rng.uniform(0.2, 1.2), rng.uniform(1.2, 5.0)
        bound = float(subsampled_gaussian(np.array([a]), rate, ratio)[0])
        for _ in range(3):
            one, other = (v / np.linalg.norm(v) * ratio * rng.uniform(0.5, 1.0) for v in rng.normal(size=(2, 2)))
            assert divergence(a, rate, one, other, step=0.08) <= bound * (1.0 + 1e-9)


def test_the_other_rows_do_not_matter():
    """Three more rows, sampled as well: their sum is a public shift in every world in which they are the same."""
    rng = np.random.default_rng(3)
    rate, ratio, a, step = 0.4, 0.8, 3.0, 0.01
    others = rng.uniform(-ratio, ratio, 3)
    y = np.arange(-14.0, 14.0, step)

    def world(row: float) -> np.ndarray:
        terms = []
        for taken in np.ndindex(2, 2, 2, 2):
            chosen = np.array(taken)
            weight = np.where(chosen, rate, 1 - rate).prod()
            terms.append(math.log(weight) - 0.5 * (y - chosen @ np.array([*others, row])) ** 2)
        return logsumexp(terms, axis=0)

    up, down = world(ratio), world(-ratio)
    found = float(logsumexp(a * up + (1 - a) * down) + math.log(step / math.sqrt(2 * math.pi))) / (a - 1)
    assert 0.0 < found < float(subsampled_gaussian(np.array([a]), rate, ratio)[0])


def test_a_sample_of_everything_is_plain_gaussian_noise_on_a_vector_that_moves_by_twice_the_bound():
    assert subsampled_gaussian(ORDERS, 1.0, 0.3) == pytest.approx(curves.gaussian(ORDERS, 2 * 0.3, 1.0))
    low = ORDERS[ORDERS < 8.0]
    assert subsampled_gaussian(low, 1.0 - 1e-9, 0.3) == pytest.approx(curves.gaussian(low, 0.6, 1.0), rel=1e-6)
    spent, plain = account([charge(1.0, 0.3, 1.0)] * 9, DELTA), pld.gaussian_epsilon(0.6, 1.0, 9, DELTA)
    assert spent.proven_epsilon == pytest.approx(plain, abs=1e-3)
    assert spent.basis.endswith("exact Gaussian composition")


def test_a_sample_is_of_something_and_a_sum_without_noise_costs_everything():
    with pytest.raises(BudgetError, match="rate = 0, but what depends on no row is charged as recycled"):
        charge(0.0, 1.0, 1.0)
    assert account([charge(0.1, 1.0, 0.0)], DELTA).proven_epsilon is None
    with pytest.raises(BudgetError, match=r"rate = 1\.5, but a probability is at most 1"):
        charge(1.5, 1.0, 1.0)


@pytest.mark.parametrize(("rate", "ratio", "times"), [(0.01, 1.0, 1000), (0.1, 0.5, 100), (0.5, 0.2, 50)])
def test_the_account_is_above_that_of_privacy_loss_distributions_and_not_far(rate, ratio, times):
    ours = account([charge(rate, ratio, 1.0)] * times, DELTA).proven_epsilon
    exact = pld.sampled_epsilon(rate, ratio, times, DELTA)
    assert ours is not None
    assert exact <= ours <= 1.25 * exact


def test_replacing_a_row_costs_more_than_removing_one_and_less_than_twice_the_bound():
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    orders = [1.5, 2.0, 4.0, 16.0]
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

    accountant = rdp.RdpAccountant(orders)
    accountant.compose(PoissonSampledDpEvent(0.05, GaussianDpEvent(1.2)))
    removed, ours = np.asarray(accountant._rdp), subsampled_gaussian(np.array(orders), 0.05, 1 / 1.2)
    assert np.all(removed < ours)
    assert np.all(ours < curves.gaussian(np.array(orders), 2 / 1.2, 1.0))


def test_more_noise_or_a_smaller_sample_costs_less():
    rng = np.random.default_rng(1)
    for _ in range(10):
        rate, ratio = rng.uniform(0.01, 0.9), rng.uniform(0.05, 2.0)
        here = subsampled_gaussian(ORDERS[::40], rate, ratio)
        assert np.all(subsampled_gaussian(ORDERS[::40], rate, 0.9 * ratio) <= here + 1e-11)
        assert np.all(subsampled_gaussian(ORDERS[::40], 0.9 * rate, ratio) <= here + 1e-11)


def test_hundreds_of_rounds_are_priced_in_no_time():
    start = time.process_time()
    for sigma in np.linspace(0.5, 4.0, 20):
        account([charge(0.02, 1.0, float(sigma))] * 500, DELTA)
    assert time.process_time() - start < 5.0


def test_sampling_amplifies():
    """At rate 1 % the noise for ε = 1 over 100 rounds is a small part of that without sampling."""
    plain = 2.0 * math.sqrt(100) / gaussian_mean(1.0, DELTA)
    spent = account([charge(0.01, 1.0, 0.05 * plain)] * 100, DELTA).proven_epsilon
    assert spent is not None
    assert spent < 1.0
