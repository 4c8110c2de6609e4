"""Plans of PP-ADMM and IPP-ADMM in one call each, for tests that need one."""

from __future__ import annotations

from typing import Any

from simnet.methods.ipp_admm import TEST_SHARE, paper_plan_with_test, paper_test, plan_with_test
from simnet.methods.pp_admm import PAPER_TOLERANCE, PaperBudget
from simnet.privacy import claims
from simnet.privacy.objective_perturbation import PerturbationPlan, Target
from simnet.privacy.problem import LocalProblem

THRESHOLD = 1e-3


def proven_pp(problem: LocalProblem, epsilon: float, delta: float, releases: int, **options: Any) -> PerturbationPlan:
    return Target(problem, epsilon, delta, **options).plan(releases, releases)


def proven_ipp(
    problem: LocalProblem,
    epsilon: float,
    delta: float,
    cap: int,
    rounds: int,
    clip: float,
    *,
    test_share: float = TEST_SHARE,
    tested: str = "noise-free",
    threshold: float = THRESHOLD,
    **options: Any,
) -> PerturbationPlan:
    target, shared = Target(problem, epsilon, delta, **options), tested == "shared-noise"
    return plan_with_test(target, threshold, cap, rounds, clip, share=test_share, shared_noise=shared)


def paper_ipp(
    budget: PaperBudget, problem: LocalProblem, rounds: int, clip: float, sensitivity: Any = "per-row", **options: Any
) -> PerturbationPlan:
    total = claims.pure_epsilon(budget.rho_test)
    test = paper_test(problem, total, THRESHOLD, budget.releases, clip, sensitivity, **options)
    charge = test.charge(problem, rounds, clip, PAPER_TOLERANCE, printed=sensitivity == "printed")
    return paper_plan_with_test(budget, problem, test, charge, rounds, PAPER_TOLERANCE)
