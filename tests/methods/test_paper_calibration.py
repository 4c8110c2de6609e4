"""The paper's calibration, against its formulas written out again."""

from __future__ import annotations

import math

import pytest

from simnet.errors import BudgetError
from simnet.methods.dp_admm import paper_sigma
from simnet.methods.ipp_admm import IppAdmm
from simnet.methods.pp_admm import PaperBudget, plan_by_paper
from simnet.privacy import claims
from simnet.privacy.budget import Privacy
from simnet.privacy.ledger import account, claim_of
from simnet.privacy.problem import LocalProblem
from tests.methods.plans import paper_ipp

DELTA = 1e-4
ROWS = 7000


def problem(budget: PaperBudget, rows: int = ROWS, eta: float = 0.5) -> LocalProblem:
    return LocalProblem.of(rows, 3, eta, budget.regulariser_floor(rows))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 10.0])
def test_pp_admm_has_the_papers_numbers(epsilon: float) -> None:
    budget = PaperBudget(epsilon, DELTA, 30)
    rho = epsilon**2 / (4 * math.log(1e4))
    assert budget.rho_total == pytest.approx(rho)
    assert budget.rho1 == pytest.approx(0.999 * rho / 30)
    assert budget.rho2 == pytest.approx(0.001 * rho / 30)
    epsilon1 = budget.rho1 + 2 * math.sqrt(budget.rho1 * math.log(1e4))
    assert budget.epsilon1 == pytest.approx(epsilon1)
    assert budget.epsilon3 == pytest.approx(0.99 * epsilon1)
    floor = 2.8 * 0.25 / (0.01 * epsilon1 * ROWS)
    assert budget.regulariser_floor(ROWS) == pytest.approx(floor)
    plan = plan_by_paper(budget, problem(budget))
    assert plan.sigma1 == pytest.approx(2 * math.sqrt(2 * math.log(1.25e4)) / (ROWS * 0.99 * epsilon1))
    assert plan.sigma2 == pytest.approx(10**-3.5 / (math.sqrt(2 * budget.rho2) * (floor + 3.0)))


@pytest.mark.parametrize("epsilon", [0.5, 10.0])
def test_the_claim_of_a_plan_is_the_budget_it_came_from(epsilon: float) -> None:
    """Read backwards from the noise alone, Theorem 1 gives ρ_total again, and so ε + ρ_total (erratum 8)."""
    budget = PaperBudget(epsilon, DELTA, 30)
    plan = plan_by_paper(budget, problem(budget))
    claimed = account([plan.release] * 30, DELTA).claimed_epsilon
    assert claimed == pytest.approx(claims.epsilon_of(budget.rho_total, DELTA))
    assert claimed == plan.epsilon


def test_ipp_admm_has_the_papers_test() -> None:
    budget = PaperBudget(1.0, DELTA, 15, test_share=0.1)
    whole = math.sqrt(2 * 0.1 * budget.rho_total)
    printed = paper_ipp(budget, problem(budget), 30, 2.0, sensitivity="printed")
    per_row = paper_ipp(budget, problem(budget), 30, 2.0)
    assert printed.test is not None
    assert per_row.test is not None
    epsilon1 = whole / (1 + 30 ** (2 / 3))
    epsilon2 = whole - epsilon1
    assert printed.test.query_scale == pytest.approx(4 * 15 * 2.0 / epsilon2)
    assert printed.test.threshold_scale == pytest.approx(2 * 15 * 2.0 / epsilon1)
    assert per_row.test.query_scale == pytest.approx(printed.test.query_scale / ROWS)
    assert per_row.test.threshold_scale == pytest.approx(printed.test.threshold_scale / ROWS)
    assert printed.test.redraw
    assert per_row.test.redraw
    once = paper_ipp(budget, problem(budget), 30, 2.0, threshold_noise="once")
    assert once.test is not None
    assert not once.test.redraw
    assert once.test.query_scale == per_row.test.query_scale
    # One draw is paid for once, however many positives there are.
    assert once.test.threshold_scale == pytest.approx(per_row.test.threshold_scale / 15)
    for plan in (printed, per_row, once):
        spent = account((*plan.opening, *[plan.release] * 15), DELTA)
        assert spent.claimed_epsilon == pytest.approx(claims.epsilon_of(budget.rho_total, DELTA))


@pytest.mark.parametrize("threshold_noise", [None, "once"])
@pytest.mark.parametrize("sensitivity", ["per-row", "printed"])
def test_what_is_claimed_of_the_test_is_what_its_plan_was_made_for(threshold_noise: str, sensitivity: str) -> None:
    """Read backwards from the noise alone; of the query, which contains the regulariser, nothing finite is proven."""
    method = IppAdmm(name="ipp-admm", threshold_noise=threshold_noise, sensitivity=sensitivity)
    test = method.paper_test(LocalProblem.of(ROWS, 3, 0.5, 0.05), 0.3)
    charge = test.charge(LocalProblem.of(ROWS, 3, 0.5, 0.05), 30, 0.0, printed=sensitivity == "printed")
    assert claims.pure_epsilon(claim_of(charge.use).rho) == pytest.approx(0.3)
    assert account([charge], DELTA).proven_epsilon is None


def test_the_proven_calibration_draws_the_threshold_once() -> None:
    assert IppAdmm(name="ipp-admm").misfit_of_privacy(Privacy()) is None
    redrawn = IppAdmm(name="ipp-admm", threshold_noise="redrawn")
    assert redrawn.misfit_of_privacy(Privacy(calibration="paper")) is None
    said = redrawn.misfit_of_privacy(Privacy())
    assert said is not None
    assert said.startswith("algorithm.threshold_noise")


def test_what_the_paper_claims_for_ipp_admm_forgets_that_every_round_costs() -> None:
    """Every tested round costs an objective perturbation, every redrawn test counts, and the output costs 4ρ2."""
    budget = PaperBudget(1.0, DELTA, 15, test_share=0.1)
    spent = [
        account(paper_ipp(budget, problem(budget), rounds, 2.0, regularised=False).opening, DELTA)
        for rounds in (30, 45)
    ]
    assert spent[0].claimed_epsilon == spent[1].claimed_epsilon
    assert spent[0].proven_epsilon < spent[1].proven_epsilon
    assert spent[1].proven_epsilon > spent[1].claimed_epsilon


def test_nothing_is_proven_of_a_query_that_contains_the_regulariser() -> None:
    budget = PaperBudget(1.0, DELTA, 15, test_share=0.1)
    plan = paper_ipp(budget, problem(budget), 30, 2.0)
    assert account(plan.opening, DELTA).proven_epsilon is None


def test_the_agent_with_the_fewest_rows_decides_the_regulariser() -> None:
    budget = PaperBudget(1.0, DELTA, 30)
    small, large = budget.regulariser_floor(1000), budget.regulariser_floor(9000)
    assert small == pytest.approx(9 * large)
    shared = plan_by_paper(budget, LocalProblem.of(9000, 3, 0.5, small))
    assert shared.epsilon < claims.epsilon_of(budget.rho_total, DELTA)
    with pytest.raises(BudgetError, match="needs at least"):
        plan_by_paper(budget, LocalProblem.of(1000, 3, 0.5, large))


def test_shares_must_be_shares() -> None:
    with pytest.raises(BudgetError, match="output_share = 0"):
        PaperBudget(1.0, DELTA, 30, output_share=0.0)
    with pytest.raises(BudgetError, match="objective_share = 1"):
        PaperBudget(1.0, DELTA, 30, objective_share=1.0)


def test_dp_admms_noise_claims_what_was_asked_of_it() -> None:
    sigma = paper_sigma(1.0, 1e-3, 50, 20_000)
    rho = 50 * (1 / 20_000) ** 2 / (2 * sigma**2)
    alpha = math.log(1e3) / 0.5 + 1
    assert alpha * rho + math.log(1e3) / (alpha - 1) == pytest.approx(1.0)
