"""Theorem G written down once more, as plainly as possible: no shares of δ, no closed forms, no common terms.

δ(ε) is integrated over the densities of a Gaussian pair and of randomised response, and the radius r of the cylinder is
looked for on a grid.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from scipy import stats
from scipy.special import log_ndtr, ndtr

from simnet.vectors import Vector


def mixture_delta(epsilon: float, mean: float, pure: float = 0.0, nodes: int = 4001) -> float:
    """E max(0, p − e^ε q) over a bit of randomised response and a Gaussian number, by the trapezium rule."""
    x = np.linspace(-12.0, 12.0 + mean, nodes)
    keep = 1.0 / (1.0 + math.exp(-pure))
    total = 0.0
    for one, other in ((keep, 1.0 - keep), (1.0 - keep, keep)):
        gap = one * stats.norm.pdf(x, mean) - math.exp(epsilon) * other * stats.norm.pdf(x)
        total += scipy.integrate.trapezoid(np.maximum(gap, 0.0), x)
    return float(total)


def gaussian_delta(epsilon: float, mean: Vector | float, pure: float = 0.0) -> Vector:
    """The same by the distribution functions, for any number of means."""
    means = np.maximum(mean, 1e-9)

    def one(e: float) -> Vector:
        return np.asarray(ndtr(means / 2 - e / means) - np.exp(e + log_ndtr(-means / 2 - e / means)))

    keep = 1.0 / (1.0 + math.exp(-pure))
    return keep * one(epsilon - pure) + (1.0 - keep) * one(epsilon + pure)


def release_mean(ratio: float, kappa: float, radius: Vector) -> Vector:
    """μ of one release on the cylinder |g_U| <= r: d + κ(r + d) for the exponent, then the determinants."""
    return np.asarray(ratio + kappa * (radius + ratio) + math.sqrt(math.pi / 2) * math.log(1 + kappa))


def release_leak(ratio: float, kappa: float, radius: Vector) -> Vector:
    """Total variation outside of the cylinder."""
    return np.asarray((1 + kappa) * np.exp(-((radius - ratio) ** 2) / 2))


def least_delta(epsilon: float, releases: list[tuple[float, float]]) -> float:
    """The theorem's δ of releases (d, κ), over a grid of distances u = r − d."""
    u = np.linspace(0.05, 9.0, 90)
    squares = sum(release_mean(d, kappa, d + u) ** 2 for d, kappa in releases)
    leaks = sum(release_leak(d, kappa, d + u) for d, kappa in releases)
    return float(np.min(gaussian_delta(epsilon, np.sqrt(squares)) + leaks))


def least_epsilon(ratio: float, kappa: float, releases: int, plain: float, pure: float, delta: float) -> float:
    """ε at δ of equal releases beside plain Gaussian noise of Σμ² = `plain` and a test, by halving."""
    u = np.linspace(1.0, 9.0, 2001)
    means = np.sqrt(releases * release_mean(ratio, kappa, ratio + u) ** 2 + plain)
    leaks = releases * release_leak(ratio, kappa, ratio + u)

    def proven(epsilon: float) -> bool:
        return bool(np.min(gaussian_delta(epsilon, means, pure) + leaks) <= delta)

    low, high = 0.0, 1.0
    while not proven(high):
        low, high = high, 2.0 * high
    while high - low > 1e-10 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if proven(middle) else (middle, high)
    return high
