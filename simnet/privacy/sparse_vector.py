"""The sparse vector technique: which of many queries lie above a threshold, at the price of a few.

Algorithm 1 of Lyu, Su and Li, "Understanding the sparse vector technique for differential privacy" (VLDB 2017): noise
of scale Δ/ε1 on the threshold, drawn once; fresh noise of scale 2cΔ/ε2 on each query; stop at the c-th positive. It is
(ε1 + ε2)-private for any number of adaptively chosen queries of sensitivity Δ.
"""

from __future__ import annotations

import math
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

    `clip` is the most that a row's loss counts, and so the most that an update can improve the mean.
    `shared_noise`: the perturbed minimiser is tested and the same one is released; otherwise the test looks at the
    minimiser without noise, and a release solves again with fresh noise. `regularised`: the query contains the
    regulariser's term, which no clipping bounds; a proven test leaves it out.
    """

    threshold: float
    clip: float
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
        tolerance: float,
        *,
        printed: bool = False,
        bound: Bound = "least",
    ) -> Charge:
        """The charge of the whole test, over at most so many rounds; `printed` claims the paper's sensitivity 2C."""
        numbers = problem_parameters(problem) | {
            "clip": self.clip,
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
        return Charge.of("sparse-vector" if self.redraw else "single-threshold", numbers, "test", bound=bound)

    def facts(self) -> dict[str, float | int | str]:
        """The noise, and how much of an improvement it lets through, for people: public before anything runs."""
        scales = self.threshold_scale, self.query_scale
        noise = answer_noise(*scales)
        found: dict[str, float | int | str] = {
            "test: ε1, ε2": f"{self.epsilon1:.4g}, {self.epsilon2:.4g}",
            "test: noise of the threshold": self.threshold_scale,
            "test: noise of a query": self.query_scale,
        }
        if noise == 0.0:
            return found
        nothing, largest = (chance_above(gain - self.threshold, *scales) for gain in (0.0, self.clip))
        typical = self.clip / self.cap
        return found | {
            "test: signal to noise": f"at most {self.clip / noise:.3g}: the most that the loss can fall, "
            f"{self.clip:g} (clip), over the standard deviation {noise:.3g} of an answer's noise; "
            f"{typical / noise:.3g} if {self.cap} releases share it",
            "test: passes": f"with probability {nothing:.3f} where nothing improves, {largest:.3f} where the loss "
            "falls by that",
        }


def split(epsilon: float, cap: int) -> tuple[float, float]:
    """ε1 and ε2 with ε1 + ε2 = ε and ε1 : ε2 = 1 : (2c)^(2/3), the least variance of query minus threshold.

    Lyu, Su and Li's allocation for queries that may move in either direction.
    """
    ratio = (2.0 * cap) ** (2.0 / 3.0)
    return epsilon / (1.0 + ratio), epsilon * ratio / (1.0 + ratio)


def answer_noise(threshold_scale: float, query_scale: float) -> float:
    """The standard deviation of the noise in an answer: on the query and on the threshold."""
    return math.sqrt(2.0) * math.hypot(threshold_scale, query_scale)


def chance_above(gap: float, threshold_scale: float, query_scale: float) -> float:
    """The probability that a query passes which lies so far above the threshold: P(gap + Lap(query) ≥ Lap(threshold)).

    The tail of the difference of two Laplace variables of scales a and b, by partial fractions of its characteristic
    function: (a² e^(−x/a) − b² e^(−x/b))/(2(a² − b²)) beyond x, and its limit where they are equal.
    """
    a, b = sorted((threshold_scale, query_scale), reverse=True)
    x = abs(gap)
    if a == 0.0:
        tail = 0.0 if gap else 1.0
    elif b > (1.0 - 1e-4) * a:
        tail = (0.5 + 0.25 * x / a) * math.exp(-x / a)
    else:
        far = b * b * math.exp(-x / b) if b > 0.0 else 0.0
        tail = 0.5 * (a * a * math.exp(-x / a) - far) / (a * a - b * b)
    return 1.0 - tail if gap > 0.0 else tail
