"""PP-ADMM and IPP-ADMM with noise that the scenario names: ε is what it comes to, by proof and by the paper."""

from __future__ import annotations

import math

from simnet.privacy.ledger import Charge, account
from simnet.privacy.mechanisms import problem_parameters
from simnet.privacy.noise_plan import Plan, SvtPlan
from simnet.privacy.problem import LocalProblem


def plan_given(
    problem: LocalProblem,
    sigma1: float,
    sigma2: float,
    tolerance: float,
    releases: int,
    delta: float,
    *,
    transport: bool = False,
    test: SvtPlan | None = None,
    test_charge: Charge | None = None,
    rounds: int = 0,
) -> Plan:
    """σ1 in the objective, σ2 on the minimiser; with a `test`, at most `releases` of them in so many `rounds`."""
    shared = test is not None and test.shared_noise
    name = "selected-output" if shared else "perturbed-minimiser"
    objective = problem_parameters(problem) | {"sigma": sigma1}
    numbers = objective | {"tolerance": tolerance, "output_sigma": sigma2}
    if problem.regulariser > 0.0:
        numbers["regulariser"] = problem.regulariser
    if transport:
        objective["transport"] = 1.0
        if not shared:
            numbers["transport"] = 1.0
    opening: tuple[Charge, ...] = ()
    if test_charge is not None:
        opening = (test_charge, Charge.of(name, numbers, "test", releases))
        if shared:
            opening = (*opening, Charge.of("tested-objective", objective, "test", rounds))
    spent = account((*opening, Charge.of(name, numbers, "release", releases)), delta).proven_epsilon
    return Plan(
        sigma1=sigma1,
        sigma2=sigma2,
        tolerance=tolerance,
        releases=releases,
        opening=opening,
        release=Charge.of(name, numbers),
        epsilon=math.inf if spent is None else spent,
        test=test,
    )
