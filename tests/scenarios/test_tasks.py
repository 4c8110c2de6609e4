"""The tasks under scenarios/tasks: ten classes, a number and a small network, each at a proven ε and live too."""

from __future__ import annotations

from pathlib import Path

import pytest

from simnet import Scenario, run
from simnet.live import run as live
from tests.live.test_fleet import same_course
from tests.worlds import PATIENT, unlawful

HERE = Path(__file__).parents[2] / "scenarios" / "tasks"
TASKS = {"digits": 0.2, "age": 0.24, "network": 0.25}
"""What each must come below: guessing errs on nine of ten digits, and the mean age is 0.266 off."""


@pytest.mark.parametrize("name", TASKS)
def test_it_is_learned_at_a_proven_price(name):
    scenario = Scenario.load(HERE / f"{name}.toml")
    result = run(scenario)
    assert unlawful(result) == []
    assert result.summary["accuracy"]["test_error"] < TASKS[name]
    assert 0.9 * scenario.privacy.epsilon < result.summary["privacy"]["proven_epsilon"] <= scenario.privacy.epsilon
    assert result.summary["privacy"]["claimed_epsilon"] is None


@pytest.mark.parametrize("name", TASKS)
def test_live_agents_learn_it_too(name):
    changes = {"rounds": 3, "topology": {"kind": "ring", "agents": 3}, "network.pacing": PATIENT}
    scenario = Scenario.load(HERE / f"{name}.toml").with_(**changes)
    same_course(live.run(scenario, tls=False), run(scenario))


@pytest.mark.parametrize("name", TASKS)
def test_a_method_whose_proof_is_about_something_else_is_refused(name):
    from simnet.errors import ScenarioError

    with pytest.raises(ScenarioError, match="pp-admm needs a convex loss of the margin"):
        Scenario.load(HERE / f"{name}.toml").with_method("pp-admm")
