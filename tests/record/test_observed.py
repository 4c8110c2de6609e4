"""Who saw what of a gossip run: what is not lost on everybody, and who hears what is meant for others."""

from __future__ import annotations

import numpy as np
import pytest

from simnet import Scenario, run
from simnet.record.observed import Observed

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


@pytest.mark.parametrize("averaging", ["plain", "push-sum", "relayed"])
def test_messages_are_the_sums_of_first_models_that_the_method_makes_of_them(averaging):
    """Against the method as matrices: agents mix with 1/3 each on a ring, or pass a third of what they have."""
    agents, rounds = 5, 3
    method = {"name": "gossip", "averaging": averaging} | ({"relay_sigma": 0.3} if averaging == "relayed" else {})
    result = run(Scenario.of(BASE).with_(**{"rounds": rounds, "topology.agents": agents, "algorithm": method}))
    found = Observed()
    for entry in result.events:
        found(*entry)

    width = agents * (rounds + 1 if averaging == "relayed" else 1)
    held, told = np.eye(agents, width), np.zeros((agents, width))
    for t in range(1, rounds + 1):
        message = held.copy()
        if averaging == "relayed":
            message[:, agents * t : agents * (t + 1)] += np.eye(agents)  # each has noise of its own on it
        if averaging == "push-sum":
            message = told + held / 3
        for sender in range(agents):
            assert [float(x) for x in found.coefficients(sender, t)] == pytest.approx(message[sender])
        fresh = message - told if averaging == "push-sum" else message / 3
        held, told = held / 3 + np.roll(fresh, 1, axis=0) + np.roll(fresh, -1, axis=0), message
    charges = [event for _, _, event in result.events if event.kind == "privacy.spent"]
    sigmas = {each.agent: each.parameters["sigma"] for each in charges if each.mechanism == "primal-gaussian"}
    assert [float(each) for each in found.noise.variances] == pytest.approx([sigmas[a] ** 2 for a in range(agents)])
    assert float(found.noise.relay_variance) == pytest.approx(0.09 if averaging == "relayed" else 0.0)
