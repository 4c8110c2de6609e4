"""IPP-ADMM: Ding, Wang, Liang, Bi, Pan (CIKM 2020), Algorithm 2.

PP-ADMM that asks a sparse vector test, before each release, whether the update is worth a broadcast. The query is the
improvement of the local objective, every row's loss clipped to [0, C]:

    Clip[f_i(θ_i) − f_i(θ̂)] + Lap(query scale) >= α + Lap(threshold scale)

After c positive answers the agent is silent: it releases nothing more, and its neighbours keep its last value. (The
paper's "abort if count > c" at the (c+1)-th sends the same, as long as nobody sees the end itself.)

calibration = "proven" gives the test 10 % of the budget, counted in ρ. That makes the noise of every release 3 % larger
(ε = 1, δ = 1e-4, c = 15). More buys little: the test's own noise falls only with the square root of its share, and all
that the test decides is which rounds are skipped; on Adult at ε = 1, shares from 2 % to 30 % end at the same error. Its
noise is a thousand times an improvement there, so that it tosses a coin (docs/skip_test.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal, cast

import numpy as np
from pydantic import Field, model_validator

from simnet.learning.column_solver import Allot
from simnet.learning.objective import Measurement
from simnet.learning.row_objective import Objective
from simnet.learning.stacked_objectives import StackedObjectives
from simnet.methods.columns import ColumnPeers
from simnet.methods.duals import Duals
from simnet.methods.method import AgentPlace, AgentSize, Calibration
from simnet.methods.peer import Known, Peer, Proposal, Solving, Test, Work, alone
from simnet.methods.perturbed_columns import IppAdmmColumns
from simnet.methods.pp_admm import PaperBudget, PpAdmm, PpAdmmPeer, plan_by_paper
from simnet.parts.fields import Count, NonNegative, Positive, Share
from simnet.privacy import claims
from simnet.privacy.budget import NoisePlan, Privacy
from simnet.privacy.ledger import Charge
from simnet.privacy.mechanisms import problem_parameters
from simnet.privacy.noise import gridded
from simnet.privacy.objective_perturbation import PerturbationPlan, bare
from simnet.privacy.problem import LocalProblem
from simnet.privacy.recovered import Candidate
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


class IppAdmm(PpAdmm):
    """IPP-ADMM: PP-ADMM that broadcasts only when a sparse vector test finds the update worth it."""

    colour: ClassVar[str] = "#D55E00"
    noise_amounts: ClassVar[tuple[str, ...]] = ("sigma", "output_sigma", "test_epsilon")
    has_test: ClassVar[bool] = True
    control: ClassVar[str] = "pp-admm"

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
    threshold_noise: Literal["once", "redrawn"] | None = Field(
        None,
        description="the threshold's noise: `redrawn` in each round with scale cS/ε1 (default under `paper`, as the "
        "paper prints it), or drawn `once` with S/ε1 (default and only choice under `proven`)",
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
        if privacy.calibration == "proven" and self.threshold_noise == "redrawn":
            return "algorithm.threshold_noise: the proven calibration draws it 'once', as its theorem does"
        return super().misfit_of_privacy(privacy)

    def most_releases(self, rounds: int) -> int:
        return min(rounds, self.max_releases)

    def bare_plan(self, rounds: int) -> PerturbationPlan:
        """No noise at all: whatever improves the objective by the threshold is broadcast."""
        test = SvtPlan(
            threshold=self.threshold,
            clip=self.clip,
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

    def paper_budget(self, privacy: Privacy, rounds: int, test_share: float = 0.0) -> PaperBudget:
        return super().paper_budget(privacy, self.max_releases, self.test_share or PAPER_TEST_SHARE)

    def paper_plan(self, privacy: Privacy, problem: LocalProblem, rounds: int) -> PerturbationPlan:
        """Algorithm 2, lines 6, 9 and 11: a release only if the test on the perturbed minimiser passes.

        The perturbed minimiser of every round is looked at, released or not.
        """
        budget, tolerance = self.paper_budget(privacy, rounds), self.paper_tolerance
        test = self.paper_test(problem, claims.pure_epsilon(budget.rho_test))
        printed, bound = self.sensitivity == "printed", privacy.bound
        charge = test.charge(problem, rounds, tolerance, printed=printed, bound=bound)
        looked_at = problem_parameters(problem) | {"sigma": budget.sigma1(problem)}
        opening = (charge, Charge.of("tested-objective", looked_at, "test", rounds, bound))
        return plan_by_paper(budget, problem, tolerance, "selected-output", opening, test, bound)

    def proven_plan(self, privacy: Privacy, problem: LocalProblem, rounds: int) -> PerturbationPlan:
        """A test and at most c releases that together cost (ε, δ).

        The test's ε1 + ε2 is the pure ε whose ρ is `test_share` of the target's ρ. Tested without noise, the test looks
        at the approximate minimiser of the data (`LocalProblem.query_shift`), and a positive answer leads to a solve
        with fresh noise. With shared noise the perturbed minimiser is tested and released, so that every round costs an
        objective perturbation, whether it releases or not.
        """
        target = self.target(privacy, problem)
        share = TEST_SHARE if self.test_share is None else self.test_share
        total = claims.pure_epsilon(share * claims.rho_of(privacy.epsilon, privacy.delta))
        test = self.proven_test(problem, total, target.tolerance)
        charge = test.charge(problem, rounds, target.tolerance, bound=privacy.bound)
        objectives = rounds if test.shared_noise else self.max_releases
        return target.plan(objectives, self.max_releases, test, charge)

    def fixed_test(
        self, privacy: Privacy, problem: LocalProblem, rounds: int, tolerance: float
    ) -> tuple[SvtPlan, Charge] | tuple[None, None]:
        """The test that the scenario names, in the form that the calibration has."""
        assert self.test_epsilon is not None
        by_paper = privacy.calibration == "paper"
        test = (
            self.paper_test(problem, self.test_epsilon)
            if by_paper
            else self.proven_test(problem, self.test_epsilon, tolerance)
        )
        printed = by_paper and self.sensitivity == "printed"
        return test, test.charge(problem, rounds, tolerance, printed=printed, bound=privacy.bound)

    def paper_test(self, problem: LocalProblem, epsilon: float) -> SvtPlan:
        """The test of line 9 that spends ε1 + ε2 = `epsilon`, S = 2C ("printed") or 2C/m ("per-row").

        The query has noise Lap(2cS/ε2). The threshold's is Lap(cS/ε1), redrawn in every round. Drawn once it is
        Lap(S/ε1): one draw is paid for once, however many positives there are (Lyu, Su and Li, Algorithm 1). The
        printed scale is that of Dwork and Roth's "Sparse", which draws again after each of c positives and pays c
        times. Queries contain the regulariser's term, as f_i does; it has no bounded sensitivity, so nothing can be
        proven of them.
        """
        cap, redraw = self.max_releases, self.threshold_noise != "once"
        draws = cap if redraw else 1
        epsilon1, epsilon2 = split(epsilon, cap)
        shift = 2.0 * self.clip / (1.0 if self.sensitivity == "printed" else problem.rows)
        return SvtPlan(
            threshold=self.threshold,
            clip=self.clip,
            cap=cap,
            epsilon1=epsilon1,
            epsilon2=epsilon2,
            threshold_scale=draws * shift / epsilon1,
            query_scale=2.0 * cap * shift / epsilon2,
            redraw=redraw,
            shared_noise=True,
            regularised=True,
        )

    def proven_test(self, problem: LocalProblem, epsilon: float, tolerance: float) -> SvtPlan:
        """A test that spends ε1 + ε2 = `epsilon`, by the theorem of Lyu, Su and Li."""
        epsilon1, epsilon2 = THRESHOLD_SHARE * epsilon, (1.0 - THRESHOLD_SHARE) * epsilon
        shared = self.test == "shared-noise"
        shift = problem.query_shift(self.clip, tolerance, model_is_released=shared)
        return SvtPlan(
            threshold=self.threshold,
            clip=self.clip,
            cap=self.max_releases,
            epsilon1=epsilon1,
            epsilon2=epsilon2,
            threshold_scale=shift / epsilon1,
            query_scale=2.0 * self.max_releases * shift / epsilon2,
            redraw=False,
            shared_noise=shared,
            regularised=False,
        )

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        assert isinstance(plan, PerturbationPlan)
        return IppAdmmPeer(
            objective,
            degree=place.size.degree,
            eta=self.eta,
            plan=plan,
            rng=streams.generator("noise", place.agent),
            test_rng=streams.generator("svt", place.agent),
            clip=self.clip,
            duals=self.keep_duals(objective.features, place),
        )

    def columns(
        self,
        calibration: Calibration,
        objectives: StackedObjectives,
        sizes: Sequence[AgentSize],
        rounds: int,
        streams: Streams,
        allot: Allot,
    ) -> ColumnPeers:
        plans = cast("Sequence[PerturbationPlan]", calibration.plans)
        return IppAdmmColumns(
            objectives,
            sizes,
            eta=self.eta,
            plans=plans,
            clip=self.clip,
            rounds=rounds,
            streams=streams,
            allot=allot,
        )


class IppAdmmPeer(PpAdmmPeer):
    """Algorithm 2 for one agent.

    With `shared_noise` (the paper) the tested point is the perturbed minimiser that would be released. Without it the
    test sees the noise-free minimiser, and a release draws fresh noise: the form whose privacy is proven. With
    `regularised` (the paper) the query contains the regulariser's term, whose sensitivity nothing bounds.

    line 1       peer.Peer: `self.theta: Vector = np.zeros(start) if isinstance(start, int)`
    line 1       duals.Duals: `self._dual: Vector = np.zeros(features)`
    line 2       pp_admm.PaperBudget: `if not 0.0 < share < 1.0:`
    line 3       pp_admm.PaperBudget: `return 2.8 * smoothness / ((self.epsilon1 - self.epsilon3) * rows)`
    line 4       privacy.sparse_vector.SparseVector: `positives: int = 0`
    line 5       agent.program: `for t in range(first, rounds + 1):`
    line 6       `drawn = self.draw()`
    line 7       `shared = linear + self.scaled(drawn)[0] if self._shared_noise else linear`
    line 8       `candidate = yield from self.minimiser(shared)`
    line 9       `query = yield from self.improvement(candidate.theta)`
    line 9       privacy.sparse_vector.SparseVector: `query + laplace(self.rng, self.query_scale) >= self._bar`
    line 10      privacy.sparse_vector.SparseVector: `self.positives += above`
    line 10      `if self._test.exhausted or self._muted:`
    line 11      `b1, b2 = self.scaled(drawn)`
    line 12      `release = gridded(candidate.theta + b2, self.plan.sigma2)`
    line 13      agent.program: `port.broadcast(t, payload)`
    lines 14-16  admm.AdmmPeer: `if sent is not None:`
    lines 17-21  agent.program: `known = neighbourhood.read()`
    lines 17-21  agent.neighbourhood.Neighbourhood: `self._now[place] = Known(last.peer, round, parts,`
    lines 22-23  duals.NodeDuals: `self._dual = self._dual + (self._step(t) / 2) * (self._degree * model - total)`
    """

    def __init__(
        self,
        objective: Objective,
        *,
        degree: int,
        eta: float,
        plan: PerturbationPlan,
        rng: np.random.Generator,
        test_rng: np.random.Generator,
        clip: float,
        duals: Duals | None = None,
    ) -> None:
        super().__init__(objective, degree=degree, eta=eta, plan=plan, rng=rng, duals=duals)
        assert plan.test is not None
        self._test = plan.test.begin(test_rng)
        self._unpaid = plan.opening
        self._muted = False
        self._clip = clip
        self._shared_noise = plan.test.shared_noise
        self._regularised = plan.test.regularised
        self._measured: Vector | None = None
        self._loss = 0.0

    def propose(self, t: int) -> Proposal | Work:
        if self._test.exhausted or self._muted:
            return Proposal(None, 0, 0.0, skipped="exhausted")
        drawn = self.draw()
        linear = self.linear()
        if self.outside(linear):
            # Pay for the test all the same: it is paid for once, whatever the first round brings.
            return Proposal(None, 0, 0.0, self._unpaid, skipped="domain")
        shared = linear + self.scaled(drawn)[0] if self._shared_noise else linear
        candidate = yield from self.minimiser(shared)
        gradients = candidate.gradients
        query = yield from self.improvement(candidate.theta)
        test = Test(self._test.test(query), query)
        charges = self._unpaid
        if not test.passed:
            return Proposal(None, gradients, candidate.gradient_norm, charges, test, "test")
        b1, b2 = self.scaled(drawn)
        if not self._shared_noise:
            candidate = yield from self.minimiser(linear + b1)
            gradients += candidate.gradients
        charges += (self.plan.release,)
        release = gridded(candidate.theta + b2, self.plan.sigma2)
        return Proposal((release,), gradients, candidate.gradient_norm, charges, test)

    def outside(self, linear: Vector) -> bool:
        """The query looks at the last model as well, which must be no longer than a candidate may be."""
        curvature = self.objective.regulariser + 2 * self.eta * self.degree
        return super().outside(linear) or super().outside(curvature * self.theta)

    @property
    def sparse_vector(self) -> SparseVector | None:
        return self._test

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        """What a test has let pass that looked at this very noise is a selection, and not as it was drawn."""
        found = super().noise_of(t, released, known)
        return replace(found, standard=None) if found is not None and self._shared_noise else found

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
