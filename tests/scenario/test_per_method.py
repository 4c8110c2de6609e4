"""[methods.<name>]: what changes under a method."""

from __future__ import annotations

import pytest

from simnet import Scenario
from simnet.errors import ScenarioError
from simnet.scenario.per_method import merged

TEXT = """
rounds = 12

[topology]
kind = "ring"
agents = 6

[algorithm]
name = "ipp-admm"
eta = 0.02
loss = "smoothed-hinge"

[methods.m-admm]
rounds = 20
algorithm.penalty_growth = 1.05

[methods.dp-admm.algorithm]
penalty = 0.1

[methods.r-admm]
topology = { kind = "complete", agents = 4 }
"""


def test_a_method_takes_its_own_table_and_keeps_the_rest():
    scenario = Scenario.loads(TEXT).with_method("m-admm")
    assert (scenario.rounds, scenario.topology.kind) == (20, "ring")
    assert (scenario.algorithm.eta, scenario.algorithm.penalty_growth) == (0.02, 1.05)
    assert scenario.methods == {}
    assert Scenario.loads(TEXT).with_method("pp-admm").rounds == 12


def test_a_table_of_another_kind_replaces_the_one_before():
    topology = Scenario.loads(TEXT).with_method("r-admm").topology
    assert (topology.kind, topology.agents) == ("complete", 4)
    before = {"a": {"kind": "x", "p": 1, "deep": {"q": 1, "r": 2}}, "b": 1}
    assert merged(before, {"a": {"deep": {"q": 3}}}) == {"a": {"kind": "x", "p": 1, "deep": {"q": 3, "r": 2}}, "b": 1}
    assert merged(before, {"a": {"kind": "y"}}) == {"a": {"kind": "y"}, "b": 1}


def test_a_method_with_a_hub_takes_the_same_agents_to_a_star_and_only_the_loss_along():
    scenario = Scenario.loads(TEXT).with_method("dp-admm")
    assert (scenario.topology.kind, scenario.topology.agents) == ("star", 6)
    assert (scenario.algorithm.loss, scenario.algorithm.penalty) == ("smoothed-hinge", 0.1)
    assert scenario.algorithm.eta == Scenario.of({"algorithm": {"name": "dp-admm"}}).algorithm.eta


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[methods.madmm]", "methods.madmm: algorithm.name = .*did you mean m-admm"),
        ("[methods.pvp.algorithm]\netta = 1", r"methods.pvp: algorithm.etta: pvp has no such field \(did you mean eta"),
        ("methods = 3", "methods = 3: a table for each method"),
        ("methods.pvp = 3", "a table for each method"),
    ],
)
def test_a_mistake_in_a_table_is_found_when_the_file_is_read(line, said):
    with pytest.raises(ScenarioError, match=said):
        Scenario.loads(f'{line}\n[algorithm]\nname = "admm"')


def test_tables_survive_writing_and_reading():
    scenario = Scenario.loads(TEXT)
    assert Scenario.loads(scenario.to_toml()) == scenario
    assert hash(Scenario.loads(scenario.to_toml())) == hash(scenario)
