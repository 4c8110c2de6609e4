"""What `explain` says of an underlay is what its code does."""

from __future__ import annotations

from simnet import run
from simnet.cli.explain import explain
from tests.worlds import found, world

LINK = {"latency": 0.004, "bandwidth": 2e5, "queue": 6, "mtu": 60}


def test_explain_tells_of_paths_and_of_what_they_share():
    star = {"graph": {"kind": "star", "agents": 7}, "link": LINK, "attach": [1, 2, 3, 4, 5, 6]}
    topics = explain(world(**{"network.underlay": star, "topology": {"kind": "ring", "agents": 6}}))
    facts = topics["underlay"]
    assert facts["physical network"] == "7 nodes, 6 links"
    assert facts["links per path"] == "2"
    assert facts["latency per path"] == "8 ms"
    assert facts["bottleneck per path"] == "0.2 Mbit/s"
    assert facts["most shared"] == "0>1 by 2 of 12, 0>2 by 2 of 12, 0>3 by 2 of 12"
    assert facts["links that nobody uses"] == 0
    assert "underlay" not in explain(world())
    two = {"network.underlay": star | {"attach": [1, 2]}, "topology": {"kind": "star", "agents": 2}}
    alone = run(world(**two, rounds=1))
    first = next(t for t, e in found(alone, "message.delivered") if e.agent == 0)
    assert facts["one value alone"] == f"{1e3 * (first - 0.02):.4g} ms"


def test_agents_at_one_node_have_no_path_to_explain():
    underlay = {"graph": {"kind": "ring", "agents": 3}, "attach": [0] * 6}
    facts = explain(world(**{"network.underlay": underlay}))["underlay"]
    assert facts["most shared"] == "none: all agents stand at one node"
    assert facts["bottleneck per path"] == "no limit"
    assert facts["links that nobody uses"] == 3


def test_a_value_that_is_always_dropped_in_part_takes_no_time_but_is_told_of():
    """Healing duals double a value: the model alone would fit into one packet."""
    tight = {"graph": {"kind": "star", "agents": 6}, "link": {"bandwidth": 1e6, "mtu": 86, "queue": 0}}
    scenario = world(**{"network.underlay": tight, "algorithm.duals": "healing"})
    assert explain(scenario)["underlay"]["one value alone"] == "dropped in part by a queue on 18 of 18 paths"
    assert run(scenario).summary["communication"]["delivered"] == 0
