"""IPP-ADMM: Ding, Wang, Liang, Bi, Pan (CIKM 2020), Algorithm 2.

PP-ADMM that asks a sparse vector test, before each release, whether the update is worth a broadcast. The query is the
improvement of the local objective, every row's loss clipped to [0, C]:

    Clip[f_i(θ_i) − f_i(θ̂)] + Lap(query scale) >= α + Lap(threshold scale)

After c positive answers the agent is silent: it releases nothing more, and its neighbours keep its last value. (The
paper's "abort if count > c" would let a (c+1)-th answer be seen; here the test stops at c.)
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from simnet.learning.objective import LocalObjective, Measurement
from simnet.methods.duals import Duals
from simnet.methods.peer import Proposal, Solving, Test, Work
from simnet.methods.pp_admm import Perturbation, PpAdmm, PpAdmmPeer
from simnet.parts.fields import Count, NonNegative, Positive, Share
from simnet.privacy.budget import Privacy
from simnet.privacy.ledger import Charge
from simnet.privacy.sparse_vector import SparseVector
from simnet.vectors import Vector


class IppAdmm(PpAdmm):
    """IPP-ADMM: PP-ADMM that broadcasts only when a sparse vector test finds the update worth it."""

    noise_amounts: ClassVar[tuple[str, ...]] = ("sigma", "output_sigma", "test_epsilon")

    name: Literal["ipp-admm"]  # type: ignore[assignment]
    max_releases: Count = Field(15, description="c, the most releases an agent may make")
    threshold: NonNegative = Field(1e-3, description="α, the improvement that makes a broadcast worthwhile")
    clip: Positive = Field(2.0, description="C_loss, the most that one row's loss counts in the test")
    test_share: Share | None = Field(
        None,
        description="share of the budget spent on the test; default: 0.1 under `paper`, chosen under `proven`",
    )
    test_epsilon: Positive | None = Field(
        None, description="ε1 + ε2 of the test, named together with sigma; default: by test_share"
    )
    sensitivity: Literal["per-row", "printed"] = Field(
        "per-row", description="`paper` calibration: noise of the test for 2C/m (`per-row`) or 2C (`printed`)"
    )
    threshold_noise: Literal["once", "redrawn"] = Field(
        "once",
        description="`paper` calibration: the threshold's noise is drawn once, or `redrawn` each round",
    )
    test: Literal["noise-free", "shared-noise"] | None = Field(
        None,
        description="what is tested: the minimiser without noise (`noise-free`, default under `proven`), or the "
        "perturbed one that is then released (`shared-noise`: the paper; under `proven` every round then costs)",
    )

    @model_validator(mode="after")
    def _the_test_as_well(self) -> IppAdmm:
        if (self.sigma is None) != (self.test_epsilon is None):
            raise ValueError("test_epsilon: named together with sigma and output_sigma, or not at all")
        return self

    def misfit_of_privacy(self, privacy: Privacy) -> str | None:
        if privacy.calibration == "paper" and self.test == "noise-free":
            return "algorithm.test: the paper's calibration covers only 'shared-noise'"
        return super().misfit_of_privacy(privacy)


class IppAdmmPeer(PpAdmmPeer):
    """Algorithm 2 for one agent.

    With `shared_noise` (the paper) the tested point is the perturbed minimiser that would be released. Without it the
    test sees the noise-free minimiser, and a release draws fresh noise: the form whose privacy is proven. With
    `regularised` (the paper) the query contains the regulariser's term, whose sensitivity nothing bounds.
    """

    def __init__(
        self,
        objective: LocalObjective,
        *,
        degree: int,
        eta: float,
        tolerance: float,
        perturbation: Perturbation,
        test: SparseVector,
        opening: tuple[Charge, ...],
        clip: float,
        shared_noise: bool,
        regularised: bool,
        duals: Duals | None = None,
    ) -> None:
        super().__init__(objective, degree=degree, eta=eta, tolerance=tolerance, perturbation=perturbation, duals=duals)
        self._test = test
        self._unpaid = opening
        self._muted = False
        self._clip = clip
        self._shared_noise = shared_noise
        self._regularised = regularised
        self._measured: Vector | None = None
        self._loss = 0.0

    def propose(self, t: int) -> Proposal | Work:
        if self._test.exhausted or self._muted:
            return Proposal(None, 0, 0.0, skipped="exhausted")
        drawn = self.perturbation.draw(self.objective.features)
        linear = self.linear()
        shared = linear + self.perturbation.scaled(drawn)[0] if self._shared_noise else linear
        candidate = yield from self.minimiser(shared)
        gradients = candidate.gradients
        query = yield from self.improvement(candidate.theta)
        test = Test(self._test.test(query), query)
        charges = self._unpaid
        if not test.passed:
            return Proposal(None, gradients, candidate.gradient_norm, charges, test, "test")
        b1, b2 = self.perturbation.scaled(drawn)
        if not self._shared_noise:
            candidate = yield from self.minimiser(linear + b1)
            gradients += candidate.gradients
        charges += (self.perturbation.charge,)
        return Proposal((candidate.theta + b2,), gradients, candidate.gradient_norm, charges, test)

    def settled(self, *, accepted: bool) -> None:
        """A test that was never paid for is never asked again."""
        self._muted = self._muted or not accepted
        self._unpaid = ()

    def improvement(self, candidate: Vector) -> Solving[float]:
        """Clip[f_i(θ_i) − f_i(θ̂)]."""
        if self._measured is not self.theta:  # after a skip θ_i is the same vector, and so is its loss
            self._loss = yield Measurement(self.objective, self.theta, self._clip)
            self._measured = self.theta
        gain: float = self._loss - (yield Measurement(self.objective, candidate, self._clip))
        if self._regularised:
            gain += self.objective.regulariser / 2 * float(self.theta @ self.theta - candidate @ candidate)
        return gain
