"""The likelihood of a sparse vector test's answers, when the queries are known."""

from __future__ import annotations

import numpy as np

from simnet.privacy.sparse_vector import SvtPlan
from simnet.vectors import Vector

_NODES = 400


class TestOutcomes:
    """Collects answers; their likelihood integrates over what nobody knows, the noise on the threshold."""

    __test__ = False

    def __init__(self, plan: SvtPlan) -> None:
        self.plan = plan
        # Quantiles of the Laplace distribution at the midpoints of equal probabilities: a rule with equal weights.
        middles = (np.arange(_NODES) + 0.5) / _NODES
        bars = np.where(middles < 0.5, np.log(2 * middles), -np.log(2 - 2 * middles))
        self._bars = plan.threshold + plan.threshold_scale * bars
        self._log = np.zeros(_NODES)
        self._sum = 0.0

    def note(self, query: float, *, passed: bool) -> None:
        """One answer to one query."""
        gap = query - self._bars if passed else self._bars - query
        # An answer that is all but impossible counts as that, not as an infinite score.
        answer = np.maximum(laplace_below(gap, self.plan.query_scale), np.finfo(np.float64).tiny)
        if self.plan.redraw:
            self._sum += float(np.log(np.mean(answer)))
        else:
            self._log += np.log(answer)

    def log_likelihood(self) -> float:
        """Of all answers together."""
        if self.plan.redraw:
            return self._sum
        top = float(self._log.max())
        return top + float(np.log(np.mean(np.exp(self._log - top))))


def laplace_below(x: Vector, scale: float) -> Vector:
    """The probability that noise of that scale is below x; without noise, that 0 is, half of it at x = 0."""
    if scale == 0.0:
        return np.heaviside(x, 0.5)
    tail = 0.5 * np.exp(-np.abs(x) / scale)
    return np.asarray(np.where(x < 0.0, tail, 1.0 - tail))
