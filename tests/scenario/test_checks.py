"""Combinations that make no sense are refused, and the sentence says why."""

from __future__ import annotations

import pytest

from simnet import Scenario
from simnet.errors import ScenarioError


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"name": "dp-admm", "topology": "ring"}, 'topology.kind = "ring": dp-admm computes at the hub of a star'),
        ({"name": "dp-admm", "duals": "healing"}, "algorithm.duals: dp-admm has no such field"),
        ({"name": "r-admm", "duals": "edge"}, "r-admm's rest in even ones; choose node or healing"),
        ({"name": "m-admm", "duals": "edge", "dual_step": 0.5}, "one η for all agents and rounds"),
        ({"name": "m-admm", "duals": "edge", "penalty_growth": 1.1}, "one η for all agents and rounds"),
        ({"name": "m-admm", "duals": "edge", "dual_growth": 1.1}, "one η for all agents and rounds"),
        ({"name": "m-admm", "duals": "healing", "agent_dual_step": [0.1, 0.2]}, "both ends weigh by the same dual"),
        ({"name": "pdml", "loss": "smoothed-hinge"}, "unbiased loss is convex for logistic only"),
        ({"name": "dvp", "sigma": 1.0}, "algorithm.sigma = 1.0: gamma-type noise has a noise_rate"),
        ({"name": "dvp", "noise": "gaussian", "noise_rate": 1.0}, "Gaussian noise has a sigma"),
        ({"name": "dvp", "noise": "gaussian", "calibration": "paper"}, "no paper has a price for Gaussian noise"),
        ({"name": "ipp-admm", "test": "noise-free", "calibration": "paper"}, "covers only 'shared-noise'"),
        ({"name": "pvp", "noise_rate": 2.0, "calibration": "none"}, "there is no noise"),
        ({"name": "pdml", "label_epsilon": 2.0, "calibration": "none"}, "there is no noise"),
    ],
)
def test_what_does_not_go_together_is_refused_with_a_reason(content, said):
    fields = dict(content)
    sections: dict[str, object] = {}
    if "topology" in fields:
        sections["topology"] = {"kind": fields.pop("topology")}
    if "calibration" in fields:
        sections["privacy"] = {"calibration": fields.pop("calibration")}
    with pytest.raises(ScenarioError, match=said):
        Scenario.of({"algorithm": fields, **sections})


def test_top_k_sends_no_entry_without_its_sum():
    healing = {"name": "admm", "duals": "healing", "heal_every": 3}
    with pytest.raises(ScenarioError, match=r"algorithm\.heal_every = 3: with the codec top-k each entry travels with"):
        Scenario.of({"algorithm": healing, "network": {"codec": "top-k"}})
    assert Scenario.of({"algorithm": healing, "network": {"codec": "int8"}}).algorithm.heal_every == 3


def test_a_hub_that_loses_its_state_cannot_begin_again():
    crash = {"kind": "crash", "agent": 0, "at": 1.0, "duration": 1.0, "state": "lost"}
    with pytest.raises(ScenarioError, match="dp-admm cannot begin again without its state"):
        Scenario.of({"algorithm": {"name": "dp-admm"}, "fault": [crash]})
    assert Scenario.of({"algorithm": {"name": "r-admm"}, "fault": [crash]}).fault[0].state == "lost"


def test_a_method_with_a_hub_needs_no_topology_to_be_named():
    assert Scenario.of({"algorithm": {"name": "dp-acc-admm"}}).topology.kind == "star"


def test_plain_m_admm_may_have_edge_duals():
    assert Scenario.of({"algorithm": {"name": "m-admm", "duals": "edge"}}).algorithm.duals == "edge"
