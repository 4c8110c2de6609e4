"""How much noise a release takes and what it is charged: what a calibration hands to an algorithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simnet.privacy.ledger import Charge
from simnet.privacy.mechanisms import problem_parameters
from simnet.privacy.problem import LocalProblem
from simnet.privacy.sparse_vector import SparseVector


@dataclass(frozen=True, kw_only=True)
class SvtPlan:
    """The sparse vector test of IPP-ADMM: at most `cap` positives, noise scales in units of the loss.

    `shared_noise`: the perturbed minimiser is tested and the same one is released, as in the paper; otherwise the test
    looks at the minimiser without noise, and a release solves again with fresh noise. `regularised`: the query contains
    the regulariser's term, as in the paper, which no clipping bounds; a proven test leaves it out.
    """

    cap: int
    epsilon1: float
    epsilon2: float
    threshold_scale: float
    query_scale: float
    redraw: bool
    shared_noise: bool
    regularised: bool

    def begin(self, threshold: float, rng: np.random.Generator) -> SparseVector:
        """A test at that threshold, nothing asked yet."""
        return SparseVector(self.cap, threshold, self.threshold_scale, self.query_scale, self.redraw, rng)

    def charge(
        self, problem: LocalProblem, rounds: int, clip: float, tolerance: float, *, printed: bool = False
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
        return Charge.of("sparse-vector", numbers, "test")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Noise N(0, σ1² I) in the objective, a minimiser certified to `tolerance`, noise N(0, σ2² I) on it.

    `opening` is charged before the first round, `release` before each release; `epsilon` is what `releases` of them
    amount to, in the accounting that the plan was made for.
    """

    sigma1: float
    sigma2: float
    tolerance: float
    releases: int
    opening: tuple[Charge, ...]
    release: Charge
    epsilon: float
    test: SvtPlan | None = None


@dataclass(frozen=True, kw_only=True)
class RoundPlan:
    """One round of a method whose noise follows a schedule.

    `scale` is the rate α of gamma-type noise or the σ of Gaussian noise; `output_sigma` the noise on the approximate
    minimiser (0 where the method's own noise covers it).
    """

    scale: float
    tolerance: float
    output_sigma: float
    charge: Charge
