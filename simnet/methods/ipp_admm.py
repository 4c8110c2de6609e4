"""IPP-ADMM: Ding, Wang, Liang, Bi, Pan (CIKM 2020), Algorithm 2.

PP-ADMM that asks a sparse vector test, before each release, whether the update is worth a broadcast. The query is the
improvement of the local objective, every row's loss clipped to [0, C]:

    Clip[f_i(θ_i) − f_i(θ̂)] + Lap(query scale) >= α + Lap(threshold scale)

After c positive answers the agent is silent: it releases nothing more, and its neighbours keep its last value. (The
paper's "abort if count > c" would let a (c+1)-th answer be seen; here the test stops at c.)

calibration = "proven" gives the test 10 % of the budget, counted in ρ. That makes the noise of every release 3 % larger
(ε = 1, δ = 1e-4, c = 15). More buys little: the test's own noise falls only with the square root of its share, and all
that the test decides is which rounds are skipped; on Adult at ε = 1, shares from 2 % to 30 % end at the same error.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from simnet.errors import BudgetError
from simnet.learning.objective import LocalObjective, Measurement
from simnet.methods.duals import Duals
from simnet.methods.method import AgentPlace
from simnet.methods.peer import Peer, Proposal, Solving, Test, Work, alone
from simnet.methods.pp_admm import PAPER_OUTPUT_SHARE, PaperBudget, Perturbation, PpAdmm, PpAdmmPeer, plan_by_paper
from simnet.parts.fields import Count, NonNegative, Positive, Share
from simnet.privacy import claims
from simnet.privacy.budget import NoisePlan, Privacy
from simnet.privacy.ledger import Charge
from simnet.privacy.mechanisms import problem_parameters
from simnet.privacy.objective_perturbation import PerturbationPlan, Target, bare
from simnet.privacy.problem import LocalProblem
from simnet.privacy.sparse_vector import SparseVector, SvtPlan, split
from simnet.streams import Streams
from simnet.vectors import Vector

PAPER_TEST_SHARE = 0.1
"""The paper does not say what the test may cost."""
TEST_SHARE = 0.1
THRESHOLD_SHARE = 0.3
"""ε1's share of a proven test. The query's noise is drawn anew in every round and evens out; the threshold's is drawn
once, and an unlucky draw silences an agent for the whole run. So it gets more than the 1 : (2c)^(2/3) that is best for
one query."""

Sensitivity = Literal["per-row", "printed"]
ThresholdNoise = Literal["once", "redrawn"]


class IppAdmm(PpAdmm):
    """IPP-ADMM: PP-ADMM that broadcasts only when a sparse vector test finds the update worth it."""

    colour: ClassVar[str] = "#D55E00"
    noise_amounts: ClassVar[tuple[str, ...]] = ("sigma", "output_sigma", "test_epsilon")
    has_test: ClassVar[bool] = True

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
    sensitivity: Sensitivity = Field(
        "per-row", description="`paper` calibration: noise of the test for 2C/m (`per-row`) or 2C (`printed`)"
    )
    threshold_noise: ThresholdNoise = Field(
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

    def most_releases(self, rounds: int) -> int:
        return min(rounds, self.max_releases)

    def bare_plan(self, rounds: int) -> PerturbationPlan:
        """No noise at all: whatever improves the objective by the threshold is broadcast."""
        test = SvtPlan(
            threshold=self.threshold,
            cap=self.max_releases,
            epsilon1=math.inf,
            epsilon2=math.inf,
            threshold_scale=0.0,
            query_scale=0.0,
            redraw=False,
            shared_noise=True,
            regularised=True,
        )
        return bare(self.max_releases, self.tolerance, test)

    def paper_budget(self, privacy: Privacy, rounds: int) -> PaperBudget:
        return PaperBudget.of(
            privacy.epsilon,
            privacy.delta,
            self.max_releases,
            output_share=self.output_share or PAPER_OUTPUT_SHARE,
            objective_share=self.objective_share,
            test_share=self.test_share or PAPER_TEST_SHARE,
        )

    def paper_plan(self, privacy: Privacy, problem: LocalProblem, rounds: int) -> PerturbationPlan:
        """Algorithm 2, lines 6, 9 and 11: a release only if the test on the perturbed minimiser passes."""
        budget = self.paper_budget(privacy, rounds)
        test = self._paper_test(problem, claims.pure_epsilon(budget.rho_test))
        charge = test.charge(problem, rounds, self.clip, self.paper_tolerance, printed=self.sensitivity == "printed")
        return paper_plan_with_test(budget, problem, test, charge, rounds, self.paper_tolerance)

    def proven_plan(self, privacy: Privacy, problem: LocalProblem, rounds: int) -> PerturbationPlan:
        """A test and at most c releases that together cost (ε, δ)."""
        share = TEST_SHARE if self.test_share is None else self.test_share
        shared = self.test == "shared-noise"
        target = self.target(privacy, problem)
        return plan_with_test(
            target, self.threshold, self.max_releases, rounds, self.clip, share=share, shared_noise=shared
        )

    def fixed_plan(self, privacy: Privacy, problem: LocalProblem, rounds: int) -> PerturbationPlan:
        """The noise and the test that the scenario names, the test in the form that the calibration has."""
        assert self.test_epsilon is not None
        tolerance = self.fixed_tolerance(privacy, problem)
        printed = privacy.calibration == "paper" and self.sensitivity == "printed"
        if privacy.calibration == "paper":
            test = self._paper_test(problem, self.test_epsilon)
        else:
            shared = self.test == "shared-noise"
            test = proven_test(
                problem, self.test_epsilon, self.threshold, self.max_releases, self.clip, tolerance, shared_noise=shared
            )
        charge = test.charge(problem, rounds, self.clip, tolerance, printed=printed)
        return self.priced(privacy, problem, tolerance, self.max_releases, test=test, test_charge=charge, rounds=rounds)

    def _paper_test(self, problem: LocalProblem, epsilon: float) -> SvtPlan:
        return paper_test(
            problem, epsilon, self.threshold, self.max_releases, self.clip, self.sensitivity, self.threshold_noise
        )

    def peer(self, plan: NoisePlan | None, objective: LocalObjective, place: AgentPlace, streams: Streams) -> Peer:
        assert isinstance(plan, PerturbationPlan)
        assert plan.test is not None
        return IppAdmmPeer(
            objective,
            degree=place.size.degree,
            eta=self.eta,
            tolerance=plan.tolerance,
            perturbation=Perturbation.of(plan, streams.generator("noise", place.agent)),
            test=plan.test.begin(streams.generator("svt", place.agent)),
            opening=plan.opening,
            clip=self.clip,
            shared_noise=plan.test.shared_noise,
            regularised=plan.test.regularised,
            duals=self.keep_duals(objective.features, place.size.degree),
        )


def paper_test(
    problem: LocalProblem,
    epsilon: float,
    threshold: float,
    cap: int,
    clip: float,
    sensitivity: Sensitivity = "per-row",
    threshold_noise: ThresholdNoise = "redrawn",
    *,
    regularised: bool = True,
) -> SvtPlan:
    """The test of line 9 that spends ε1 + ε2 = `epsilon`.

    With S = 2C ("printed") or 2C/m ("per-row") the query has noise Lap(2cS/ε2) and the threshold Lap(cS/ε1), drawn
    once or redrawn in every round; once, Lap(S/ε1) would do by the theorem that the paper cites. `regularised` queries
    contain the regulariser's term, as f_i does; it has no bounded sensitivity, so nothing can be proven of them.
    """
    epsilon1, epsilon2 = split(epsilon, cap)
    shift = 2.0 * clip / (1.0 if sensitivity == "printed" else problem.rows)
    return SvtPlan(
        threshold=threshold,
        cap=cap,
        epsilon1=epsilon1,
        epsilon2=epsilon2,
        threshold_scale=cap * shift / epsilon1,
        query_scale=2.0 * cap * shift / epsilon2,
        redraw=threshold_noise == "redrawn",
        shared_noise=True,
        regularised=regularised,
    )


def paper_plan_with_test(
    budget: PaperBudget, problem: LocalProblem, test: SvtPlan, charge: Charge, rounds: int, tolerance: float
) -> PerturbationPlan:
    """The paper's noise beside its test: the perturbed minimiser of every round is looked at, released or not."""
    looked_at = problem_parameters(problem) | {"sigma": budget.sigma1(problem)}
    opening = (charge, Charge.of("tested-objective", looked_at, "test", rounds))
    return plan_by_paper(budget, problem, tolerance, "selected-output", opening, test)


def proven_test(
    problem: LocalProblem,
    epsilon: float,
    threshold: float,
    cap: int,
    clip: float,
    tolerance: float,
    *,
    shared_noise: bool,
) -> SvtPlan:
    """A test that spends ε1 + ε2 = `epsilon`, by the theorem of Lyu, Su and Li."""
    epsilon1, epsilon2 = THRESHOLD_SHARE * epsilon, (1.0 - THRESHOLD_SHARE) * epsilon
    shift = problem.query_shift(clip, tolerance, model_is_released=shared_noise)
    return SvtPlan(
        threshold=threshold,
        cap=cap,
        epsilon1=epsilon1,
        epsilon2=epsilon2,
        threshold_scale=shift / epsilon1,
        query_scale=2.0 * cap * shift / epsilon2,
        redraw=False,
        shared_noise=shared_noise,
        regularised=False,
    )


def plan_with_test(
    target: Target,
    threshold: float,
    cap: int,
    rounds: int,
    clip: float,
    *,
    share: float = TEST_SHARE,
    shared_noise: bool = False,
) -> PerturbationPlan:
    """A proven test and at most `cap` releases that together meet a target.

    The test's ε1 + ε2 is the pure ε whose ρ is `share` of the target's ρ. Without `shared_noise` the test looks at the
    approximate minimiser of the data (`LocalProblem.query_shift`), and a positive answer leads to a solve with fresh
    noise. With it the perturbed minimiser is tested and released, so that every round costs an objective perturbation,
    whether it releases or not.
    """
    if not 0.0 < share < 1.0:
        raise BudgetError(f"test_share = {share}: a share lies strictly between 0 and 1")
    problem, tolerance = target.problem, target.tolerance
    total = claims.pure_epsilon(share * claims.rho_of(target.epsilon, target.delta))
    test = proven_test(problem, total, threshold, cap, clip, tolerance, shared_noise=shared_noise)
    charge = test.charge(problem, rounds, clip, tolerance)
    objectives = rounds if shared_noise else cap
    return target.plan(objectives=objectives, releases=cap, test=test, test_charge=charge)


class IppAdmmPeer(PpAdmmPeer):
    """Algorithm 2 for one agent.

    With `shared_noise` (the paper) the tested point is the perturbed minimiser that would be released. Without it the
    test sees the noise-free minimiser, and a release draws fresh noise: the form whose privacy is proven. With
    `regularised` (the paper) the query contains the regulariser's term, whose sensitivity nothing bounds.

    line 1       peer.Peer: `self.theta: Vector = np.zeros(features)`
    line 1       duals.Duals: `self._dual: Vector = np.zeros(features)`
    line 2       pp_admm.PaperBudget: `if not 0.0 < share < 1.0:`
    line 3       pp_admm.PaperBudget: `return 2.8 * smoothness / ((self.epsilon1 - self.epsilon3) * rows)`
    line 4       privacy.sparse_vector.SparseVector: `self.positives = 0`
    line 5       agent.program: `for t in range(first, rounds + 1):`
    line 6       `drawn = self.perturbation.draw(self.objective.features)`
    line 7       `shared = linear + self.perturbation.scaled(drawn)[0] if self._shared_noise else linear`
    line 8       `candidate = yield from self.minimiser(shared)`
    line 9       `query = yield from self.improvement(candidate.theta)`
    line 9       privacy.sparse_vector.SparseVector: `query + laplace(self._rng, self._query_scale) >= self._bar`
    line 10      privacy.sparse_vector.SparseVector: `self.positives += above`
    line 10      `if self._test.exhausted or self._muted:`
    line 11      `b1, b2 = self.perturbation.scaled(drawn)`
    line 12      `return Proposal((candidate.theta + b2,)`
    line 13      agent.program: `port.broadcast(t, payload)`
    lines 14-16  admm.AdmmPeer: `if sent is not None:`
    lines 17-21  agent.program: `known = neighbourhood.read()`
    lines 17-21  agent.neighbourhood.Neighbourhood: `return list(self._now.values())`
    lines 22-23  duals.NodeDuals: `self._dual = self._dual + (self._step(t) / 2) * (self._degree * model - total)`
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

    def question(self, released: Vector | None) -> float | None:
        """A test that shares its noise with the release looked at the model that was then released, or at one that
        nobody saw; the minimiser without noise stands in for that."""
        seen = released if self._shared_noise and released is not None else self.minimise().theta
        return alone(self.improvement(seen))

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
