"""The sparse vector technique: which of many queries lie above a threshold, at the price of a few.

Algorithm 1 of Lyu, Su and Li, "Understanding the sparse vector technique for differential privacy" (VLDB 2017): noise
of scale Δ/ε1 on the threshold, drawn once; fresh noise of scale 2cΔ/ε2 on each query; stop at the c-th positive. It is
(ε1 + ε2)-private for any number of adaptively chosen queries of sensitivity Δ.
"""

from __future__ import annotations

import numpy as np

from simnet.privacy.noise import laplace


class SparseVector:
    """A test that says at most `cap` times "above".

    `redraw=True` draws the threshold noise anew in every test, as IPP-ADMM's Algorithm 2 prints it; the theorem above
    does not cover that. "Abort if count > c" is not reproduced: after the c-th positive every answer is False, because
    a further positive would be one more than the theorem pays for.
    """

    def __init__(
        self,
        cap: int,
        threshold: float,
        threshold_scale: float,
        query_scale: float,
        redraw: bool,
        rng: np.random.Generator,
    ) -> None:
        self._cap = cap
        self._threshold = threshold
        self._threshold_scale = threshold_scale
        self._query_scale = query_scale
        self._redraw = redraw
        self._rng = rng
        self._bar = threshold + laplace(rng, threshold_scale)
        self.positives = 0

    @property
    def exhausted(self) -> bool:
        """True when all positive answers have been given."""
        return self.positives >= self._cap

    def test(self, query: float) -> bool:
        """Is the query, noise added, at or above the noisy threshold? Always False once exhausted."""
        if self.exhausted:
            return False
        if self._redraw:
            self._bar = self._threshold + laplace(self._rng, self._threshold_scale)
        above = query + laplace(self._rng, self._query_scale) >= self._bar
        self.positives += above
        return above


def split(epsilon: float, cap: int) -> tuple[float, float]:
    """ε1 and ε2 with ε1 + ε2 = ε and ε1 : ε2 = 1 : (2c)^(2/3), the least variance of query minus threshold.

    Lyu, Su and Li's allocation for queries that may move in either direction.
    """
    ratio = (2.0 * cap) ** (2.0 / 3.0)
    return epsilon / (1.0 + ratio), epsilon * ratio / (1.0 + ratio)
