"""Calibration to a proven target: met from below, never exceeded, and refused with a reason."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simnet.errors import BudgetError
from simnet.privacy import curves, trade_offs
from simnet.privacy.curves import ORDERS
from simnet.privacy.ledger import account, trade_off_of
from simnet.privacy.objective_perturbation import PerturbationPlan, default_tolerance, fixed
from simnet.privacy.problem import LocalProblem
from tests.methods.plans import proven_ipp, proven_pp
from tests.privacy.plain_trade_offs import least_epsilon

DELTA = 1e-4
ADULT = LocalProblem.of(7000, 2, 0.01, 1e-4)

targets = st.floats(0.05, 20.0)
deltas = st.sampled_from([1e-3, 1e-4, 1e-6])
bounds = st.sampled_from(["least", "moments", "transport"])
problems = st.builds(
    LocalProblem.of,
    rows=st.integers(50, 200_000),
    neighbours=st.integers(1, 20),
    eta=st.floats(0.005, 1.0),
    regulariser=st.sampled_from([0.0, 1e-4, 0.01]),
    weight=st.sampled_from([1.0, 0.5, 4.0]),
    smoothness=st.sampled_from([0.25, 1.0]),
)


def arbiter(plan: PerturbationPlan, delta: float) -> tuple[float, float]:
    """dp-accounting's answer over all orders, for curves summed here and not by the ledger; and theorem G, plainly."""
    from dp_accounting.rdp import compute_epsilon

    total = np.zeros_like(ORDERS)
    release = dict(plan.release.parameters)
    problem = LocalProblem(
        int(release["rows"]), release["curvature"], release["lipschitz"], release["smoothness"], release["weight"]
    )
    proofs = {name for charge in (*plan.opening, plan.release) for name, _ in charge.parameters}
    bound = curves.objective_transport if proofs & {"transport", "least"} else curves.objective
    objectives, epsilon = plan.releases, 0.0
    if plan.test is not None:
        test = dict(plan.opening[0].parameters)
        shift = problem.query_shift(test["clip"], plan.tolerance, model_is_released=plan.test.shared_noise)
        epsilon = shift / plan.test.threshold_scale + 2 * plan.test.cap * shift / plan.test.query_scale
        total = total + curves.pure(ORDERS, epsilon)
        objectives = int(test["tests"]) if plan.test.shared_noise else plan.releases
    ratio, output = problem.gradient_shift / plan.sigma1, (2 * plan.tolerance / problem.curvature / plan.sigma2) ** 2
    total = total + objectives * bound(ORDERS, ratio, problem.kappa) + plan.releases * ORDERS * output / 2
    by_curves = float(compute_epsilon(ORDERS.tolist(), total.tolist(), delta)[0])
    if "least" not in proofs:
        return by_curves, math.inf
    return by_curves, least_epsilon(ratio, problem.kappa, objectives, plan.releases * output, epsilon, delta)


def judge(plan: PerturbationPlan, spent: float | None, epsilon: float, delta: float) -> None:
    """The target is met from below, and an independent account says so."""
    assert spent == plan.epsilon
    assert epsilon - 1e-4 <= spent <= epsilon
    by_curves, by_theorem_g = arbiter(plan, delta)
    if by_curves <= by_theorem_g:
        assert spent == pytest.approx(by_curves, abs=1e-9)
    else:
        # The ledger tries a few shares of δ, the arbiter many radii.
        assert by_theorem_g * (1 - 1e-6) <= spent <= min(1.003 * by_theorem_g + 1e-4, by_curves)


@given(problems, targets, deltas, st.integers(1, 200), bounds)
@settings(max_examples=60, deadline=None)
def test_pp_admm_meets_its_target_from_below(
    problem: LocalProblem, epsilon: float, delta: float, releases: int, bound: str
) -> None:
    try:
        plan = proven_pp(problem, epsilon, delta, releases, bound=bound)
    except BudgetError:
        assume(False)
        return
    judge(plan, account([plan.release] * releases, delta).proven_epsilon, epsilon, delta)


@given(
    problems,
    targets,
    deltas,
    st.integers(1, 40),
    st.integers(0, 60),
    st.sampled_from([0.02, 0.1, 0.5]),
    st.sampled_from(["noise-free", "shared-noise"]),
    bounds,
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
    bound: str,
) -> None:
    try:
        plan = proven_ipp(problem, epsilon, delta, cap, cap + more, 2.0, test_share=share, tested=tested, bound=bound)
    except BudgetError:
        assume(False)
        return
    judge(plan, account((*plan.opening, *[plan.release] * cap), delta).proven_epsilon, epsilon, delta)


def test_less_noise_would_be_too_little() -> None:
    for bound in ("least", "moments", "transport"):
        plan = proven_pp(ADULT, 0.5, DELTA, 30, bound=bound)
        less = fixed(ADULT, plan.sigma1 * (1 - 1e-3), plan.sigma2, plan.tolerance, 30, DELTA, bound=bound)
        assert less.epsilon > 0.5


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
    without = proven_pp(ADULT, 1.0, DELTA, 15).sigma1
    tested = proven_ipp(ADULT, 1.0, DELTA, 15, 30, 2.0).sigma1
    assert tested / without == pytest.approx(1.03, abs=0.005)


def test_the_sharper_bound_needs_less_noise() -> None:
    plain = proven_pp(ADULT, 0.5, DELTA, 30, bound="moments")
    sharp = proven_pp(ADULT, 0.5, DELTA, 30, bound="transport")
    assert plain.sigma1 == pytest.approx(0.01456, rel=1e-3)
    assert sharp.sigma1 == pytest.approx(0.01030, rel=1e-3)
    # With a larger penalty a row bends the objective less, and theorem G is the sharper proof.
    flat = LocalProblem.of(7000, 2, 0.1, 1e-4)
    by_curves = proven_pp(flat, 1.0, DELTA, 30, bound="transport").sigma1
    assert proven_pp(flat, 1.0, DELTA, 30).sigma1 < 0.93 * by_curves


@given(problems, targets, deltas, st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_the_least_of_what_is_proven_is_at_most_each_of_it(
    problem: LocalProblem, epsilon: float, delta: float, releases: int
) -> None:
    """The same noise under each bound, and theorem G alone; and the least noise for the same ε."""
    try:
        plan = proven_pp(problem, epsilon, delta, releases)
    except BudgetError:
        assume(False)
        return

    def price(bound: str) -> float:
        return fixed(problem, plan.sigma1, plan.sigma2, plan.tolerance, releases, delta, bound=bound).epsilon

    least = price("least")
    assert least <= min(price("moments"), price("transport"))
    traded = trade_off_of(plan.release.use)
    assert traded is not None
    assert least <= trade_offs.epsilon(traded.times(releases), delta)
    for bound in ("moments", "transport"):
        try:
            assert plan.sigma1 <= proven_pp(problem, epsilon, delta, releases, bound=bound).sigma1 * (1 + 1e-8)
        except BudgetError:
            continue


@given(problems, targets, deltas, st.integers(1, 200), bounds)
@settings(max_examples=60, deadline=None)
def test_less_noise_more_curvature_or_more_releases_are_never_cheaper(
    problem: LocalProblem, epsilon: float, delta: float, releases: int, bound: str
) -> None:
    try:
        plan = proven_pp(problem, epsilon, delta, releases, bound=bound)
    except BudgetError:
        assume(False)
        return

    def price(problem: LocalProblem, sigma: float, count: int, delta: float) -> float:
        return fixed(problem, sigma, plan.sigma2, plan.tolerance, count, delta, bound=bound).epsilon

    here = price(problem, plan.sigma1, releases, delta) - 1e-9
    assert price(problem, 0.9 * plan.sigma1, releases, delta) >= here
    assert price(replace(problem, smoothness=1.2 * problem.smoothness), plan.sigma1, releases, delta) >= here
    assert price(problem, plan.sigma1, releases + 1, delta) >= here
    assert price(problem, plan.sigma1, releases, 0.5 * delta) >= here


def test_a_budget_below_the_curvature_part_is_refused_with_what_would_fit() -> None:
    small = LocalProblem.of(300, 2, 0.01, 1e-4)
    with pytest.raises(BudgetError, match=r"30·log\(1\+κ\) and more .* before any noise is counted"):
        proven_pp(LocalProblem.of(1000, 2, 0.01, 1e-4), 0.5, DELTA, 30, bound="moments")
    with pytest.raises(BudgetError, match=r"30 objective perturbations, κ = 0\.0208, costs ε = "):
        proven_pp(small, 0.5, DELTA, 30)


def test_a_test_that_eats_the_budget_is_named() -> None:
    with pytest.raises(BudgetError, match=r"beside the test's 0\.0\d+ before any noise"):
        proven_ipp(LocalProblem.of(300, 2, 0.01, 1e-4), 0.5, DELTA, 30, 30, 2.0)


def test_shares_must_be_shares() -> None:
    with pytest.raises(BudgetError, match="output_share"):
        proven_ipp(ADULT, 1.0, DELTA, 15, 30, 2.0, output_share=1.0)


def test_a_target_must_be_positive() -> None:
    with pytest.raises(BudgetError, match="above 0"):
        proven_pp(ADULT, 0.0, DELTA, 30)
