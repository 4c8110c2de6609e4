"""PP-ADMM: Ding, Wang, Liang, Bi, Pan, "Towards Plausible Differentially Private ADMM Based Distributed Machine
Learning" (CIKM 2020), Algorithm 1.

Each round an agent adds b1·θ to its local problem, equation (5), finds a point where the gradient's norm is at most β,
adds b2 to it and releases the sum:

    θ̂ ≈ argmin f_i(θ) + (2λ_i + b1)·θ + η Σ_j |½(θ_i + θ_j) − θ|²        b1 ~ N(0, σ1² I)
    θ_i ← θ̂ + b2                                                        b2 ~ N(0, σ2² I)

calibration = "paper" takes the paper's own numbers (section 5). Two misprints are set right: line 3 is
λ̂ >= 2.8 N c1/((ε_i1 − ε_i3) m) as in Algorithm 2, and σ1 divides by ε_i3 as in Algorithm 1. What these numbers claim
is not what they guarantee; the ledger reports both. calibration = "proven" takes the least noise that
`simnet.privacy.objective_perturbation` proves to be enough, and forces no regulariser on learning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal, cast

import numpy as np
from pydantic import Field, model_validator

from simnet.errors import BudgetError
from simnet.learning.column_solver import Allot
from simnet.learning.row_objective import Objective
from simnet.learning.stacked_objectives import StackedObjectives
from simnet.methods.admm import AdmmPeer, Decentralised
from simnet.methods.columns import ColumnPeers
from simnet.methods.duals import Duals
from simnet.methods.method import AgentPlace, AgentSize, Calibration, Finding, Setting
from simnet.methods.peer import OUTSIDE, Known, Peer, Proposal, Work
from simnet.methods.perturbed_columns import PpAdmmColumns
from simnet.methods.scaling import Scaled
from simnet.methods.theorems import FAILURE, Samples
from simnet.parts.fields import Positive, Share
from simnet.privacy import claims
from simnet.privacy.budget import NoisePlan, Privacy
from simnet.privacy.claims import DELTA1
from simnet.privacy.ledger import Charge, claimed
from simnet.privacy.mechanisms import Bound, problem_parameters
from simnet.privacy.noise import gridded
from simnet.privacy.objective_perturbation import (
    PerturbationPlan,
    Target,
    bare,
    default_tolerance,
    domain_of,
    fixed,
)
from simnet.privacy.problem import LocalProblem
from simnet.privacy.recovered import Candidate
from simnet.privacy.sparse_vector import SvtPlan
from simnet.streams import Streams
from simnet.vectors import Vector

PAPER_TOLERANCE = 10.0**-3.5
PAPER_OUTPUT_SHARE = 0.001
"""The paper's `splits`."""


class PpAdmm(Decentralised):
    """PP-ADMM: Gaussian objective perturbation and Gaussian output perturbation of an approximate minimiser."""

    colour: ClassVar[str] = "#0072B2"
    planned: ClassVar[bool] = True
    noise_amounts: ClassVar[tuple[str, ...]] = ("sigma", "output_sigma")

    name: Literal["pp-admm"]
    tolerance: Positive | None = Field(
        None,
        description="β, the gradient norm at which a local solve may stop; default: 10^-3.5 under `paper`, "
        "chosen by the calibration under `proven`",
    )
    output_share: Share | None = Field(
        None,
        description="share of a release's ρ spent on output noise (the paper's splits); default: 0.001 under "
        "`paper`, chosen under `proven`",
    )
    objective_share: Share = Field(0.99, description="ε_i3/ε_i1 of the paper's calibration")
    sigma: Positive | None = Field(
        None, description="σ1 of the noise in the objective; ε is then what it comes to; default: from privacy.epsilon"
    )
    output_sigma: Positive | None = Field(
        None, description="σ2 of the noise on the approximate minimiser, named together with sigma"
    )

    @model_validator(mode="after")
    def _both_amounts_of_noise(self) -> PpAdmm:
        if (self.sigma is None) != (self.output_sigma is None):
            raise ValueError("sigma: name output_sigma as well, or neither")
        return self

    def calibrate(self, privacy: Privacy, sizes: Sequence[AgentSize], rounds: int) -> Calibration:
        """The paper's λ̂ is one number for the network, so the agent with the fewest rows decides."""
        regulariser = self.regulariser
        if privacy.calibration == "paper" and not self.names_its_noise:
            budget = self.paper_budget(privacy, rounds)
            floor = budget.regulariser_floor(min(size.rows for size in sizes), sizes[0].constants[1])
            regulariser = max(regulariser, floor)
        found = {size: self._plan(privacy, size, rounds, regulariser) for size in dict.fromkeys(sizes)}
        return Calibration([found[size] for size in sizes], regulariser, self.limit(privacy))

    def _plan(self, privacy: Privacy, size: AgentSize, rounds: int, regulariser: float) -> PerturbationPlan:
        if privacy.calibration == "none":
            return self.bare_plan(rounds)
        problem = self.local_problem(size, eta=self.eta, regulariser=regulariser)
        if self.names_its_noise:
            return self.fixed_plan(privacy, problem, rounds)
        return (self.paper_plan if privacy.calibration == "paper" else self.proven_plan)(privacy, problem, rounds)

    def bare_plan(self, rounds: int) -> PerturbationPlan:
        """No noise at all: the method is then ADMM."""
        return bare(rounds, self.tolerance)

    def paper_plan(self, privacy: Privacy, problem: LocalProblem, rounds: int) -> PerturbationPlan:
        """Algorithm 1, lines 6 and 9: noise in the objective and on the approximate minimiser, in every round."""
        return plan_by_paper(self.paper_budget(privacy, rounds), problem, self.paper_tolerance, bound=privacy.bound)

    def proven_plan(self, privacy: Privacy, problem: LocalProblem, rounds: int) -> PerturbationPlan:
        """The least noise whose proven ε is the one asked for."""
        return self.target(privacy, problem).plan(objectives=rounds, releases=rounds)

    def fixed_plan(self, privacy: Privacy, problem: LocalProblem, rounds: int) -> PerturbationPlan:
        """The noise that the scenario names; ε is what it comes to."""
        assert self.sigma is not None
        assert self.output_sigma is not None
        by_paper = privacy.calibration == "paper"
        tolerance = self.paper_tolerance if by_paper else self.tolerance or default_tolerance(problem)
        test, test_charge = self.fixed_test(privacy, problem, rounds, tolerance)
        return fixed(
            problem,
            self.sigma,
            self.output_sigma,
            tolerance,
            rounds if test is None else test.cap,
            privacy.delta,
            bound=privacy.bound,
            test=test,
            test_charge=test_charge,
            rounds=rounds,
        )

    def fixed_test(
        self, privacy: Privacy, problem: LocalProblem, rounds: int, tolerance: float
    ) -> tuple[SvtPlan, Charge] | tuple[None, None]:
        """The test that the scenario names, and its price."""
        return None, None

    def paper_budget(self, privacy: Privacy, rounds: int, test_share: float = 0.0) -> PaperBudget:
        """The paper's split of (ε, δ)."""
        return PaperBudget(
            privacy.epsilon,
            privacy.delta,
            rounds,
            output_share=self.output_share or PAPER_OUTPUT_SHARE,
            objective_share=self.objective_share,
            test_share=test_share,
        )

    def target(self, privacy: Privacy, problem: LocalProblem) -> Target:
        """(ε, δ), to be met by proof."""
        return Target(
            problem,
            privacy.epsilon,
            privacy.delta,
            tolerance=self.tolerance,
            output_share=self.output_share,
            bound=privacy.bound,
        )

    @property
    def paper_tolerance(self) -> float:
        return PAPER_TOLERANCE if self.tolerance is None else self.tolerance

    def peer(self, plan: NoisePlan | None, objective: Objective, place: AgentPlace, streams: Streams) -> Peer:
        assert isinstance(plan, PerturbationPlan)
        return PpAdmmPeer(
            objective,
            degree=place.size.degree,
            eta=self.eta,
            plan=plan,
            rng=streams.generator("noise", place.agent),
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
        return PpAdmmColumns(objectives, sizes, eta=self.eta, plans=plans, streams=streams, allot=allot)

    def theory(self, setting: Setting) -> list[Finding]:
        plans = [plan for plan in setting.calibration.plans if isinstance(plan, PerturbationPlan)]
        clean = [Samples(plan.tolerance, setting.features) for plan in plans]
        noisy = [Samples(plan.tolerance, setting.features, plan.sigma1, plan.sigma2) for plan in plans]
        least = min(size.rows for size in setting.sizes)
        named = ("PP-ADMM Theorem 3", "no noise", clean), ("PP-ADMM Theorem 4", "with noise", noisy)
        return [
            found
            for name, noise, samples in named
            for found in (
                least_error(f"{name}: least error, {noise}", samples),
                least_rows(f"{name}: rows, {noise}", samples, least),
            )
        ]


def least_error(name: str, samples: Sequence[Samples]) -> Finding:
    """Which error a theorem can promise with any number of rows."""
    worst = max(each.least_error for each in samples)
    return Finding(
        name,
        worst < math.log(2.0),
        math.log(2.0) - worst,
        f"no number of rows promises less than {worst:.3g} above the loss of a model of norm 1 "
        f"(ξ = {FAILURE:g}); the zero model is at most log 2 above it",
    )


def least_rows(name: str, samples: Sequence[Samples], rows: int) -> Finding:
    """How many rows a theorem asks an agent to have, up to its constant, for half of what the zero model may be off."""
    error = math.log(2.0) / 2.0
    needed = max(each.rows(error) for each in samples)
    told = f"|D_i| >= {needed:.3g} V" if needed < math.inf else "no number of rows"
    return Finding(
        name,
        None,
        needed,
        f"{told} promises {error:.3g} above the loss of a model of norm 1 (ξ = {FAILURE:g}); the paper gives no V, and "
        f"the smallest agent has {rows:,} rows",
    )


class ScaledPpAdmm(Scaled, PpAdmm):
    """PP-ADMM on rows whose columns are scaled by released moments."""

    colour: ClassVar[str] = "#004488"
    planned: ClassVar[bool] = False

    name: Literal["scaled-pp-admm"]  # type: ignore[assignment]


class PaperBudget:
    """ρ_total = ε²/(4 ln 1/δ), split over so many releases (T of PP-ADMM, c of IPP-ADMM) and a test's share.

    The same for every agent. `output_share` is the paper's `splits`, `objective_share` its ε_i3/ε_i1; the paper does
    not say what share the test has. `epsilon1` is ε_i1 = ρ1 + 2√(ρ1 ln 1/δ_i1), `epsilon3` is ε_i3, the part of it that
    sets σ1.
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        releases: int,
        *,
        output_share: float = PAPER_OUTPUT_SHARE,
        objective_share: float = 0.99,
        test_share: float = 0.0,
    ) -> None:
        for name, share in (("output_share", output_share), ("objective_share", objective_share)):
            if not 0.0 < share < 1.0:
                raise BudgetError(f"{name} = {share}: a share lies strictly between 0 and 1")
        self.delta = delta
        self.releases = releases
        self.rho_total = claims.printed_rho(epsilon, delta)
        self.rho_test = test_share * self.rho_total
        rho = (1.0 - test_share) * self.rho_total / releases
        self.rho1, self.rho2 = (1.0 - output_share) * rho, output_share * rho
        self.epsilon1 = claims.epsilon_of(self.rho1, DELTA1)
        self.epsilon3 = objective_share * self.epsilon1

    def regulariser_floor(self, rows: int, smoothness: float = 0.25) -> float:
        """The least λ̂/N that line 3 allows an agent with so many rows."""
        return 2.8 * smoothness / ((self.epsilon1 - self.epsilon3) * rows)

    def sigma1(self, problem: LocalProblem) -> float:
        """Line 6: σ1 = 2L√(2 ln(1.25/δ_i1))/(m ε_i3)."""
        spread = math.sqrt(2.0 * math.log(1.25 / DELTA1))
        return 2.0 * problem.lipschitz * spread / (problem.rows * self.epsilon3)

    def sigma2(self, problem: LocalProblem, tolerance: float) -> float:
        """Line 9: σ2 = β/(√(2ρ2)(λ̂/N + 2ηV))."""
        return tolerance / (math.sqrt(2.0 * self.rho2) * problem.curvature)


def plan_by_paper(
    budget: PaperBudget,
    problem: LocalProblem,
    tolerance: float = PAPER_TOLERANCE,
    mechanism: str = "perturbed-minimiser",
    opening: tuple[Charge, ...] = (),
    test: SvtPlan | None = None,
    bound: Bound = "least",
) -> PerturbationPlan:
    """The noise of a budget of the paper; with a `test`, all releases that it may let pass are charged in advance."""
    floor = budget.regulariser_floor(problem.rows, problem.smoothness)
    if problem.regulariser < floor * (1.0 - 1e-12):
        raise BudgetError(
            f"regulariser = {problem.regulariser:g}: the paper's calibration needs at least {floor:g} "
            f"for an agent with {problem.rows} rows"
        )
    numbers = problem_parameters(problem) | {
        "sigma": budget.sigma1(problem),
        "tolerance": tolerance,
        "output_sigma": budget.sigma2(problem, tolerance),
        "regulariser": problem.regulariser,
        "delta1": DELTA1,
    }
    if test is not None:
        opening = (*opening, Charge.of(mechanism, numbers, "test", budget.releases, bound))
    charges = (*opening, Charge.of(mechanism, numbers, "release", budget.releases, bound))
    return PerturbationPlan(
        sigma1=numbers["sigma"],
        sigma2=numbers["output_sigma"],
        tolerance=tolerance,
        releases=budget.releases,
        opening=opening,
        release=Charge.of(mechanism, numbers, bound=bound),
        epsilon=claimed(charges, budget.delta) or math.inf,
        test=test,
        domain=domain_of(problem, numbers["sigma"], tolerance),
    )


class PpAdmmPeer(AdmmPeer):
    """Algorithm 1 for one agent.

    line 1       peer.Peer: `self.theta: Vector = np.zeros(start) if isinstance(start, int)`
    line 1       duals.Duals: `self._dual: Vector = np.zeros(features)`
    line 2       PaperBudget: `if not 0.0 < share < 1.0:`
    line 3       PaperBudget: `return 2.8 * smoothness / ((self.epsilon1 - self.epsilon3) * rows)`
    lines 4-5    agent.program: `for t in range(first, rounds + 1):`
    lines 6, 9   `b1, b2 = self.scaled(self.draw())`
    lines 7-8    `solution = yield from self.minimiser(linear + b1)`
    line 10      `release = gridded(solution.theta + b2, self.plan.sigma2)`
    lines 11-14  agent.program: `port.broadcast(t, payload)`
    lines 15-18  duals.NodeDuals: `self._dual = self._dual + (self._step(t) / 2) * (self._degree * model - total)`
    """

    def __init__(
        self,
        objective: Objective,
        *,
        degree: int,
        eta: float,
        plan: PerturbationPlan,
        rng: np.random.Generator,
        duals: Duals | None = None,
    ) -> None:
        super().__init__(objective, degree=degree, eta=eta, tolerance=plan.stop, duals=duals, domain=plan.domain)
        self.plan = plan
        self.rng = rng

    def draw(self) -> Vector:
        """What b1 and b2 are made of. It is drawn in every round, used or not, so that a skip shifts no later draw."""
        return self.rng.standard_normal(2 * self.objective.features)

    def scaled(self, drawn: Vector) -> tuple[Vector, Vector]:
        """b1 and b2."""
        return self.plan.scaled(drawn)

    def propose(self, t: int) -> Proposal | Work:
        b1, b2 = self.scaled(self.draw())
        linear = self.linear()
        if self.outside(linear):
            return OUTSIDE
        solution = yield from self.minimiser(linear + b1)
        release = gridded(solution.theta + b2, self.plan.sigma2)
        return Proposal((release,), solution.gradients, solution.gradient_norm, (self.plan.release,))

    @property
    def noise_source(self) -> np.random.Generator | None:
        return self.rng

    def noise_of(self, t: int, released: Vector, known: Sequence[Known]) -> Candidate | None:
        return self.noise_in(self.plan, self.duals.linear(self.theta, self.eta), released)

    def price(self, t: int) -> tuple[Charge, ...] | None:
        return (self.plan.release,)
