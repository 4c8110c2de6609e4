"""The scenario of a record is checked without any code that it names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from simnet import Scenario
from simnet.errors import ScenarioError
from simnet.scenario.stored import stored
from tests.worlds import world

HERE = Path(__file__).parents[2] / "scenarios" / "methods"


def test_what_is_ours_is_checked_as_it_is():
    scenario = world()
    assert stored(scenario.resolved(), ()).resolved() == scenario.resolved()
    for forged in ({}, {"rounds": 10**18}, {"privacy": "x"}, {"algorithm": {"name": "nobody.py:Knows"}}):
        with pytest.raises(ScenarioError):
            stored(scenario.resolved() | forged if forged else {"algorithm": {"name": "x"}}, ())


def test_parts_of_the_users_own_are_named_and_never_loaded():
    resolved = Scenario.of(
        {"algorithm": {"name": "coca.py:Coca"}, "topology": {"kind": "ring"}}, folder=HERE
    ).resolved()
    resolved["network"]["link"]["latency"] = {"kind": "mine.py:Weibull", "scale": 0.1}
    resolved["fault"] = [{"kind": "mine.py:Earthquake"}]
    before = set(sys.modules)
    found = stored(resolved, ("coca.py:Coca", "mine.py:Weibull", "mine.py:Earthquake"))
    assert found.algorithm.word == "admm"
    assert found.fault == ()
    assert set(sys.modules) == before
    with pytest.raises(ScenarioError, match="does not list it"):
        stored(resolved, ("coca.py:Coca",))
