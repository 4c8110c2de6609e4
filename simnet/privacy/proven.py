"""calibration = "proven": the least noise whose proven ε is the one asked for, with no regulariser forced on learning.

The curve of a plan is affine in d² = (2CL/(mσ1))² at every order, so the largest d has a closed form: at each order as
much as the target leaves room for, and the best order wins.

Defaults. `output_share`: 1 % of the Gaussian part goes to the approximate minimiser. `tolerance`: 1e-3·CL/m, so small
that the noise σ2 is 1 % of σ1/μ, which is what the objective's noise does to the model; it costs a few more gradient
steps. `test_share`: 10 % of the budget, counted in ρ, goes to ipp-admm's test. It makes the noise of every release 3 %
larger (ε = 1, δ = 1e-4, c = 15). More buys little: the test's own noise falls only with the square root of its share,
and all that the test decides is which rounds are skipped; on Adult at ε = 1, shares from 2 % to 30 % end at the same
error.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from simnet.errors import BudgetError
from simnet.privacy import curves, zcdp
from simnet.privacy.curves import ORDERS, Curve
from simnet.privacy.fixed_noise import plan_given
from simnet.privacy.ledger import Charge
from simnet.privacy.mechanisms import mechanism
from simnet.privacy.noise_plan import Plan, SvtPlan
from simnet.privacy.problem import LocalProblem

TestedModel = Literal["noise-free", "shared-noise"]

OUTPUT_SHARE = 0.01
TEST_SHARE = 0.1
THRESHOLD_SHARE = 0.3
"""ε1's share of the test. The query's noise is drawn anew in every round and evens out; the threshold's is drawn once,
and an unlucky draw silences an agent for the whole run. So it gets more than the 1 : (2c)^(2/3) that is best for one
query."""


def default_tolerance(problem: LocalProblem) -> float:
    """β = 1e-3·CL/m, but not below what float64 certifies cheaply."""
    return max(1e-3 * problem.weight * problem.lipschitz / problem.rows, 1e-10)


def plan_pp(
    problem: LocalProblem,
    epsilon: float,
    delta: float,
    releases: int,
    *,
    tolerance: float | None = None,
    output_share: float = OUTPUT_SHARE,
    transport: bool = False,
) -> Plan:
    """PP-ADMM: `releases` perturbed minimisers that together cost (ε, δ).

    `transport` prices them by `curves.objective_transport` instead of `curves.objective`.
    """
    budget = _Budget(problem, epsilon, delta, tolerance, output_share, transport)
    return budget.plan(objectives=releases, releases=releases)


def plan_ipp(
    problem: LocalProblem,
    epsilon: float,
    delta: float,
    cap: int,
    rounds: int,
    clip: float,
    *,
    test_share: float = TEST_SHARE,
    tested: TestedModel = "noise-free",
    tolerance: float | None = None,
    output_share: float = OUTPUT_SHARE,
    transport: bool = False,
) -> Plan:
    """IPP-ADMM: a sparse vector test and at most `cap` releases that together cost (ε, δ).

    The test's ε1 + ε2 is the pure ε whose ρ is `test_share` of the target's ρ. "noise-free": the test looks at the
    approximate minimiser of the data (`LocalProblem.query_shift`), and a positive answer leads to a solve with fresh
    noise. "shared-noise": the perturbed minimiser is tested and released, so that every round costs an objective
    perturbation, whether it releases or not.
    """
    if not 0.0 < test_share < 1.0:
        raise BudgetError(f"test_share = {test_share}: a share lies strictly between 0 and 1")
    budget = _Budget(problem, epsilon, delta, tolerance, output_share, transport)
    shared = tested == "shared-noise"
    total = zcdp.pure_epsilon(test_share * zcdp.rho_of(epsilon, delta))
    test = svt(problem, total, cap, clip, budget.tolerance, shared_noise=shared)
    charge = test.charge(problem, rounds, clip, budget.tolerance)
    return budget.plan(objectives=rounds if shared else cap, releases=cap, test=test, test_charge=charge)


def svt(
    problem: LocalProblem, epsilon: float, cap: int, clip: float, tolerance: float, *, shared_noise: bool
) -> SvtPlan:
    """A test that spends ε1 + ε2 = `epsilon`."""
    epsilon1, epsilon2 = THRESHOLD_SHARE * epsilon, (1.0 - THRESHOLD_SHARE) * epsilon
    shift = problem.query_shift(clip, tolerance, model_is_released=shared_noise)
    return SvtPlan(
        cap=cap,
        epsilon1=epsilon1,
        epsilon2=epsilon2,
        threshold_scale=shift / epsilon1,
        query_scale=2.0 * cap * shift / epsilon2,
        redraw=False,
        shared_noise=shared_noise,
        regularised=False,
    )


class _Budget:
    """A target (ε, δ) for one agent, and how its noise is split."""

    def __init__(
        self,
        problem: LocalProblem,
        epsilon: float,
        delta: float,
        tolerance: float | None,
        output_share: float,
        transport: bool,
    ) -> None:
        if not epsilon > 0.0:
            raise BudgetError(f"epsilon = {epsilon}: it must be above 0")
        if not 0.0 < output_share < 1.0:
            raise BudgetError(f"output_share = {output_share}: a share lies strictly between 0 and 1")
        self.problem = problem
        self.epsilon = epsilon
        self.delta = delta
        self.tolerance = default_tolerance(problem) if tolerance is None else tolerance
        self.output_ratio = output_share / (1.0 - output_share)
        self.transport = transport

    def plan(
        self,
        objectives: int,
        releases: int,
        test: SvtPlan | None = None,
        test_charge: Charge | None = None,
    ) -> Plan:
        """Noise for so many objective perturbations and releases, beside a test whose price is fixed."""
        asked = np.zeros_like(ORDERS) if test_charge is None else _curve(test_charge)
        fixed, slope = self._objective(self.problem.kappa)
        with np.errstate(invalid="ignore"):
            room = (curves.allowance(self.epsilon, self.delta) - asked - objectives * fixed) / (
                objectives * slope + releases * self.output_ratio * 0.5 * ORDERS
            )
        square = float(np.nanmax(room))
        if not square > 0.0:
            raise BudgetError(self._complaint(objectives, asked))
        # Rounding must not carry the sum over the target: nine digits of the noise are given away.
        ratio = math.sqrt(square) * (1.0 - 1e-9)
        return self._plan(ratio, objectives, releases, test, test_charge)

    def _objective(self, kappa: float) -> tuple[Curve, Curve]:
        """The curve of one objective perturbation is fixed + d²·slope; both infinite where the theorem ends."""
        bound = curves.objective_transport if self.transport else curves.objective
        fixed = bound(ORDERS, 0.0, kappa)
        with np.errstate(invalid="ignore"):
            slope = bound(ORDERS, 1.0, kappa) - fixed
        return fixed, np.where(np.isfinite(fixed), slope, np.inf)

    def _plan(
        self,
        ratio: float,
        objectives: int,
        releases: int,
        test: SvtPlan | None,
        test_charge: Charge | None,
    ) -> Plan:
        sigma1 = self.problem.gradient_shift / ratio
        sigma2 = 2.0 * self.tolerance / (self.problem.curvature * ratio * math.sqrt(self.output_ratio))
        plan = plan_given(
            self.problem,
            sigma1,
            sigma2,
            self.tolerance,
            releases,
            self.delta,
            transport=self.transport,
            test=test,
            test_charge=test_charge,
            rounds=objectives,
        )
        if plan.epsilon > self.epsilon:
            raise BudgetError(f"the plan for ε = {self.epsilon:g} came out at {plan.epsilon}: please report this")
        return plan

    def _complaint(self, objectives: int, asked: Curve) -> str:
        """Which part is too large, and what would fit."""
        kappa = self.problem.kappa
        head = f"ε = {self.epsilon:g} at δ = {self.delta:g} cannot be met by an agent with {self.problem.rows} rows: "
        test = curves.epsilon(asked, self.delta)
        if test >= self.epsilon:
            return head + f"the test alone costs ε = {test:.3g}; a smaller test_share would fit"
        allowed = curves.allowance(self.epsilon, self.delta) - asked
        most = math.ceil(float(np.max(allowed / self._objective(kappa)[0]))) - 1
        rows = self.problem.rows
        while np.max(allowed - objectives * self._objective(kappa * self.problem.rows / rows)[0]) <= 0.0:
            rows = math.ceil(rows * 1.1)
        curvature = curves.epsilon(objectives * self._objective(kappa)[0], self.delta)
        beside = f" beside the test's {test:.3g}" if test > 0.0 else ""
        least = "" if self.transport else f"{objectives}·log(1+κ) and more with "
        return head + (
            f"the curvature part of {objectives} objective perturbations, {least}κ = {kappa:.3g}, "
            f"costs ε = {curvature:.3g}{beside} before any noise is counted; "
            f"{max(most, 0)} such rounds would fit, or about {rows} rows, or a larger eta or regulariser"
        )


def _curve(charge: Charge) -> Curve:
    numbers = dict(charge.parameters)
    return charge.times * mechanism(charge.mechanism, numbers).curve(ORDERS, numbers)
