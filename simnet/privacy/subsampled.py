"""Gaussian noise on a sum over a Poisson sample of the rows: the Rényi curve of its worst pair of data sets.

Each of m rows is in the sample with probability q, independently, and nobody sees which. A row in the sample adds a
vector of norm at most c, the sum gets noise N(0, σ² I), and ν = c/σ. Replacing one row, whatever the others are, no
test tells the two worlds apart better than (docs/proofs.md, theorem 12; ours, not peer reviewed)

    P = (1−q) N(0, 1) + q N(ν, 1)    from    Q = (1−q) N(0, 1) + q N(−ν, 1).

So e^{(a−1)D_a} is at most one integral, I = ∫ φ(y) up(y)^a down(y)^(1−a) dy with up(y) = 1 − q + q e^{νy−ν²/2} and
down(y) = up(−y). The trapezium rule finds it, and the error of the rule has a proven bound: the result is never below
the truth. q = 1 is plain Gaussian noise on a vector that moves by 2c.
"""

from __future__ import annotations

import math

import numpy as np

from simnet.privacy.curves import Curve

_DIGITS = 30.0
"""The trapezium rule is wrong by at most 2e⁻³⁰ of I."""
_REACH = 9.0
"""Deviations beyond which the integrand is bounded instead of summed."""
_ROUNDING = 1e-12
"""Room for float64 in log I, beside a few units of its largest term."""


def subsampled_gaussian(orders: Curve, rate: float, ratio: float) -> Curve:
    """D_a for the rate q and ν = c/σ = `ratio`; orders where it is far beyond use get a simpler bound.

    That is 2aν², without subsampling: D_a is jointly quasi-convex. Beyond aν² = 30 + 4 log(1/q) the curve has left the
    orders where a sample hides anything, D_a > 15.
    """
    plain = 2.0 * orders * ratio**2
    if rate == 0.0 or ratio == 0.0:
        return np.zeros_like(orders)
    if rate == 1.0:
        return plain
    furthest = min(30.0 + 4.0 * math.log(1.0 / rate), 150.0)
    found = [_log_integral(float(a), rate, ratio) if (a - 1.0) * ratio**2 < furthest else math.inf for a in orders]
    return np.minimum(plain, np.asarray(found) / (orders - 1.0))


def _log_integral(a: float, q: float, nu: float) -> float:
    """log I, rounded up.

    In a strip |Im y| <= s with νs < π/2, |up(y+is)| <= up(y), |down(y+is)| >= cos(νs) down(y) and |φ(y+is)| is
    e^{s²/2}φ(y). So the trapezium rule with step h errs by at most 2I e^{s²/2} cos(νs)^{1−a}/(e^{2πs/h} − 1) (Trefethen
    and Weideman 2014, theorem 5.1). The step is chosen to make that 2e^−30 I.

    Left of −9 the integrand is at most φ, because up <= down there. Right of `end` it falls at least as fast as
    e^{−9(y−end)}, because d/dy (a log up + (1−a) log down) <= ν(a + (a−1)q) for y >= 0.
    """
    strip = min(math.sqrt(2.0 * _DIGITS / (1.0 + (a - 1.0) * nu * nu)), 1.2 / nu)
    lost = 0.5 * strip * strip - (a - 1.0) * math.log(math.cos(nu * strip))
    step = 2.0 * math.pi * strip / (_DIGITS + lost)
    last = nu * (a + (a - 1.0) * q) + _REACH
    y = -_REACH + step * np.arange(math.ceil((last + _REACH) / step) + 1)
    tilt, rest = nu * y, math.log(q) - 0.5 * nu * nu
    other = math.log1p(-q)
    up, down = np.logaddexp(other, tilt + rest), np.logaddexp(other, rest - tilt)
    f = a * up - (a - 1.0) * down - 0.5 * y * y
    top = float(f.max())
    weights = np.exp(f - top)
    tails = float(weights[-1]) / _REACH + math.exp(-0.5 * _REACH**2 - top)
    total = (step * float(weights.sum()) + tails) / math.sqrt(2.0 * math.pi)
    rounding = _ROUNDING + 4e-16 * (a * abs(float(up[-1])) + 0.5 * last * last)
    return top + math.log(total) - math.log1p(-2.5 * math.exp(-_DIGITS)) + rounding
