"""Gaussian trade-offs: what an account costs at once, without Rényi orders.

A pair of distributions is G_ν if no test tells them apart better than N(0, 1) from N(ν, 1) (Dong, Roth, Su, "Gaussian
differential privacy", JRSS-B 2022). Adaptive composition adds ν²; concurrent composition as well (Vadhan and Zhang
2023). G_ν means δ(ε) = Φ(ν/2 − ε/ν) − e^ε Φ(−ν/2 − ε/ν), exactly (Balle and Wang 2018). So plain Gaussian mechanisms
have an exact account.

Objective perturbation is G_ν only up to a set that is rarely reached. Theorem G (docs/proofs.md has the proof; ours,
not peer reviewed): with d = 2CL/(mσ) and κ = C c1/(mμ), a release is for any u > 0 within (1+κ)e^{−u²/2}, in total
variation, of

    G_ν(u),    ν(u) = d + κ(2d + u) + √(π/2) log(1+κ).

A test that is ε_t-private beside all this is at worst randomised response, which adds or subtracts ε_t:

    δ(ε) = w δ_M(ε − ε_t) + (1−w) δ_M(ε + ε_t) + Σ (1+κ)e^{−u²/2},    w = e^{ε_t}/(1 + e^{ε_t}),    M² = Σ ν(u)².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import scipy

from simnet.errors import BudgetError

SHARES = (3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.08, 0.2, 0.4, 0.7)
"""Shares of δ that may go to the sets that are rarely reached; each is a proof, and the best of them counts. M depends
on them through a logarithm, so that a finer list gains nothing."""
_ROOT = math.sqrt(0.5)
_TINY = 1e-9
"""Stands for M = 0: the formula divides by M, and a larger M is always safe."""


@dataclass(frozen=True)
class TradeOff:
    """M²(u) = `square` + `slope`·u + `bend`·u², beside a total variation `leak`·e^{−u²/2} and a `pure` ε. Sums add."""

    square: float = 0.0
    slope: float = 0.0
    bend: float = 0.0
    leak: float = 0.0
    pure: float = 0.0

    def __add__(self, other: TradeOff) -> TradeOff:
        return TradeOff(
            self.square + other.square,
            self.slope + other.slope,
            self.bend + other.bend,
            self.leak + other.leak,
            self.pure + other.pure,
        )

    def times(self, count: int) -> TradeOff:
        """So many of them, one after another."""
        return TradeOff(
            count * self.square, count * self.slope, count * self.bend, count * self.leak, count * self.pure
        )

    @property
    def exact(self) -> bool:
        """Whether nothing but plain Gaussian mechanisms is in it."""
        return self.leak == 0.0 and self.pure == 0.0

    def means(self, delta: float) -> list[tuple[float, float]]:
        """M, and the δ that is left beside the leak, for each share of δ that the leak may have."""
        if self.leak == 0.0:
            return [(math.sqrt(self.square), delta)]
        found = []
        for share in SHARES:
            u = distance(self.leak, share * delta)
            found.append((math.sqrt(self.square + u * (self.slope + u * self.bend)), (1.0 - share) * delta))
        return found


def gaussian(sensitivity: float, sigma: float) -> TradeOff:
    """Noise N(0, σ² I) on a vector that moves by at most `sensitivity`: G_ν with ν = Δ/σ."""
    if sensitivity == 0.0:
        return TradeOff()
    return TradeOff(square=(sensitivity / sigma) ** 2 if sigma > 0.0 else math.inf)


def objective(ratio: float, kappa: float) -> TradeOff:
    """Gaussian objective perturbation with curvature, by theorem G."""
    base = (1.0 + 2.0 * kappa) * ratio + _determinant(kappa)
    return TradeOff(base * base, 2.0 * base * kappa, kappa * kappa, 1.0 + kappa)


def distance(leak: float, delta: float) -> float:
    """The u with leak·e^{−u²/2} = δ."""
    return math.sqrt(2.0 * math.log(leak / delta))


def epsilon(spent: TradeOff, delta: float) -> float:
    """The least ε at δ over all shares; infinite if there is none."""
    _check(delta)
    if not (math.isfinite(spent.square) and math.isfinite(spent.pure)):
        return math.inf
    best = math.inf
    for mean, left in spent.means(delta):
        if math.isinf(best) or excess(best, mean, spent.pure)[0] < left:
            best = min(best, _solve(mean, spent.pure, left))
    return best


def excess(epsilon: float, mean: float, pure: float = 0.0) -> tuple[float, float]:
    """δ(ε) of G_M beside an ε_t-private test, and by how much it falls per ε."""
    if pure == 0.0:
        return _excess(epsilon, mean)
    weight = 1.0 / (1.0 + math.exp(-pure))
    (more, falls), (less, drops) = _excess(epsilon - pure, mean), _excess(epsilon + pure, mean)
    return weight * more + (1.0 - weight) * less, weight * falls + (1.0 - weight) * drops


def largest_ratio(kappa: float, objectives: int, plain: float, allowed: tuple[float, float, float]) -> float:
    """The largest d with which theorem G allows so many objective perturbations; 0 if none does.

    `plain`·d² is what goes to plain Gaussian noise beside them; `allowed` is (ε, δ, ε_t). Each share asks for
    n((1+2κ)d + c)² + plain·d² <= M², c = κu + √(π/2) log(1+κ), which is a quadratic equation.
    """
    _, delta, _ = allowed
    leak, steep = objectives * (1.0 + kappa), 1.0 + 2.0 * kappa
    best = 0.0
    for share, square in zip(SHARES, _room(*allowed), strict=True):
        shift = kappa * distance(leak, share * delta) + _determinant(kappa)
        over = square - objectives * shift * shift
        if over > 0.0:
            half = objectives * steep * shift
            best = max(best, over / (half + math.sqrt(half * half + (objectives * steep * steep + plain) * over)))
    return best


def gaussian_mean(epsilon: float, delta: float) -> float:
    """The largest ν for which G_ν means (ε, δ)."""
    return math.sqrt(_square(epsilon, delta, 0.0))


def _determinant(kappa: float) -> float:
    """ν of a pair whose log-ratio has a range of 2 log(1+κ): what the determinants cost."""
    return math.sqrt(0.5 * math.pi) * math.log1p(kappa)


@lru_cache(maxsize=1 << 12)
def _room(epsilon: float, delta: float, pure: float) -> tuple[float, ...]:
    """The largest M² for each share of δ."""
    return tuple(_square(epsilon, (1.0 - share) * delta, pure) for share in SHARES)


def _square(epsilon: float, delta: float, pure: float) -> float:
    """The largest M², to nine digits and from below, with δ(ε) <= δ; 0 if there is none."""
    _check(delta)
    high = 1.0
    while excess(epsilon, high, pure)[0] < delta:
        high *= 4.0
    if excess(epsilon, _TINY, pure)[0] > delta:
        return 0.0
    root = scipy.optimize.brentq(lambda mean: excess(epsilon, mean, pure)[0] - delta, _TINY, high, xtol=1e-14)
    return float(root * (1.0 - 1e-9)) ** 2


def _excess(epsilon: float, mean: float) -> tuple[float, float]:
    mean = max(mean, _TINY)
    near, far = 0.5 * mean - epsilon / mean, 0.5 * mean + epsilon / mean
    if far > 0.0:
        # e^ε Φ(−far), without a factor that may overflow.
        second = 0.5 * math.exp(-0.5 * near * near) * float(scipy.special.erfcx(far * _ROOT))
    else:
        second = 0.5 * math.exp(epsilon) * math.erfc(far * _ROOT)
    return max(0.5 * math.erfc(-near * _ROOT) - second, 0.0), second


def _solve(mean: float, pure: float, delta: float) -> float:
    """The ε with δ(ε) = δ, to ten digits of δ and from above: Newton on log δ, with halving as its safeguard."""
    if excess(0.0, mean, pure)[0] <= delta:
        return 0.0
    # Beyond this even P(log-ratio > ε) is below δ.
    low, high = 0.0, pure + 0.5 * mean * mean + mean * math.sqrt(2.0 * math.log(1.0 / delta)) + _TINY
    found = high
    while high - low > 1e-13 * high:
        value, fall = excess(found, mean, pure)
        if value > delta:
            low = found
        else:
            high = found
            if value >= delta * (1.0 - 1e-10):
                break
        step = math.log(value / (delta * (1.0 - 5e-11))) * value / fall if value > 0.0 and fall > 0.0 else math.nan
        found = found + step if low < found + step < high else 0.5 * (low + high)
    return high


def _check(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise BudgetError(f"delta = {delta}: it lies strictly between 0 and 1")
