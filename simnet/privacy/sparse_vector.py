"""The sparse vector technique: which of many queries lie above a threshold, at the price of a few.

Algorithm 1 of Lyu, Su and Li, "Understanding the sparse vector technique for differential privacy" (VLDB 2017): noise
of scale Δ/ε1 on the threshold, drawn once; fresh noise of scale 2cΔ/ε2 on each query; stop at the c-th positive. It is
(ε1 + ε2)-private for any number of adaptively chosen queries of sensitivity Δ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simnet.privacy.ledger import Charge
from simnet.privacy.mechanisms import Bound, problem_parameters
from simnet.privacy.noise import laplace
from simnet.privacy.problem import LocalProblem


@dataclass(eq=False)
class SparseVector:
    """A test that says at most `cap` times "above".

    `redraw=True` draws the threshold's noise anew in every test, as IPP-ADMM's Algorithm 2 prints it; the theorem above
    does not cover that. "Abort if count > c" is not reproduced: after the c-th positive every answer is False, because
    a further positive would be one more than the theorem pays for.
    """

    cap: int
    threshold: float
    threshold_scale: float
    query_scale: float
    redraw: bool
    rng: np.random.Generator
    positives: int = 0

    def __post_init__(self) -> None:
        self._bar = self.threshold + laplace(self.rng, self.threshold_scale)

    @property
    def exhausted(self) -> bool:
        """True when all positive answers have been given."""
        return self.positives >= self.cap

    def test(self, query: float) -> bool:
        """Is the query, noise added, at or above the noisy threshold? Always False once exhausted."""
        if self.exhausted:
            return False
        if self.redraw:
            self._bar = self.threshold + laplace(self.rng, self.threshold_scale)
        above = query + laplace(self.rng, self.query_scale) >= self._bar
        self.positives += above
        return above


@dataclass(frozen=True, kw_only=True)
class SvtPlan:
    """A sparse vector test of a learner: at most `cap` positives, noise scales in units of the loss.

    `shared_noise`: the perturbed minimiser is tested and the same one is released; otherwise the test looks at the
    minimiser without noise, and a release solves again with fresh noise. `regularised`: the query contains the
    regulariser's term, which no clipping bounds; a proven test leaves it out.
    """

    threshold: float
    cap: int
    epsilon1: float
    epsilon2: float
    threshold_scale: float
    query_scale: float
    redraw: bool
    shared_noise: bool
    regularised: bool

    def begin(self, rng: np.random.Generator) -> SparseVector:
        """A test of which nothing has been asked yet."""
        return SparseVector(self.cap, self.threshold, self.threshold_scale, self.query_scale, self.redraw, rng)

    def charge(
        self,
        problem: LocalProblem,
        rounds: int,
        clip: float,
        tolerance: float,
        *,
        printed: bool = False,
        bound: Bound = "least",
    ) -> Charge:
        """The charge of the whole test, over at most so many rounds; `printed` claims the paper's sensitivity 2C."""
        numbers = problem_parameters(problem) | {
            "clip": clip,
            "tolerance": tolerance,
            "threshold_scale": self.threshold_scale,
            "query_scale": self.query_scale,
            "cap": self.cap,
            "tests": rounds,
            "shared_noise": self.shared_noise,
            "regularised": self.regularised,
            "redraw": self.redraw,
            "printed": printed,
        }
        return Charge.of("sparse-vector", numbers, "test", bound=bound)


def split(epsilon: float, cap: int) -> tuple[float, float]:
    """ε1 and ε2 with ε1 + ε2 = ε and ε1 : ε2 = 1 : (2c)^(2/3), the least variance of query minus threshold.

    Lyu, Su and Li's allocation for queries that may move in either direction.
    """
    ratio = (2.0 * cap) ** (2.0 / 3.0)
    return epsilon / (1.0 + ratio), epsilon * ratio / (1.0 + ratio)
