"""Noise in standard units: what should be N(0, I) if the noise is what was planned.

An auditor that knows the data recovers the noise of a release. Whatever the method, it then looks at one thing only:
is this a standard Gaussian vector, independent of all others?

Gaussian noise n ~ N(0, σ²I) in an objective is recovered together with the noise on the approximate minimiser, which
the Hessian H turns into noise of covariance σ2²H²: what is recovered has covariance σ²I + σ2²H². Noise of density
exp(−α|n|) has a uniform direction, and its norm is mapped to that of a Gaussian vector of the same probability.
"""

from __future__ import annotations

import math

import numpy as np
import scipy  # imports its parts when they are first used

from simnet.vectors import Square, Vector

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_REACH = 9.0
"""Deviations beyond which a Gaussian is taken to have ended."""
_NARROW = 0.02
"""A spread, in units of 1/α, that changes no probability by more than 2e-4."""
_FAR = 30.0
"""Deviations from which on a noncentral χ is a Gaussian."""


def standard_gaussian(noise: Vector, sigma: float, blur: Square | None = None) -> Vector:
    """(σ²I + BB)^(−1/2) n with a symmetric B = `blur`, the covariance's part from other noise."""
    if blur is None:
        return noise / sigma
    values, vectors = np.linalg.eigh(blur)
    whitened: Vector = vectors @ ((vectors.T @ noise) / np.sqrt(sigma**2 + values**2))
    return whitened


def standard_laplace(noise: Vector, scale: float) -> Vector:
    """Independent Laplace numbers as Gaussian ones of the same probability."""
    return np.asarray(np.sign(noise) * -scipy.special.ndtri(0.5 * np.exp(-np.abs(noise) / scale)))


def standard_gamma(noise: Vector, rate: float, spread: float = 0.0) -> Vector:
    """Noise of density exp(−rate |n|), to which N(0, spread² I) was added, as a Gaussian vector."""
    norm = float(np.linalg.norm(noise))
    if norm == 0.0:
        return np.zeros_like(noise)
    lower, upper = gamma_tails(rate * norm, len(noise), rate * spread)
    half = len(noise) / 2
    square = 2.0 * (
        scipy.special.gammaincinv(half, lower) if lower <= upper else scipy.special.gammainccinv(half, upper)
    )
    return noise * (math.sqrt(square) / norm)


def gamma_tails(x: float, dimension: int, spread: float = 0.0) -> tuple[float, float]:
    """P(|n + g| <= x) and its complement, n of density exp(−|n|) and g ~ N(0, spread² I).

    Given |n| = ρ, |n + g|/spread is a noncentral χ. The integral over ρ is taken where that is neither 0 nor 1.
    """
    if spread < _NARROW:
        return float(scipy.special.gammainc(dimension, x)), float(scipy.special.gammaincc(dimension, x))
    low, high = max(0.0, x - _REACH * spread), x + _REACH * spread
    rho = low + (high - low) * (_NODES + 1.0) / 2
    weights = (
        _WEIGHTS * (high - low) / 2 * np.exp((dimension - 1) * np.log(rho) - rho - scipy.special.gammaln(dimension))
    )
    within = _noncentral(x / spread, dimension, rho / spread)
    lower = float(scipy.special.gammainc(dimension, low) + weights @ within)
    return lower, float(scipy.special.gammaincc(dimension, high) + weights @ (1.0 - within))


def _noncentral(x: float, dimension: int, centre: Vector) -> Vector:
    """P(|c u + g| <= x) for unit vectors u and standard Gaussian g."""
    far = centre > _FAR
    near = np.minimum(centre, _FAR)
    gaussian = scipy.special.ndtr(x - np.maximum(centre, 1.0) - (dimension - 1) / (2.0 * np.maximum(centre, 1.0)))
    return np.where(far, gaussian, scipy.special.chndtr(x * x, dimension, near * near))
