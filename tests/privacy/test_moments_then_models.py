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


def slopes(theta, X, cap):
    """l' of the logistic loss with capped slopes at every row, and l''."""
    p = 1.0 / (1.0 + np.exp(np.einsum("nmp,np->nm", X, theta)))
    return -np.minimum(p, cap), p * (1.0 - p) * (p < cap)


def gradient(theta, X, cap=1.0):
    return np.einsum("nm,nmp->np", slopes(theta, X, cap)[0], X) / X.shape[1]


def log_hessian(theta, X, mu, cap):
    H = np.einsum("nm,nmp,nmq->npq", slopes(theta, X, cap)[1], X, X) / X.shape[1] + mu * np.eye(2)
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


def model(X, z, b, mu, cap=1.0):
    """θ = argmin mean l + (μ/2)|θ − z|² + b·θ of every draw: a contraction, because l'' is at most μ/2."""
    theta = z - b / mu
    for _ in range(80):
        theta = z - (b + gradient(theta, X, cap)) / mu
    return theta


def model_loss(theta, b, X, Y, mu, sigma, cap=1.0):
    """The log-ratio of a model whose noise is b on the rows X; the linear term −μz is the same on both."""
    v = gradient(theta, X, cap) - gradient(theta, Y, cap)
    determinants = log_hessian(theta, X, mu, cap) - log_hessian(theta, Y, mu, cap)
    return (2 * (b * v).sum(axis=1) + square(v)) / (2 * sigma**2) + determinants


@pytest.mark.parametrize("seed", range(8))
def test_moments_and_a_model_of_the_rows_that_they_scale_leak_no_more_than_is_charged(seed):
    rng, rows, other = neighbours(seed)
    nu, mu, d, m = 0.4 + 0.1 * seed, 0.5, 0.8, len(rows)
    kappa, sigma = 0.25 / (m * mu), 2.0 / (m * d)
    X, Y, losses = told_moments(rng, rows, other, nu)
    b = sigma * rng.standard_normal((DRAWS, 2))
    losses += model_loss(model(X, np.zeros_like(b), b, mu), b, X, Y, mu, sigma)
    radii = d + DISTANCES
    mean = np.sqrt(nu**2 + release_mean(d, kappa, radii) ** 2)
    for epsilon in EPSILONS:
        found, error = leaked(losses, epsilon)
        charged = float(np.min(gaussian_delta(epsilon, mean) + release_leak(d, kappa, radii)))
        assert found <= charged + 4 * error


@pytest.mark.parametrize("reach", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("seed", range(6))
def test_models_each_near_a_point_that_the_one_before_leads_to_leak_no_more_than_is_charged(seed, reach):
    """z is whatever the neighbours make of a model: they keep it at 0, or push it out as far as they like.

    Kept at 0, two opposite rows both have the capped slope: a sensitivity of c/m in place of 2c/m would be caught.
    """
    rng, rows, other = neighbours(seed)
    nu, mu, cap, d, m, solves = 0.2, 20.0, 0.5, 0.3 + 0.1 * seed, len(rows), 3
    kappa, sigma = 0.25 / (m * mu), 2.0 * cap / (m * d)
    X, Y, losses = told_moments(rng, rows, other, nu)
    z = np.zeros((DRAWS, 2))
    for _ in range(solves):
        b = sigma * rng.standard_normal(z.shape)
        theta = model(X, z, b, mu, cap)
        losses += model_loss(theta, b, X, Y, mu, sigma, cap)
        z = reach * theta / np.linalg.norm(theta, axis=1, keepdims=True)
    radii = d + DISTANCES
    mean = np.sqrt(nu**2 + solves * release_mean(d, kappa, radii) ** 2)
    closest = 0.0
    for epsilon in EPSILONS:
        found, error = leaked(losses, epsilon)
        charged = float(np.min(gaussian_delta(epsilon, mean) + solves * release_leak(d, kappa, radii)))
        assert found <= charged + 4 * error
        closest = max(closest, found / charged)
    assert closest > 0.8 or reach > 0.0 or seed % 2 == 1, "or these neighbours would test little"


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
