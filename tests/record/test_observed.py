"""Who saw what of a gossip run: what is not lost on everybody, and who hears what is meant for others."""

from __future__ import annotations

import pytest

from simnet import Scenario, run

BASE = {
    "rounds": 1,
    "data": {"source": "synthetic", "rows": 300, "train": 240, "features": 3},
    "topology": {"kind": "ring", "agents": 7},
    "algorithm": {"name": "gossip", "averaging": "plain"},
    "privacy": {"epsilon": 2.0, "observers": ["eavesdropper", "agent"]},
}


def against(**changes):
    """ε against each observer, and what the account says."""
    privacy = run(Scenario.of(BASE).with_(**changes)).summary["privacy"]
    return privacy["observers"], privacy["proven_epsilon"]


def test_one_round_tells_nothing_of_an_agent_two_links_away():
    found, proven = against()
    assert found["agent_by_distance"] == {"1": pytest.approx(proven), "2": 0.0, "3": 0.0}


def test_a_coalition_of_all_has_nobody_left_to_observe():
    assert against(**{"privacy.observers": [list(range(7))]})[0] == {"0+1+2+3+4+5+6": 0.0}


@pytest.mark.parametrize(
    "network",
    [
        {"channel": {"kind": "csma"}},
        {"underlay": {"graph": {"kind": "ring", "agents": 7}}},
    ],
)
def test_who_can_overhear_counts_as_one_who_did(network):
    found, proven = against(network=network)
    assert found["agent_by_distance"] == {str(d): pytest.approx(proven) for d in (1, 2, 3)}


def lossy(**more):
    return {
        "network": {"link": {"loss": 0.999999, "latency": 0.01}, "pacing": {"kind": "barrier", "patience": 1.0}} | more
    }


def test_a_message_that_is_lost_whole_was_not_seen():
    assert against(**lossy())[0]["agent"] == 0.0


@pytest.mark.parametrize(
    "more",
    [
        {"transport": "reliable"},
        {"link": {"loss": 0.999999, "latency": 0.01, "mtu": 60}},
        {"override": [{"agent": 2, "mtu": 60}]},
    ],
)
def test_of_a_message_in_several_packets_some_may_have_come(more):
    """One packet carries some coordinates, and ε against one coordinate is that against all."""
    found, proven = against(**lossy(**more))
    assert found["agent"] == pytest.approx(proven)


def test_where_times_depend_on_the_data_no_single_agent_is_told_less_than_all():
    """Who has heard whom is then data, and the theorem needs it to be none."""
    found, proven = against(**{"compute.per_gradient": 0.01, "network.pacing": {"kind": "barrier", "patience": 0.001}})
    assert set(found.values()) == {proven}
