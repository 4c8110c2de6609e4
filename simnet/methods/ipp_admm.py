"""IPP-ADMM: Ding, Wang, Liang, Bi, Pan (CIKM 2020), Algorithm 2.

PP-ADMM that asks a sparse vector test, before each release, whether the update is worth a broadcast. The query is the
improvement of the local objective, every row's loss clipped to [0, C]:

    Clip[f_i(θ_i) − f_i(θ̂)] + Lap(query scale) >= α + Lap(threshold scale)

After c positive answers the agent is silent: it releases nothing more, and its neighbours keep its last value. (The
paper's "abort if count > c" would let a (c+1)-th answer be seen; here the test stops at c.)
"""

from __future__ import annotations

from simnet.learning.measure import Measurement
from simnet.learning.objective import LocalObjective
from simnet.methods.duals import Duals
from simnet.methods.peer import Proposal, Solving, Test, Work
from simnet.methods.pp_admm import Perturbation, PpAdmmPeer
from simnet.privacy.ledger import Charge
from simnet.privacy.sparse_vector import SparseVector
from simnet.vectors import Vector


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
