"""Gaussian objective perturbation: b1·θ in the objective, an approximate minimiser of it, and b2 on that.

`fixed` prices noise that somebody names. `Target.plan` finds the least noise that meets (ε, δ) by proof. The largest
d = 2CL/(mσ1) has a closed form in each proof: the Rényi curve of a plan is affine in d² at every order, and the M² of
theorem G is quadratic in d for every share of δ. The best order or share of the best proof wins.

Defaults. `OUTPUT_SHARE`: 1 % of the Gaussian part goes to the approximate minimiser. `default_tolerance`: 1e-3·CL/m, so
small that the noise σ2 is 1 % of σ1/μ, which is what the objective's noise does to the model; it costs a few more
gradient steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from simnet.errors import BudgetError
from simnet.privacy import curves, trade_offs
from simnet.privacy.budget import BARE_TOLERANCE, Facts, NoisePlan
from simnet.privacy.curves import ORDERS, Curve
from simnet.privacy.ledger import BARE, Charge, account, curve_of, trade_off_of
from simnet.privacy.mechanisms import Bound, problem_parameters
from simnet.privacy.noise import gaussian_length, gridded
from simnet.privacy.problem import LocalProblem
from simnet.privacy.rounding import UNIT, certified, domain
from simnet.privacy.sparse_vector import SvtPlan
from simnet.privacy.steps import ObjectiveStep
from simnet.privacy.trade_offs import TradeOff, largest_ratio
from simnet.vectors import Vector

OUTPUT_SHARE = 0.01


@dataclass(frozen=True, kw_only=True)
class PerturbationPlan(NoisePlan):
    """Noise N(0, σ1² I) in the objective, a minimiser certified to `tolerance`, noise N(0, σ2² I) on it.

    `opening` is charged before the first round, `release` before each release; `epsilon` is what `releases` of them
    amount to, in the accounting that the plan was made for. `domain` is how long the linear term of a local problem may
    be for the certificate to hold (`simnet.privacy.rounding`).
    """

    sigma1: float
    sigma2: float
    tolerance: float
    releases: int
    opening: tuple[Charge, ...]
    release: Charge
    epsilon: float
    test: SvtPlan | None = None
    domain: float = math.inf
    curvature: float = 0.0
    """μ of the problem that it is for; 0 where nobody has said."""

    @property
    def charges(self) -> tuple[Charge, ...]:
        return (*self.opening, *[self.release] * self.releases)

    @property
    def stop(self) -> float:
        """Where a solve ends, so that its certificate is `tolerance`."""
        return certified(self.tolerance, self.domain)

    def draw(self, rng: np.random.Generator, features: int) -> tuple[Vector, Vector]:
        """b1, which is added to the linear term of the objective, and b2, for `finished`.

        It is drawn in every round, used or not, so that a skip shifts no later draw.
        """
        return self.scaled(rng.standard_normal(2 * features))

    def scaled(self, drawn: Vector) -> tuple[Vector, Vector]:
        """b1 and b2, made of standard normal numbers."""
        features = len(drawn) // 2
        return self.sigma1 * drawn[:features], self.sigma2 * drawn[features:]

    def finished(self, theta: Vector, b2: Vector) -> Vector:
        """What is released of an approximate minimiser."""
        return gridded(theta + b2, self.sigma2)

    def amounts(self) -> Facts:
        facts: Facts = {
            "releases": self.releases,
            "σ1 in the objective": self.sigma1,
            "σ2 on the output": self.sigma2,
            "β, gradient norm": self.tolerance,
            "B, domain": self.domain,
        }
        return facts if self.test is None else facts | self.test.facts()

    def weakened(self, factor: float) -> Self:
        """Less noise in the objective; ½ is that for a sensitivity of L/m, at the charges of that for 2L/m."""
        return replace(self, sigma1=factor * self.sigma1)


def default_tolerance(problem: LocalProblem) -> float:
    """β = 1e-3·CL/m, but not below a thousand times what rounding does to a sum over so many rows."""
    size = problem.weight * problem.lipschitz
    return max(1e-3 * size / problem.rows, 1e3 * UNIT * problem.rows * size)


def domain_of(problem: LocalProblem, sigma1: float, tolerance: float, test_charge: Charge | None = None) -> float:
    """How long a linear term may be beside noise N(0, σ1² I), and for the query of a test if there is one."""
    clip = None if test_charge is None else dict(test_charge.parameters)["clip"]
    return domain(problem, tolerance, gaussian_length(sigma1, problem.features), clip)


def bare(releases: int, tolerance: float | None, test: SvtPlan | None = None) -> PerturbationPlan:
    """No noise at all; a `test` is then a question without noise."""
    return PerturbationPlan(
        sigma1=0.0,
        sigma2=0.0,
        tolerance=BARE_TOLERANCE if tolerance is None else tolerance,
        releases=releases,
        opening=() if test is None else (Charge.of(BARE.mechanism, {}, "test", releases),),
        release=BARE,
        epsilon=math.inf,
        test=test,
    )


def fixed(
    problem: LocalProblem,
    sigma1: float,
    sigma2: float,
    tolerance: float,
    releases: int,
    delta: float,
    *,
    bound: Bound = "least",
    test: SvtPlan | None = None,
    test_charge: Charge | None = None,
    rounds: int = 0,
    mechanism: str = "perturbed-minimiser",
) -> PerturbationPlan:
    """σ1 in the objective, σ2 on the minimiser; with a `test`, at most `releases` of them in so many `rounds`."""
    shared = test is not None and test.shared_noise
    name = "selected-output" if shared else mechanism
    objective = problem_parameters(problem) | {"sigma": sigma1}
    numbers = objective | {"tolerance": tolerance, "output_sigma": sigma2}
    if problem.regulariser > 0.0:
        numbers["regulariser"] = problem.regulariser
    opening: tuple[Charge, ...] = ()
    if test_charge is not None:
        opening = (test_charge, Charge.of(name, numbers, "test", releases, bound))
        if shared:
            opening = (*opening, Charge.of("tested-objective", objective, "test", rounds, bound))
    spent = account((*opening, Charge.of(name, numbers, "release", releases, bound)), delta).proven_epsilon
    return PerturbationPlan(
        sigma1=sigma1,
        sigma2=sigma2,
        tolerance=tolerance,
        releases=releases,
        opening=opening,
        release=Charge.of(name, numbers, bound=bound),
        epsilon=math.inf if spent is None else spent,
        test=test,
        domain=domain_of(problem, sigma1, tolerance, test_charge),
        curvature=problem.curvature,
    )


class Target:
    """(ε, δ) for one agent, to be met by proof, and how its noise is split; `bound` says which proofs may be used."""

    def __init__(
        self,
        problem: LocalProblem,
        epsilon: float,
        delta: float,
        *,
        tolerance: float | None = None,
        output_share: float | None = None,
        bound: Bound = "least",
        mechanism: str = "perturbed-minimiser",
    ) -> None:
        share = OUTPUT_SHARE if output_share is None else output_share
        if not epsilon > 0.0:
            raise BudgetError(f"epsilon = {epsilon}: it must be above 0")
        if not 0.0 < share < 1.0:
            raise BudgetError(f"output_share = {share}: a share lies strictly between 0 and 1")
        self.problem = problem
        self.epsilon = epsilon
        self.delta = delta
        self.tolerance = default_tolerance(problem) if tolerance is None else tolerance
        self.output_ratio = share / (1.0 - share)
        self.bound = bound
        self.mechanism = mechanism

    def plan(
        self,
        objectives: int,
        releases: int,
        test: SvtPlan | None = None,
        test_charge: Charge | None = None,
    ) -> PerturbationPlan:
        """Noise for so many objective perturbations and releases, beside a test whose price is fixed."""
        # Rounding must not carry the sum over the target: nine digits of the noise are given away.
        ratio = self._largest_ratio(objectives, releases, test_charge, self.problem.kappa) * (1.0 - 1e-9)
        if ratio == 0.0:
            raise BudgetError(self._complaint(objectives, test_charge))
        plan = fixed(
            self.problem,
            self.problem.gradient_shift / ratio,
            2.0 * self.tolerance / (self.problem.curvature * ratio * math.sqrt(self.output_ratio)),
            self.tolerance,
            releases,
            self.delta,
            bound=self.bound,
            test=test,
            test_charge=test_charge,
            rounds=objectives,
            mechanism=self.mechanism,
        )
        if plan.epsilon > self.epsilon:
            raise BudgetError(f"the plan for ε = {self.epsilon:g} came out at {plan.epsilon}: please report this")
        return plan

    def _largest_ratio(self, objectives: int, releases: int, test_charge: Charge | None, kappa: float) -> float:
        """The largest d that one of the proofs allows; 0 if none does."""
        by_curves = self._ratio_by_curves(objectives, releases, test_charge, kappa)
        tested = TradeOff() if test_charge is None else trade_off_of(test_charge.use)
        if self.bound != "least" or tested is None or not math.isfinite(tested.square):
            return by_curves
        # Twelve digits, rounded up, so that agents whose tests cost the same but for rounding share the work.
        asked = float(f"{tested.pure * (1.0 + 1e-11):.12g}")
        plain = releases * self.output_ratio
        return max(by_curves, largest_ratio(kappa, objectives, plain, (self.epsilon, self.delta, asked)))

    def _ratio_by_curves(self, objectives: int, releases: int, test_charge: Charge | None, kappa: float) -> float:
        """The curve of one objective perturbation is constant + d²·slope; both infinite where the theorem ends."""
        bound = curves.objective if self.bound == "moments" else curves.objective_transport
        constant = bound(ORDERS, 0.0, kappa)
        with np.errstate(invalid="ignore"):
            slope = np.where(np.isfinite(constant), bound(ORDERS, 1.0, kappa) - constant, np.inf)
            room = (curves.allowance(self.epsilon, self.delta) - _asked(test_charge) - objectives * constant) / (
                objectives * slope + releases * self.output_ratio * 0.5 * ORDERS
            )
        return math.sqrt(max(float(np.nanmax(room)), 0.0))

    def _complaint(self, objectives: int, test_charge: Charge | None) -> str:
        """Which part is too large."""
        kappa = self.problem.kappa
        head = f"ε = {self.epsilon:g} at δ = {self.delta:g} cannot be met: "
        test = 0.0 if test_charge is None else account([test_charge], self.delta).proven_epsilon
        if test is None or test >= self.epsilon:
            return head + f"the test alone costs ε = {test or math.inf:.3g}; a smaller test_share would fit"
        beside = f" beside the test's {test:.3g}" if test > 0.0 else ""
        least = f"{objectives}·log(1+κ) and more with " if self.bound == "moments" else ""
        return head + (
            f"the curvature part of {objectives} objective perturbations, {least}κ = {kappa:.3g}, "
            f"costs ε = {self._of_curvature(objectives):.3g}{beside} before any noise is counted"
        )

    def _of_curvature(self, objectives: int) -> float:
        """What the curvature part of so many objective perturbations costs, however much noise there is."""
        step = ObjectiveStep(0.0, self.problem.kappa, self.bound == "moments")
        by_curves = curves.epsilon(objectives * step.curve(ORDERS), self.delta)
        if self.bound != "least":
            return by_curves
        return min(by_curves, trade_offs.epsilon(step.trade_off().times(objectives), self.delta))


def _asked(test_charge: Charge | None) -> Curve:
    return np.zeros_like(ORDERS) if test_charge is None else test_charge.times * curve_of(test_charge.use)
