"""The sizes of the papers' errors, as docs/errata.md states them."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy

from simnet import Scenario, run
from simnet.methods import METHODS
from simnet.methods.dp_admm import FusedLasso, LassoSteps, paper_sigma
from simnet.methods.pp_admm import PaperBudget
from simnet.privacy import claims, curves
from simnet.privacy.ledger import Charge, account
from simnet.privacy.mechanisms import problem_parameters
from simnet.privacy.objective_perturbation import PerturbationPlan
from simnet.privacy.problem import LocalProblem
from simnet.privacy.sparse_vector import SparseVector
from simnet.record.events import ReleaseMade
from simnet.record.lines import unpack
from tests.methods.plans import paper_ipp

ROWS, DELTA = 7000, 1e-4


def plan(epsilon: float = 1.0, sensitivity: str = "per-row") -> PerturbationPlan:
    budget = PaperBudget(epsilon, DELTA, 15, test_share=0.1)
    problem = LocalProblem.of(ROWS, 2, 0.5, budget.regulariser_floor(ROWS))
    return paper_ipp(budget, problem, 30, 2.0, sensitivity=sensitivity)


def test_1_approximate_privacy_gives_no_finite_zcdp():
    """Publish the data with probability δ, nothing otherwise: (0, δ)-private, and D_a is infinite for every a > 1.

    P = (δ on "x", 1 − δ on nothing), Q = (δ on "x'", 1 − δ on nothing): P is not absolutely continuous to Q.
    """
    delta = 1e-4
    p, q = {"x": delta, "": 1 - delta}, {"x'": delta, "": 1 - delta}
    total_variation = sum(max(0.0, p.get(o, 0.0) - q.get(o, 0.0)) for o in p.keys() | q.keys())
    assert total_variation == delta
    order = 1.5
    with np.errstate(divide="ignore"):
        moments = [mass**order * np.float64(q.get(outcome, 0.0)) ** (1 - order) for outcome, mass in p.items()]
    assert math.isinf(sum(moments))


def test_2_the_printed_floor_of_the_regulariser_is_a_misprint():
    """With 2.8Nε_i1 instead of 2.8Nc1 the floor would not depend on ε."""
    printed = {}
    for epsilon in (0.5, 10.0):
        budget = PaperBudget(epsilon, DELTA, 30)
        printed[epsilon] = 2.8 * budget.epsilon1 / ((budget.epsilon1 - budget.epsilon3) * ROWS)
    assert printed[0.5] == pytest.approx(printed[10.0])
    floors = [PaperBudget(epsilon, DELTA, 30).regulariser_floor(ROWS) for epsilon in (0.5, 1.0, 10.0)]
    assert floors == sorted(floors, reverse=True)
    assert floors[1] == pytest.approx(0.0546, abs=2e-4)


def test_3_the_output_noise_costs_four_times_what_it_is_priced_at():
    tolerance, curvature, rho2 = 10**-3.5, 2.05, 1e-6
    sigma2 = tolerance / (math.sqrt(2 * rho2) * curvature)
    orders = np.array([2.0, 10.0])
    assert curves.gaussian(orders, 2 * tolerance / curvature, sigma2) == pytest.approx(orders * 4 * rho2)


@pytest.mark.parametrize("query", [-0.5, 0.0, 0.5])
def test_4_as_printed_the_test_is_a_coin_flip(query):
    """Pass rate 0.500 whatever the query: the noise is 7,000 times what one row can move."""
    test = plan(sensitivity="printed").test
    rng = np.random.default_rng(11)
    passes = [
        SparseVector(1, 1e-3, test.threshold_scale, test.query_scale, True, rng).test(query) for _ in range(20_000)
    ]
    assert np.mean(passes) == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(20_000))


def test_6_who_sees_what_is_sent_cannot_tell_an_agent_that_aborts_from_one_that_stops_at_c():
    """With silence after c releases, "abort at the (c+1)-th yes" sends what simnet sends, draw for draw."""
    for seed in range(200):
        queries = np.random.default_rng(seed).normal(0.0, 2.0, 40)
        ours = SparseVector(3, 0.5, 1.0, 1.0, True, np.random.default_rng(1000 + seed))
        stopped = [ours.test(float(query)) for query in queries]
        endless = SparseVector(10**9, 0.5, 1.0, 1.0, True, np.random.default_rng(1000 + seed))
        count, printed, aborted = 0, [], False
        for query in queries:
            passed = endless.test(float(query))
            count += passed
            aborted = aborted or (passed and count > 3)
            printed.append(passed and not aborted)
        assert stopped == printed


def test_7_the_tested_noise_counts_in_every_round():
    """Theorem 5 prices c objective perturbations; the tests look at all T of them."""
    found = plan()
    spent = account(
        (*found.opening, Charge.of("selected-output", dict(found.release.parameters), "release", 15)), DELTA
    )
    assert spent.claimed_epsilon == pytest.approx(1.027, abs=2e-3)
    # The query contains the regulariser, which nothing bounds: no finite ε at all.
    assert spent.proven_epsilon is None


def test_8_the_printed_conversion_overspends():
    assert claims.epsilon_of(claims.printed_rho(10.0, DELTA), DELTA) == pytest.approx(12.7, abs=0.05)
    assert claims.epsilon_of(claims.rho_of(10.0, DELTA), DELTA) == pytest.approx(10.0)


def test_9_dp_admm_pays_for_removing_a_row_and_protects_replacing_one():
    sigma = paper_sigma(1.0, 1e-3, 30, 35_000)
    charge = Charge.of("noisy-gradient", {"rows": 35_000, "gradient_bound": 1.0, "sigma": sigma}, "release", 30)
    spent = account([charge], 1e-3)
    assert spent.claimed_epsilon <= 1.0 + 1e-9
    assert spent.proven_epsilon > 1.5


def test_10_pdmls_primal_noise_loses_geometrically():
    problem = LocalProblem.of(500, 3, 0.1, 0.01)
    losses = []
    for rounds in (10, 20, 30):
        charges = [
            Charge.of(
                "reported-primal",
                problem_parameters(problem) | {"sigma": 0.5 * math.sqrt(0.8**t), "tolerance": 0.0},
            )
            for t in range(rounds)
        ]
        losses.append(account(charges, DELTA).proven_epsilon)
    assert losses[1] > 3 * losses[0]
    assert losses[2] > 3 * losses[1]


@pytest.mark.parametrize("calibration", ["none", "paper", "proven"])
def test_21_models_with_fresh_noise_in_every_round_converge_to_no_fixed_point(calibration):
    small = {"source": "synthetic", "rows": 600, "train": 500, "features": 4}
    algorithm = {"name": "pp-admm", "eta": 0.05, "regulariser": 0.05}
    scenario = Scenario.of(
        {"data": small, "rounds": 200, "algorithm": algorithm, "privacy": {"calibration": calibration, "epsilon": 5.0}}
    )
    models = {}
    for _, _, event in run(scenario).events:
        if isinstance(event, ReleaseMade) and event.agent == 0:
            models[event.round] = unpack(event.value)
    moves = [float(np.linalg.norm(models[t + 1] - models[t])) for t in range(1, 200)]
    early, late = np.mean(moves[40:60]), np.mean(moves[-20:])
    if calibration == "none":
        assert late < 0.05 * early
    else:
        assert late == pytest.approx(early, rel=0.5)


ROOT = Path(__file__).parents[2]
ERRATA = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")


def test_every_erratum_says_whether_the_papers_version_is_available():
    rows = [line.strip("| ").split(" | ") for line in ERRATA.splitlines() if re.match(r"\| \d", line)]
    assert [int(cells[0]) for cells in rows] == [*range(1, 22)]
    assert {int(cells[0]) for cells in rows if "*not available*" in cells[5]} == {2, 9}
    named = {field for cells in rows for field in re.findall(r"`algorithm\.(\w+)", cells[5])}
    known = {field for method in METHODS.values() for field in method.model_fields}
    assert named <= known
    assert {"sensitivity", "threshold_noise", "test", "gamma", "agent_dual_step", "objective_bound"} <= named


def test_what_is_said_to_be_unavailable_is_what_simnet_repairs():
    """2: a floor that falls with ε; 9: a dual at zero."""
    floors = [PaperBudget(epsilon, DELTA, 30).regulariser_floor(ROWS) for epsilon in (0.5, 10.0)]
    assert floors[0] > floors[1]
    lasso = FusedLasso(scipy.sparse.csr_array(np.eye(2)), 1e-5, 1.0, 0.1, 2.0)
    assert not LassoSteps(lasso, accelerated=True)._u.any()


def test_what_the_errors_cost_is_what_the_table_holds():
    table = pl.read_csv(ROOT / "docs" / "error_and_epsilon.csv")
    without = table.filter(method="admm")
    at = [table.filter(method="pp-admm", calibration=name, epsilon=1.0) for name in ("paper", "proven")]
    told = [*(rows["test_error"].mean() for rows in at), without["test_error"].mean()]
    told = [told[0], without["constant"].mean(), *told[1:], without["optimum"].mean(), without["best_optimum"].mean()]
    passage = ERRATA.split("## What the errors cost")[1].split("![")[0]
    assert re.findall(r"(\d+\.\d) %", passage) == [f"{100 * value:.1f}" for value in told]
    assert without.height == 5
    assert at[0]["optimum"].mean() == pytest.approx(at[0]["constant"].mean(), abs=1e-4)
    assert at[1]["optimum"].mean() < 0.7 * at[1]["constant"].mean()
