"""calibration = "paper": PP-ADMM's and IPP-ADMM's own numbers (Ding et al., CIKM 2020, Algorithms 1 and 2, section 5).

Two misprints are set right: λ̂ >= 2.8 N c1/((ε_i1 − ε_i3) m) as in Algorithm 2, and σ1 divides by ε_i3 as in
Algorithm 1.
What these numbers claim is not what they guarantee; the ledger reports both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from simnet.errors import BudgetError
from simnet.privacy import zcdp
from simnet.privacy.claims import DELTA1
from simnet.privacy.ledger import Charge, account
from simnet.privacy.mechanisms import problem_parameters
from simnet.privacy.noise_plan import Plan, SvtPlan
from simnet.privacy.problem import LocalProblem
from simnet.privacy.sparse_vector import split

TOLERANCE = 10.0**-3.5

Sensitivity = Literal["per-row", "printed"]
ThresholdNoise = Literal["redrawn", "once"]


@dataclass(frozen=True)
class PaperBudget:
    """ρ_total = ε²/(4 ln 1/δ) and its shares; the same for every agent.

    `epsilon1` is ε_i1 = ρ1 + 2√(ρ1 ln 1/δ_i1), `epsilon3` is ε_i3, the part of it that sets σ1.
    """

    delta: float
    delta1: float
    releases: int
    rho_total: float
    rho_test: float
    rho1: float
    rho2: float
    epsilon1: float
    epsilon3: float

    def regulariser_floor(self, rows: int, smoothness: float = 0.25) -> float:
        """The least λ̂/N that Algorithm 1, line 3 allows an agent with so many rows.

        λ̂ is one number for the network, so the agent with the fewest rows decides.
        """
        return 2.8 * smoothness / ((self.epsilon1 - self.epsilon3) * rows)


@dataclass(frozen=True, kw_only=True)
class PaperPlan(Plan):
    """A plan with the budget it came from and the least regulariser that the paper allows this agent."""

    budget: PaperBudget
    regulariser_floor: float


def budget(
    epsilon: float,
    delta: float,
    releases: int,
    *,
    output_share: float = 0.001,
    objective_share: float = 0.99,
    test_share: float = 0.0,
    delta1: float = DELTA1,
) -> PaperBudget:
    """Split (ε, δ) over so many releases (T for pp-admm, c for ipp-admm) and the test's share.

    `output_share` is the paper's `splits`, `objective_share` its ε_i3/ε_i1; the paper does not say what share the test
    has.
    """
    for name, share in (("output_share", output_share), ("objective_share", objective_share)):
        if not 0.0 < share < 1.0:
            raise BudgetError(f"{name} = {share}: a share lies strictly between 0 and 1")
    if not 0.0 <= test_share < 1.0:
        raise BudgetError(f"test_share = {test_share}: a share of at least 0 and below 1 would be right")
    rho_total = zcdp.printed_rho(epsilon, delta)
    rho = (1.0 - test_share) * rho_total / releases
    rho1 = (1.0 - output_share) * rho
    epsilon1 = zcdp.epsilon_of(rho1, delta1)
    return PaperBudget(
        delta=delta,
        delta1=delta1,
        releases=releases,
        rho_total=rho_total,
        rho_test=test_share * rho_total,
        rho1=rho1,
        rho2=output_share * rho,
        epsilon1=epsilon1,
        epsilon3=objective_share * epsilon1,
    )


def plan_pp(budget: PaperBudget, problem: LocalProblem, tolerance: float = TOLERANCE) -> PaperPlan:
    """PP-ADMM, Algorithm 1: noise in the objective and on the approximate minimiser, in every round."""
    return _plan(budget, problem, tolerance, "perturbed-minimiser", (), None)


def plan_ipp(
    budget: PaperBudget,
    problem: LocalProblem,
    rounds: int,
    clip: float,
    tolerance: float = TOLERANCE,
    *,
    sensitivity: Sensitivity = "per-row",
    threshold_noise: ThresholdNoise = "redrawn",
    regularised: bool = True,
) -> PaperPlan:
    """IPP-ADMM, Algorithm 2: a release only if the sparse vector test on the perturbed minimiser passes.

    With S = 2C ("printed") or 2C/m ("per-row") the query has noise Lap(2cS/ε2) and the threshold Lap(cS/ε1), drawn
    once or redrawn in every round; once, Lap(S/ε1) would do by the theorem that the paper cites. `regularised` queries
    contain the regulariser's term, as f_i does; it has no bounded sensitivity, so nothing can be proven of them.
    """
    if budget.rho_test == 0.0:
        raise BudgetError("test_share = 0: ipp-admm tests before it releases, and the test needs a share above 0")
    total = zcdp.pure_epsilon(budget.rho_test)
    test = svt(problem, total, budget.releases, clip, sensitivity, threshold_noise, regularised=regularised)
    sigma1 = _sigma1(budget, problem)
    opening = (
        test.charge(problem, rounds, clip, tolerance, printed=sensitivity == "printed"),
        Charge.of("tested-objective", problem_parameters(problem) | {"sigma": sigma1}, "test", rounds),
    )
    return _plan(budget, problem, tolerance, "selected-output", opening, test)


def svt(
    problem: LocalProblem,
    epsilon: float,
    cap: int,
    clip: float,
    sensitivity: Sensitivity,
    threshold_noise: ThresholdNoise,
    *,
    regularised: bool = True,
) -> SvtPlan:
    """The test of Algorithm 2 that spends ε1 + ε2 = `epsilon`."""
    epsilon1, epsilon2 = split(epsilon, cap)
    shift = 2.0 * clip / (1.0 if sensitivity == "printed" else problem.rows)
    return SvtPlan(
        cap=cap,
        epsilon1=epsilon1,
        epsilon2=epsilon2,
        threshold_scale=cap * shift / epsilon1,
        query_scale=2.0 * cap * shift / epsilon2,
        redraw=threshold_noise == "redrawn",
        shared_noise=True,
        regularised=regularised,
    )


def dp_admm_sigma(
    epsilon: float, delta: float, rounds: int, rows: int, gradient_bound: float = 1.0, mu0: float = 0.5
) -> float:
    """DP-ADMM, Theorem 1: σ² = c²αT/(2n²εμ0) with α = ln(1/δ)/((1−μ0)ε) + 1."""
    alpha = math.log(1.0 / delta) / ((1.0 - mu0) * epsilon) + 1.0
    return gradient_bound / rows * math.sqrt(alpha * rounds / (2.0 * epsilon * mu0))


def _sigma1(budget: PaperBudget, problem: LocalProblem) -> float:
    """σ1 = 2L√(2 ln(1.25/δ_i1))/(m ε_i3)."""
    spread = math.sqrt(2.0 * math.log(1.25 / budget.delta1))
    return 2.0 * problem.lipschitz * spread / (problem.rows * budget.epsilon3)


def _plan(
    budget: PaperBudget,
    problem: LocalProblem,
    tolerance: float,
    name: str,
    opening: tuple[Charge, ...],
    test: SvtPlan | None,
) -> PaperPlan:
    floor = budget.regulariser_floor(problem.rows, problem.smoothness)
    if problem.regulariser < floor * (1.0 - 1e-12):
        raise BudgetError(
            f"regulariser = {problem.regulariser:g}: the paper's calibration needs at least {floor:g} "
            f"for an agent with {problem.rows} rows"
        )
    sigma2 = tolerance / (math.sqrt(2.0 * budget.rho2) * problem.curvature)
    numbers = problem_parameters(problem) | {
        "sigma": _sigma1(budget, problem),
        "tolerance": tolerance,
        "output_sigma": sigma2,
        "regulariser": problem.regulariser,
        "delta1": budget.delta1,
    }
    release = Charge.of(name, numbers)
    if test is not None:
        opening = (*opening, Charge.of(name, numbers, "test", budget.releases))
    spent = account((*opening, Charge.of(name, numbers, "release", budget.releases)), budget.delta)
    return PaperPlan(
        sigma1=numbers["sigma"],
        sigma2=sigma2,
        tolerance=tolerance,
        releases=budget.releases,
        opening=opening,
        release=release,
        epsilon=spent.claimed_epsilon or math.inf,
        test=test,
        budget=budget,
        regulariser_floor=floor,
    )
