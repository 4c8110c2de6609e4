"""Whatever noise a method has, in standard units it is a Gaussian vector."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, gamma, kstest, ncx2

from simnet.privacy.noise import gamma_type
from simnet.privacy.standard_noise import gamma_tails, standard_gamma, standard_gaussian


@pytest.mark.parametrize(("dimension", "spread"), [(1, 0.0), (1, 0.2), (3, 0.0), (3, 0.4), (8, 0.1)])
def test_gamma_type_noise_becomes_gaussian_also_if_other_noise_was_added(dimension, spread):
    rng = np.random.default_rng(dimension)
    drawn = [gamma_type(rng, 2.0, dimension) + spread / 2 * rng.standard_normal(dimension) for _ in range(3000)]
    z = np.array([standard_gamma(each, 2.0, spread / 2) for each in drawn])
    assert kstest(z.ravel(), "norm").pvalue > 1e-3
    assert kstest((z**2).sum(axis=1), chi2(dimension).cdf).pvalue > 1e-3


@pytest.mark.parametrize("x", [0.05, 0.8, 3.0, 12.0])
@pytest.mark.parametrize(("dimension", "spread"), [(1, 0.3), (2, 0.05), (4, 0.5)])
def test_the_probability_of_a_norm_is_the_plain_integral(x, dimension, spread):
    def inside(rho):
        return gamma(dimension).pdf(rho) * ncx2(dimension, (rho / spread) ** 2).cdf((x / spread) ** 2)

    edge = max(0.0, x - 9 * spread)
    plain = gamma(dimension).cdf(edge) + quad(inside, edge, x + 9 * spread, points=[x], limit=400)[0]
    lower, upper = gamma_tails(x, dimension, spread)
    assert lower == pytest.approx(plain, rel=1e-4, abs=1e-9)
    assert lower + upper == pytest.approx(1.0, abs=1e-9)


def test_noise_beside_other_noise_is_whitened_by_both():
    rng = np.random.default_rng(4)
    root = rng.standard_normal((3, 3))
    hessian = root @ root.T
    drawn = 0.5 * rng.standard_normal((20_000, 3)) + 0.3 * rng.standard_normal((20_000, 3)) @ hessian
    z = np.array([standard_gaussian(each, 0.5, 0.3 * hessian) for each in drawn])
    assert np.cov(z.T) == pytest.approx(np.eye(3), abs=0.05)
    assert standard_gaussian(np.array([1.0, -2.0]), 0.5) == pytest.approx([2.0, -4.0])


def test_no_noise_stays_none():
    assert np.array_equal(standard_gamma(np.zeros(3), 2.0), np.zeros(3))
