"""Plans of PP-ADMM and IPP-ADMM in one call each, for tests that need one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simnet.methods.ipp_admm import IppAdmm
from simnet.methods.pp_admm import PaperBudget
from simnet.privacy.budget import Privacy
from simnet.privacy.objective_perturbation import PerturbationPlan, Target
from simnet.privacy.problem import LocalProblem
from simnet.privacy.sparse_vector import SvtPlan


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
    tested: str = "noise-free",
    bound: str = "least",
    **options: Any,
) -> PerturbationPlan:
    method = IppAdmm.model_construct(max_releases=cap, clip=clip, test=tested, **options)
    return method.proven_plan(Privacy.model_construct(epsilon=epsilon, delta=delta, bound=bound), problem, rounds)


def paper_ipp(
    budget: PaperBudget,
    problem: LocalProblem,
    rounds: int,
    clip: float,
    *,
    regularised: bool = True,
    **options: Any,
) -> PerturbationPlan:
    class WithThisBudget(IppAdmm):
        def paper_budget(self, privacy: Privacy, rounds: int, test_share: float = 0.0) -> PaperBudget:
            return budget

        def paper_test(self, problem: LocalProblem, epsilon: float) -> SvtPlan:
            return replace(super().paper_test(problem, epsilon), regularised=regularised)

    settings = {"max_releases": budget.releases, "clip": clip} | options
    return WithThisBudget(name="ipp-admm", **settings).paper_plan(Privacy(), problem, rounds)
