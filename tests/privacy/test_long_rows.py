"""Rows longer than 1: whatever a scenario says, no finite ε rests on a bound that they break."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet import Scenario, run
from simnet.build import build
from simnet.errors import BudgetError, ScenarioError
from simnet.extend import AdmmMethod, AdmmPeer, AgentSize, gaussian_plan, mean_sensitivity, objective_plan
from simnet.learning.dataset import longest_row
from simnet.learning.objective import LOGISTIC, LocalObjective
from simnet.learning.solver import Solver
from simnet.methods import METHODS
from simnet.privacy.ledger import BARE, account
from simnet.privacy.problem import LocalProblem

LONG = st.sampled_from(["columns", "none"])


def scenario(name: str, **changes: object) -> Scenario:
    content = {
        "rounds": 3,
        "data": {"source": "twonorm", "rows": 120},
        "topology": {"kind": "complete", "agents": 4},
        "algorithm": {"name": "admm"},
    }
    return Scenario.of(content).with_method(name).with_(**changes)


@given(
    name=st.sampled_from(sorted(METHODS)),
    scale=LONG,
    calibration=st.sampled_from(["proven", "paper", "none"]),
    own=st.sampled_from([{}, {"sigma": 5.0}, {"primal_scale": 5.0}, {"label_epsilon": 2.0}, {"tolerance": 1e-4}]),
)
def test_noise_on_long_rows_is_refused_or_has_no_finite_proven_epsilon(name, scale, calibration, own):
    fields = {f"algorithm.{field}": value for field, value in own.items()}
    try:
        built = build(scenario(name, **{"data.scale": scale, "privacy.calibration": calibration}, **fields))
    except ScenarioError as refused:
        reason = str(refused)
    else:
        reason = None
    if reason is not None:
        possible = ("data.scale", "privacy.calibration", *fields)
        assert reason.startswith(possible), reason
        return
    assert name in ("admm", "pdml")
    assert {(size.gradient_bound, size.smoothness) for size in built.sizes} == {(None, None)}
    for plan in built.calibration.plans:
        charges = (BARE,) if plan is None else plan.charges
        assert account(charges, 1e-4).proven_epsilon is None
        if plan is not None and calibration == "paper":
            assert account(plan.charges, 1e-4).label_epsilon == own.get("label_epsilon", 1.0)


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"admm", "pdml"}))
def test_a_method_whose_constants_are_for_short_rows_says_so_in_one_sentence(name):
    with pytest.raises(ScenarioError, match=rf'^data\.scale = "none": the ε and the steps of {name} are for'):
        scenario(name, **{"data.scale": "none", "privacy.calibration": "none"})


class Welcoming(AdmmMethod):
    """It says that it takes long rows, and its plan has the constants of short ones without ever asking for any."""

    mechanism: Literal["objective", "clipped"] = "objective"

    def misfit_of_long_rows(self, privacy):
        return None

    def plan(self, privacy, size, rounds):
        if self.mechanism == "clipped":
            return gaussian_plan(privacy, rounds, mean_sensitivity(size.rows, 1.0))
        return objective_plan(privacy, rounds, LocalProblem(size.rows, 2.0, features=size.features))

    def peer(self, plan, objective, place, streams):
        return AdmmPeer(objective, degree=place.size.degree, eta=self.eta, tolerance=1e-6)


@pytest.mark.parametrize("scale", ["none", "columns"])
def test_no_price_of_an_objective_is_taken_for_long_rows_whatever_a_method_says_of_itself(scale):
    own = {"name": f"{__name__}:Welcoming", "eta": 1.0}
    world = scenario("admm", **{"algorithm": own, "data.rows": 4000, "privacy.epsilon": 5.0})
    assert build(world).calibration.plans, "rows are short"
    with pytest.raises(ScenarioError, match=rf"^data\.scale = '{scale}': .* pays by objective-perturbation, "):
        build(world.with_(**{"data.scale": scale}))
    assert build(world.with_(**{"data.scale": scale, "algorithm.mechanism": "clipped"})).calibration.plans


def test_pdml_refuses_to_prove_anything_of_long_rows():
    with pytest.raises(ScenarioError, match=r'^data\.scale = "none": nothing is proven of models that are made of'):
        scenario("pdml", **{"data.scale": "none"})


def test_a_plan_that_asks_for_constants_of_long_rows_gets_none():
    with pytest.raises(BudgetError, match="the task states no bounds"):
        _ = AgentSize(10, 2, 3).constants


def test_a_log_of_long_rows_says_what_no_epsilon_covers_and_whose_labels_are_promised():
    result = run(scenario("pdml", **{"data.scale": "none", "privacy.calibration": "paper"}))
    privacy = result.summary["privacy"]
    assert (privacy["claimed_epsilon"], privacy["proven_epsilon"]) == (pytest.approx(1.0), None)
    assert "for the labels alone" in privacy["caveats"][-1]


@pytest.mark.parametrize("scale", [None, "rows"])
def test_where_rows_are_bounded_every_agent_holds_short_ones(scale):
    changes = {} if scale is None else {"data.scale": scale}
    built = build(scenario("pdml", **changes))
    lengths = [np.linalg.norm(np.asarray(part.X), axis=1).max() for part in built.learning.parts]
    assert max(lengths) <= 1.0
    raw = build(scenario("pdml", **{"data.scale": "none", "privacy.calibration": "paper"}))
    assert min(longest_row(part.X) for part in raw.learning.parts) > 1.0


def test_a_long_row_moves_a_minimiser_further_than_a_charge_for_short_ones_covers():
    """So the refusals are needed: the bound of theorem 5 is broken at once."""
    problem = LocalProblem.of(20, 2, 0.1, 0.0, features=2)
    shifts = {}
    for length in (1.0, 8.0):
        found = []
        for sign in (1.0, -1.0):
            X = np.vstack([np.zeros((19, 2)), [[length, 0.0]]])
            objective = LocalObjective(X, np.append(np.ones(19), sign), LOGISTIC, 0.0)
            found.append(Solver(objective).solve(np.zeros(2), 0.4, np.zeros(2), 1e-10).theta)
        shifts[length] = float(np.linalg.norm(found[0] - found[1]))
    assert shifts[1.0] <= problem.minimiser_shift(1e-10) < shifts[8.0]


def test_rows_without_a_place_in_float64_are_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("1,0,-1\n0,1e12,1\n" * 5)
    content = {
        "data": {"source": "rows.csv", "scale": "none"},
        "topology": {"kind": "complete", "agents": 2},
        "algorithm": {"name": "admm"},
    }
    with pytest.raises(ScenarioError, match=r"^data.scale = 'none': a row is 1.41e\+12 long, .* 'rows' shortens it"):
        build(Scenario.of(content, folder=tmp_path))
