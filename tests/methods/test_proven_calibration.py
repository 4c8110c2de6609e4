"""Calibration to a proven target: met from below, never exceeded, and refused with a reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simnet.errors import BudgetError
from simnet.privacy import curves
from simnet.privacy.curves import ORDERS
from simnet.privacy.ledger import account
from simnet.privacy.objective_perturbation import PerturbationPlan, default_tolerance
from simnet.privacy.problem import LocalProblem
from tests.methods.plans import proven_ipp, proven_pp

DELTA = 1e-4
ADULT = LocalProblem.of(7000, 2, 0.01, 1e-4)

targets = st.floats(0.05, 20.0)
deltas = st.sampled_from([1e-3, 1e-4, 1e-6])
problems = st.builds(
    LocalProblem.of,
    rows=st.integers(50, 200_000),
    neighbours=st.integers(1, 20),
    eta=st.floats(0.005, 1.0),
    regulariser=st.sampled_from([0.0, 1e-4, 0.01]),
    weight=st.sampled_from([1.0, 0.5, 4.0]),
    smoothness=st.sampled_from([0.25, 1.0]),
)


def arbiter(plan: PerturbationPlan, delta: float) -> float:
    """dp-accounting's answer over all orders, for curves summed here and not by the ledger."""
    from dp_accounting.rdp import compute_epsilon

    total = np.zeros_like(ORDERS)
    release = dict(plan.release.parameters)
    problem = LocalProblem(
        int(release["rows"]), release["curvature"], release["lipschitz"], release["smoothness"], release["weight"]
    )
    bound = curves.objective_transport if any(dict(c.parameters).get("transport") for c in plan.opening) else None
    bound = bound or (curves.objective_transport if release.get("transport") else curves.objective)
    objectives = plan.releases
    if plan.test is not None:
        test = dict(plan.opening[0].parameters)
        shift = problem.query_shift(test["clip"], plan.tolerance, model_is_released=plan.test.shared_noise)
        epsilon = shift / plan.test.threshold_scale + 2 * plan.test.cap * shift / plan.test.query_scale
        total = total + curves.pure(ORDERS, epsilon)
        objectives = int(test["tests"]) if plan.test.shared_noise else plan.releases
    total = total + objectives * bound(ORDERS, problem.gradient_shift / plan.sigma1, problem.kappa)
    total = total + plan.releases * ORDERS * (2 * plan.tolerance / problem.curvature) ** 2 / (2 * plan.sigma2**2)
    return float(compute_epsilon(ORDERS.tolist(), total.tolist(), delta)[0])


@given(problems, targets, deltas, st.integers(1, 200), st.booleans())
@settings(max_examples=60, deadline=None)
def test_pp_admm_meets_its_target_from_below(
    problem: LocalProblem, epsilon: float, delta: float, releases: int, transport: bool
) -> None:
    try:
        plan = proven_pp(problem, epsilon, delta, releases, transport=transport)
    except BudgetError:
        assume(False)
        return
    spent = account([plan.release] * releases, delta).proven_epsilon
    assert spent == plan.epsilon
    assert epsilon - 1e-4 <= spent <= epsilon
    assert arbiter(plan, delta) == pytest.approx(spent, abs=1e-9)


@given(
    problems,
    targets,
    deltas,
    st.integers(1, 40),
    st.integers(0, 60),
    st.sampled_from([0.02, 0.1, 0.5]),
    st.sampled_from(["noise-free", "shared-noise"]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_ipp_admm_meets_its_target_from_below(
    problem: LocalProblem,
    epsilon: float,
    delta: float,
    cap: int,
    more: int,
    share: float,
    tested: str,
    transport: bool,
) -> None:
    try:
        plan = proven_ipp(
            problem, epsilon, delta, cap, cap + more, 2.0, test_share=share, tested=tested, transport=transport
        )
    except BudgetError:
        assume(False)
        return
    spent = account((*plan.opening, *[plan.release] * cap), delta).proven_epsilon
    assert spent == plan.epsilon
    assert epsilon - 1e-4 <= spent <= epsilon
    assert arbiter(plan, delta) == pytest.approx(spent, abs=1e-9)


def test_less_noise_would_be_too_little() -> None:
    plan = proven_pp(ADULT, 0.5, DELTA, 30)
    ratio = ADULT.gradient_shift / (plan.sigma1 * (1 - 1e-3))
    curve = 30 * (
        curves.objective(ORDERS, ratio, ADULT.kappa) + curves.output(ORDERS, plan.tolerance, 0.0401, plan.sigma2)
    )
    assert curves.epsilon(curve, DELTA) > 0.5


def test_the_default_tolerance_makes_the_output_noise_negligible() -> None:
    plan = proven_pp(ADULT, 0.5, DELTA, 30)
    assert plan.tolerance == pytest.approx(1e-3 / 7000)
    assert plan.sigma2 == pytest.approx(0.01 * plan.sigma1 / ADULT.curvature, rel=0.01)
    output = (2 * plan.tolerance / ADULT.curvature) ** 2 / plan.sigma2**2
    assert output / (output + (ADULT.gradient_shift / plan.sigma1) ** 2) == pytest.approx(0.01)
    assert default_tolerance(LocalProblem(10**9, 1.0)) == pytest.approx(1e3 * 2**-53 * 10**9)


def test_the_test_has_the_sensitivity_of_what_it_looks_at() -> None:
    free = proven_ipp(ADULT, 1.0, DELTA, 15, 30, 2.0)
    shared = proven_ipp(ADULT, 1.0, DELTA, 15, 30, 2.0, tested="shared-noise")
    assert free.test is not None
    assert shared.test is not None
    beta = free.tolerance
    free_shift = 4 / 7000 + (1 - 1 / 7000) * (2 / 7000 + 2 * beta) / ADULT.curvature
    shared_shift = 4 / 7000 + (1 - 1 / 7000) * 2 * beta / ADULT.curvature
    assert free.test.threshold_scale == pytest.approx(free_shift / free.test.epsilon1)
    assert free.test.query_scale == pytest.approx(30 * free_shift / free.test.epsilon2)
    assert shared.test.threshold_scale == pytest.approx(shared_shift / shared.test.epsilon1)
    assert shared.test.query_scale == pytest.approx(30 * shared_shift / shared.test.epsilon2)
    assert not free.test.redraw
    assert not free.test.regularised
    # Thirty objective perturbations instead of fifteen.
    assert shared.sigma1 > 1.3 * free.sigma1


def test_a_tenth_of_the_budget_for_the_test_costs_three_per_cent_more_noise() -> None:
    without = proven_pp(ADULT, 1.0, DELTA, 15, transport=True).sigma1
    tested = proven_ipp(ADULT, 1.0, DELTA, 15, 30, 2.0, transport=True).sigma1
    assert tested / without == pytest.approx(1.03, abs=0.005)


def test_the_sharper_bound_needs_less_noise() -> None:
    plain = proven_pp(ADULT, 0.5, DELTA, 30)
    sharp = proven_pp(ADULT, 0.5, DELTA, 30, transport=True)
    assert plain.sigma1 == pytest.approx(0.01456, rel=1e-3)
    assert sharp.sigma1 == pytest.approx(0.01030, rel=1e-3)


def test_a_budget_below_the_curvature_part_is_refused_with_what_would_fit() -> None:
    small = LocalProblem.of(1000, 2, 0.01, 1e-4)
    with pytest.raises(BudgetError, match=r"30·log\(1\+κ\) and more .* 6 such rounds would fit"):
        proven_pp(small, 0.5, DELTA, 30)
    proven_pp(small, 0.5, DELTA, 6)
    with pytest.raises(BudgetError):
        proven_pp(small, 0.5, DELTA, 7)
    proven_pp(LocalProblem.of(2861, 2, 0.01, 1e-4), 0.5, DELTA, 30)


def test_a_test_that_eats_the_budget_is_named() -> None:
    with pytest.raises(BudgetError, match=r"beside the test's 0\.0\d+ before any noise"):
        proven_ipp(LocalProblem.of(1000, 2, 0.01, 1e-4), 0.5, DELTA, 30, 30, 2.0)


def test_shares_must_be_shares() -> None:
    with pytest.raises(BudgetError, match="output_share"):
        proven_ipp(ADULT, 1.0, DELTA, 15, 30, 2.0, output_share=1.0)


def test_a_target_must_be_positive() -> None:
    with pytest.raises(BudgetError, match="above 0"):
        proven_pp(ADULT, 0.0, DELTA, 30)
