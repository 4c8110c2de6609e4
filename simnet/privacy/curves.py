"""Rényi privacy curves: what each mechanism costs at every order, and what a sum of costs means as (ε, δ).

A curve is an array: a bound on the Rényi divergence D_a between the outputs on neighbouring data sets, at each order a
that it was asked for; infinite where the theorem says nothing. Adaptive composition is the sum of curves at each order
(Mironov, "Rényi differential privacy", CSF 2017, Proposition 1). The conversion to (ε, δ) is that of Canonne, Kamath
and Steinke (2020, Proposition 12), as dp-accounting has it. Neighbours differ by replacing one row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from simnet.errors import BudgetError

Curve = npt.NDArray[np.float64]

ORDERS: Curve = 1.0 + np.geomspace(0.011, 1e5, 815)
"""Two per cent apart in a − 1: the best of them costs at most 5e-5·ε more than the best order of all.

dp-accounting converts only orders above 1.01. Orders near 1 serve large ε, orders near 1e5 serve ε of 1e-4."""


def gaussian(orders: Curve, sensitivity: float, sigma: float) -> Curve:
    """Noise N(0, σ² I) on a vector that moves by at most `sensitivity`: a Δ²/(2σ²) (Mironov 2017, Proposition 7)."""
    if sensitivity == 0.0:
        return np.zeros_like(orders)
    if sigma == 0.0:
        return np.full_like(orders, np.inf)
    return orders * (0.5 * (sensitivity / sigma) ** 2)


def pure(orders: Curve, epsilon: float) -> Curve:
    """Any ε-private mechanism: log[(e^{aε} + e^{ε−aε})/(1 + e^ε)]/(a − 1), attained by randomised response.

    Every pair of distributions with likelihood ratio within [e^−ε, e^ε] is a post-processing of randomised response
    (Kairouz, Oh, Viswanath 2015), so randomised response has the largest divergence at every order. The fraction equals
    1 + 2 sinh(aε/2) sinh((a−1)ε/2)/cosh(ε/2), the form that does not cancel for small ε.
    """
    mild = np.minimum(epsilon, 60.0 / orders)
    exact = np.log1p(2.0 * np.sinh(0.5 * orders * mild) * np.sinh(0.5 * (orders - 1.0) * mild) / np.cosh(0.5 * mild))
    # Beyond aε = 60 the hyperbolic functions would overflow in time, and nothing cancels any more.
    steep = np.logaddexp(orders * epsilon, epsilon - orders * epsilon) - np.logaddexp(0.0, epsilon)
    return np.asarray(np.where(orders * epsilon <= 60.0, exact, steep) / (orders - 1.0))


def laplace(orders: Curve, ratio: float) -> Curve:
    """Independent Laplace noise on every number of a vector that moves by at most `ratio` scales in all (L1).

    log[(a e^{(a−1)r} + (a−1) e^{−ar})/(2a−1)]/(a − 1) for one number (Mironov 2017, Proposition 6). It is convex in r
    and 0 at 0, so a move that is spread over several numbers costs no more.
    """
    up, down = (orders - 1.0) * ratio, -orders * ratio
    mild = up <= 30.0
    bend = orders * _exp_beyond_line(np.where(mild, up, 0.0)) + (orders - 1.0) * _exp_beyond_line(down)
    steep = up + np.log((orders + (orders - 1.0) * np.exp(down - up)) / (2.0 * orders - 1.0))
    return np.asarray(np.where(mild, np.log1p(bend / (2.0 * orders - 1.0)), steep) / (orders - 1.0))


def _exp_beyond_line(x: Curve) -> Curve:
    """e^x − 1 − x, without cancellation near 0."""
    series = 0.5 * x * x * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (1.0 + x / 7.0)))))
    return np.asarray(np.where(np.abs(x) < 0.01, series, np.expm1(x) - x))


def zcdp(orders: Curve, rho: float) -> Curve:
    """Anything ρ-zero-concentrated: aρ, by definition (Bun and Steinke 2016)."""
    return orders * rho


def between(orders: Curve, known: Mapping[float, float]) -> Curve:
    """A curve that is known at some orders: (a − 1)D_a is convex in a and 0 at 1; infinite beyond the last of them."""
    at = np.array(sorted(known))
    heights = (at - 1.0) * np.array([known[a] for a in sorted(known)])
    found = np.interp(orders, np.r_[1.0, at], np.r_[0.0, heights], right=np.inf)
    return np.asarray(found / (orders - 1.0))


def objective(orders: Curve, ratio: float, kappa: float) -> Curve:
    """Gaussian objective perturbation with curvature, by the moments of the noise along the two rows.

    θ̃ = argmin f + linear + quadratic + b·θ with b ~ N(0, σ² I), curvature at least μ, d = `ratio` = 2CL/(mσ),
    κ = C c1/(mμ). For every order with 4κ(a−1) < 1

        D_a <= log(1+κ) + d²/2 + (a−1)d²/(2(1−4κ(a−1))) − log(1−4κ(a−1))/(a−1).

    This is theorem 1a of docs/proofs.md; ours, not peer reviewed. Losses may have kinks in l'.
    """
    growth = 4.0 * kappa * (orders - 1.0)
    valid = growth < 1.0
    excess = np.where(valid, growth, 0.0)
    moment = (orders - 1.0) * ratio**2 / (2.0 * (1.0 - excess)) - np.log1p(-excess) / (orders - 1.0)
    return np.asarray(np.where(valid, np.log1p(kappa) + 0.5 * ratio**2 + moment, np.inf))


def objective_transport(orders: Curve, ratio: float, kappa: float) -> Curve:
    """Gaussian objective perturbation with curvature, by a change of variables: the sharper bound.

    With the notation of `objective`, for every order with κ(a−1) < 1

        D_a <= a d²/2 − log(1 − a(a−1)κ²/(1+κ))/(a−1)        = a d²/2 + aκ² + O(κ³).

    This is theorem 1b of docs/proofs.md; ours, not peer reviewed.
    """
    shrink = orders * (orders - 1.0) * kappa**2 / (1.0 + kappa)
    # κ(a−1) < 1 and this below 1 are the same condition; rounding may tell them apart.
    valid = (kappa * (orders - 1.0) < 1.0) & (shrink < 1.0)
    shrink = np.where(valid, shrink, 0.0)
    bound = 0.5 * orders * ratio**2 - np.log1p(-shrink) / (orders - 1.0)
    return np.asarray(np.where(valid, bound, np.inf))


def epsilon(curve: Curve, delta: float) -> float:
    """The ε at δ of a curve over `ORDERS` (Canonne, Kamath, Steinke 2020); infinite if no order gives one.

    If D_a is so small that the total variation is at most δ, ε is 0: 1 − e^{−D} >= TV² (Bretagnolle and Huber).
    """
    best = float(np.min(curve - _conversion(delta)))
    if delta * delta + math.expm1(-float(curve[0])) > 0.0:
        return 0.0
    return max(best, 0.0)


def allowance(epsilon: float, delta: float) -> Curve:
    """The largest curve that means (ε, δ): a mechanism is (ε, δ)-private if its curve is below this at one order."""
    return epsilon + _conversion(delta)


def _conversion(delta: float) -> Curve:
    """ε = curve − this, at each order: log(δa)/(a−1) − log(1 − 1/a)."""
    if not 0.0 < delta < 1.0:
        raise BudgetError(f"delta = {delta}: it lies strictly between 0 and 1")
    return np.asarray(np.log(delta * ORDERS) / (ORDERS - 1.0) - np.log1p(-1.0 / ORDERS))
