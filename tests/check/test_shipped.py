"""What is shipped passes: users' files in full, our own methods without processes and audits."""

from __future__ import annotations

from pathlib import Path

import pytest

from simnet.check import check
from simnet.check.outcome import Status
from simnet.methods import METHODS
from tests.check.mutants import failures, outcomes
from tests.portions import some

HERE = Path(__file__).parents[2] / "scenarios" / "methods"
FILES = {
    "dp_gossip.py:DpGossip": {},
    "choco.py:Choco": {"algorithm.entries": 2},
    "coca.py:Coca": {},
    "gradient_tracking.py:GradientTracking": {},
    "noisy_fixed_point.py:NoisyFixedPoint": {},
}
SLOW = ("live", "live, killed", "audit", "audit of a lie")


@pytest.mark.parametrize("name", some(FILES, 2))
def test_a_users_file_passes_everything(name):
    result = check(f"{HERE}/{name}", FILES[name])
    assert result.passed, [each for each in result.outcomes if each.status == "failed"]


@pytest.mark.parametrize("name", some(("prox-rounds", "one-shot", "noisy-nesterov", "scaled-pp-admm"), 4))
def test_a_method_on_scaled_columns_passes_live_and_in_an_audit(name):
    found = outcomes(name, *SLOW)
    assert {found[check].status for check in SLOW} == {Status.PASSED}, [found[check] for check in SLOW]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_ours_passes(name):
    assert failures(outcomes(name)) == {}
