"""Theorems 14 and 15 against what moments and models of neighbouring rows tell together, without simnet's code.

Moments of the rows are released, the same rows are scaled by them, and a model or gradients of the scaled rows are
released. The density of all that is known exactly for every draw, and so is its ratio on two neighbouring data sets.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.privacy.plain_trade_offs import gaussian_delta, release_leak, release_mean

R, DRAWS = 0.35, 12_000
DISTANCES = np.linspace(0.05, 9.0, 90)
EPSILONS = (0.1, 0.3, 0.7, 1.5, 3.0)


def moments(rows):
    u = rows**2
    return (u * np.minimum(1.0, R / np.linalg.norm(u, axis=1, keepdims=True))).mean(axis=0)


def square(vectors):
    return (vectors**2).sum(axis=-1)


def neighbours(seed: int):
    """Signed rows y·x of norm at most 1 in two dimensions, and the same with another first one."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(int(rng.integers(2, 5)), 2))
    rows *= rng.random((len(rows), 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
    other = rows.copy()
    rows[0], other[0] = [(1.0, 0.0), (0.0, -1.0)] if seed % 2 else [(0.6, 0.59), (-0.59, -0.6)]
    return rng, rows, other


def told_moments(rng, rows, other, nu):
    """Both data sets' rows as every draw of the moments scales them, and the log-ratio of the draw."""
    s = 2**0.5 * R / (len(rows) * nu)
    clean, opposite = moments(rows), moments(other)
    v = clean + s * rng.standard_normal((DRAWS, 2))
    S = np.maximum(v, 0.3 * s)[:, np.newaxis] ** -0.5
    scaled = [S * each / np.linalg.norm(S * each, axis=2, keepdims=True) for each in (rows, other)]
    return *scaled, (square(v - opposite) - square(v - clean)) / (2 * s**2)


def slopes(theta, X):
    """l' of the logistic loss at every row, and l''."""
    p = 1.0 / (1.0 + np.exp(np.einsum("nmp,np->nm", X, theta)))
    return -p, p * (1.0 - p)


def gradient(theta, X):
    return np.einsum("nm,nmp->np", slopes(theta, X)[0], X) / X.shape[1]


def log_hessian(theta, X, mu):
    H = np.einsum("nm,nmp,nmq->npq", slopes(theta, X)[1], X, X) / X.shape[1] + mu * np.eye(2)
    return np.linalg.slogdet(H)[1]


def leaked(losses, epsilon):
    """δ(ε) of the draws, and its standard error."""
    found = np.maximum(0.0, 1.0 - np.exp(epsilon - losses))
    return found.mean(), found.std() / len(found) ** 0.5


@pytest.mark.parametrize("seed", [1, 3, 5, 7])
def test_moments_of_rows_without_a_common_feature_leak_just_what_is_charged(seed):
    """A sensitivity of r/m in place of √2 r/m would be caught here."""
    rng, rows, other = neighbours(seed)
    *_, losses = told_moments(rng, rows, other, 0.4)
    for epsilon in EPSILONS[:3]:
        found, error = leaked(losses, epsilon)
        assert found == pytest.approx(float(gaussian_delta(epsilon, 0.4)), abs=4 * error)


@pytest.mark.parametrize("seed", range(8))
def test_moments_and_a_model_of_the_rows_that_they_scale_leak_no_more_than_is_charged(seed):
    rng, rows, other = neighbours(seed)
    nu, mu, d, m = 0.4 + 0.1 * seed, 0.5, 0.8, len(rows)
    kappa, sigma = 0.25 / (m * mu), 2.0 / (m * d)
    X, Y, losses = told_moments(rng, rows, other, nu)
    b = sigma * rng.standard_normal((DRAWS, 2))
    theta = -b / mu
    for _ in range(80):  # a contraction: l'' is at most μ/2
        theta = -(b + gradient(theta, X)) / mu
    v = gradient(theta, X) - gradient(theta, Y)
    losses += (2 * (b * v).sum(axis=1) + square(v)) / (2 * sigma**2)
    losses += log_hessian(theta, X, mu) - log_hessian(theta, Y, mu)
    radii = d + DISTANCES
    mean = np.sqrt(nu**2 + release_mean(d, kappa, radii) ** 2)
    for epsilon in EPSILONS:
        found, error = leaked(losses, epsilon)
        charged = float(np.min(gaussian_delta(epsilon, mean) + release_leak(d, kappa, radii)))
        assert found <= charged + 4 * error


@pytest.mark.parametrize("seed", range(8))
def test_moments_and_gradients_at_points_that_they_lead_to_leak_no_more_than_is_charged(seed):
    rng, rows, other = neighbours(seed)
    nu, d, m = 0.4, 0.5, len(rows)
    sigma = 2.0 / (m * d)
    X, Y, losses = told_moments(rng, rows, other, nu)
    theta = np.zeros((DRAWS, 2))
    for _ in range(3):
        clean = gradient(theta, X)
        g = clean + sigma * rng.standard_normal(theta.shape)
        losses += (square(g - gradient(theta, Y)) - square(g - clean)) / (2 * sigma**2)
        theta = theta - 2.0 * g
    mean = np.sqrt(nu**2 + 3 * d**2)
    closest = 0.0
    for epsilon in EPSILONS:
        found, error = leaked(losses, epsilon)
        charged = float(gaussian_delta(epsilon, mean))
        assert found <= charged + 4 * error
        closest = max(closest, found / charged)
    assert closest > 0.01, "or these neighbours would test nothing"
