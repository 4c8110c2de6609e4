"""What a distinguisher's scores prove about a mechanism: a lower bound on ε, and the shape of the trade-off.

Scores are numbers that somebody computed from a mechanism's output, on one data set in many runs and on its neighbour
in many others. If the mechanism is (ε, δ)-private, then P(E) <= e^ε Q(E) + δ for every event E and either order of the
two data sets, so that frequencies of any event bound ε from below. Nothing here knows where the scores came from: a bad
score gives a weak bound, never a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import betaincinv, ndtr, ndtri

from simnet.errors import BudgetError
from simnet.vectors import Vector

Table = npt.NDArray[np.float64]

_THRESHOLDS = 200
_CAUTION = 5.0
"""The best of many events looks better than it is; a stricter limit keeps the choice from rare ones."""
_LARGEST_EPSILON = 700.0
_FARTHEST = 1e300
"""Stands for infinite scores, which have no middle."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on ε at δ, what was `promised` there, and the event that gives it.

    The event is "the score in `column` lies above `threshold`" (or, if not `above`, at or below it). It happened
    `likely` times out of `runs` on the data set that it speaks for and `unlikely` times on the other; `first` says
    whether the former is the first data set.
    """

    epsilon: float
    delta: float
    promised: float
    column: int
    threshold: float
    above: bool
    first: bool
    likely: int
    unlikely: int
    runs: tuple[int, int]

    @property
    def excess(self) -> float:
        """By how much the bound is above the promise; negative if it is not."""
        return self.epsilon - self.promised


PromisedCurve = Sequence[tuple[float, float]]
"""Pairs of δ and the ε that is promised at it."""


def lower_bound(first: Table, second: Table, delta: float, confidence: float = 0.95) -> Bound:
    """ε at δ is at least this, with the given confidence; 0 if the scores prove nothing."""
    return against_curve(first, second, ((delta, 0.0),), confidence)


def against_curve(first: Table, second: Table, curve: PromisedCurve, confidence: float = 0.95) -> Bound:
    """The lower bound that is farthest above what is promised, or closest to it, at any δ of the curve.

    Rows are independent runs, columns are scores. Every other run serves to choose the score, the threshold and the
    direction; the frequencies of the event so chosen are then counted in the runs that had no part in the choice, and
    ε >= log((p − δ)/q) with the Clopper-Pearson limits p and q of its two probabilities, each at half of the error
    (Jagielski, Ullman, Oprea 2020; Nasr et al. 2021). That holds for all δ at once: it is one event.
    """
    first, second = _table(first), _table(second)
    if min(len(first), len(second)) < 4:
        raise BudgetError("an audit needs at least four runs on each of the two data sets")
    if not 0.0 < confidence < 1.0:
        raise BudgetError(f"confidence = {confidence}: it lies strictly between 0 and 1")
    error = 0.5 * (1.0 - confidence)
    chosen = _choose(first[0::2], second[0::2], curve, error / _CAUTION)
    return _judge(chosen, first[1::2], second[1::2], curve, error)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """ε at δ of two unit Gaussians μ apart: δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle and Wang 2018, Theorem 8)."""
    if mu <= 0.0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2.0
        if high > _LARGEST_EPSILON:
            return math.inf
    return float(brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, high, xtol=1e-12))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The δ of two unit Gaussians μ apart at ε."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def gaussian_shape(first: Vector, second: Vector, delta: float, confidence: float = 0.95) -> float | None:
    """What ε would be at least, *if* both scores were Gaussian with one variance; None if they evidently are not.

    The distance of the means in standard deviations is estimated, its error taken from the estimate's asymptotic
    variance 1/n + 1/n' + μ²/(2(n + n')), and the lower end of its confidence interval converted. It says much more than
    `lower_bound` from few runs, and nothing at all if the shape is another.
    """
    n, other = len(first), len(second)
    if not (np.isfinite(first).all() and np.isfinite(second).all()) or _refuted(first) or _refuted(second):
        return None
    pooled = ((n - 1) * np.var(first, ddof=1) + (other - 1) * np.var(second, ddof=1)) / (n + other - 2)
    if not pooled > 0.0:
        return None
    mu = abs(float(np.mean(first) - np.mean(second))) / math.sqrt(float(pooled))
    deviation = math.sqrt(1.0 / n + 1.0 / other + mu * mu / (2.0 * (n + other)))
    return gaussian_epsilon(mu - float(ndtri(confidence)) * deviation, delta)


def roc(first: Vector, second: Vector) -> tuple[Vector, Vector]:
    """False and true positive rates of "it was the first data set", for every threshold from the top down."""
    cuts = np.unique(np.concatenate([first, second]))[::-1]
    true = np.searchsorted(np.sort(-first), -cuts, side="right") / len(first)
    false = np.searchsorted(np.sort(-second), -cuts, side="right") / len(second)
    return np.concatenate([[0.0], false]), np.concatenate([[0.0], true])


def region(false: Vector, epsilon: float, delta: float) -> Vector:
    """The highest true positive rate that (ε, δ) allows at each false positive rate (Kairouz, Oh, Viswanath 2015)."""
    with np.errstate(over="ignore", invalid="ignore"):
        steep = delta + np.exp(epsilon) * false
    flat = 1.0 - np.exp(-epsilon) * (1.0 - delta - false)
    return np.asarray(np.clip(np.fmin(steep, flat), 0.0, 1.0))


def _refuted(scores: Vector) -> bool:
    """Whether scores are farther from every Gaussian than chance explains: Lilliefors' test, far beyond its 0.1 %."""
    spread = float(np.std(scores))
    if spread == 0.0:
        return True
    expected = ndtr(np.sort(scores - np.mean(scores)) / spread)
    steps = np.arange(len(scores) + 1) / len(scores)
    distance = max(float(np.max(steps[1:] - expected)), float(np.max(expected - steps[:-1])))
    return distance > 1.5 / math.sqrt(len(scores))


_Chosen = tuple[int, float, bool, bool]
"""An event: the column, threshold, above and first of a `Bound`."""


def _choose(first: Table, second: Table, curve: PromisedCurve, error: float) -> _Chosen:
    """The event whose bound would be farthest above the promise if the runs at hand were to judge it."""
    best, chosen = -math.inf, (0, 0.0, True, True)
    for column in range(first.shape[1]):
        cuts = _cuts(first[:, column], second[:, column])
        tops = [len(side) - np.searchsorted(np.sort(side[:, column]), cuts, side="right") for side in (first, second)]
        for above in (True, False):
            counts = tops if above else [len(first) - tops[0], len(second) - tops[1]]
            for forward in (True, False):
                likely, unlikely = counts if forward else counts[::-1]
                sizes = (len(first), len(second)) if forward else (len(second), len(first))
                bounds = _excesses(likely, sizes[0], unlikely, sizes[1], curve, error).max(axis=0)
                place = int(np.argmax(bounds))
                if bounds[place] > best:
                    best, chosen = float(bounds[place]), (column, float(cuts[place]), above, forward)
    return chosen


def _judge(chosen: _Chosen, first: Table, second: Table, curve: PromisedCurve, error: float) -> Bound:
    column, threshold, above, forward = chosen
    happened = [int(np.count_nonzero((side[:, column] > threshold) == above)) for side in (first, second)]
    sizes = (len(first), len(second))
    if not forward:
        happened, sizes = happened[::-1], sizes[::-1]
    excesses = _excesses(np.array([happened[0]]), sizes[0], np.array([happened[1]]), sizes[1], curve, error)[:, 0]
    place = int(np.argmax(excesses))
    delta, promised = curve[place]
    epsilon = max(0.0, float(excesses[place]) + promised)
    return Bound(epsilon, delta, promised, *chosen, happened[0], happened[1], sizes)


def _cuts(first: Vector, second: Vector) -> Vector:
    """Thresholds worth trying: half way between neighbouring scores, thinned, with both ends kept."""
    scores = np.unique(np.clip(np.concatenate([first, second]), -_FARTHEST, _FARTHEST))
    every = (scores[1:] + scores[:-1]) / 2 if len(scores) > 1 else scores
    if len(every) <= _THRESHOLDS:
        return every
    # The ends decide at small δ, so they are kept densely; the middle is thinned.
    ends = every[: _THRESHOLDS // 4], every[-_THRESHOLDS // 4 :]
    places = np.linspace(0, len(every) - 1, _THRESHOLDS // 2).astype(int)
    return np.unique(np.concatenate([*ends, every[places]]))


def _excesses(
    likely: npt.NDArray[np.int64],
    n: int,
    unlikely: npt.NDArray[np.int64],
    other: int,
    curve: PromisedCurve,
    error: float,
) -> Table:
    """log((p − δ)/q) minus what is promised at δ, a row for each δ; −inf where p <= δ.

    p and q are Clopper-Pearson's lower and upper limits.
    """
    lower = np.where(likely > 0, betaincinv(np.maximum(likely, 1), n - likely + 1, error), 0.0)
    upper = np.where(unlikely < other, betaincinv(unlikely + 1, np.maximum(other - unlikely, 1), 1.0 - error), 1.0)
    deltas, promised = np.array(curve).T[:, :, np.newaxis]
    gap = lower - deltas
    return np.asarray(np.where(gap > 0.0, np.log(np.where(gap > 0.0, gap, 1.0) / upper), -np.inf) - promised)


def _table(scores: Table) -> Table:
    table = np.asarray(scores, dtype=np.float64)
    if np.isnan(table).any():
        raise BudgetError("a score is not a number: a distinguisher must answer in every run")
    return table[:, np.newaxis] if table.ndim == 1 else table
