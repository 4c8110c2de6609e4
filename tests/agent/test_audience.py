"""Whom an agent speaks to in a round."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from simnet import ScenarioError, run
from simnet.agent.audience import Audience
from simnet.record import events
from simnet.streams import Streams
from tests.worlds import TICKS, found, lawful, told, traffic, world


def test_every_set_of_peers_is_equally_likely():
    audience = Audience([2, 3, 5, 7], 2, Streams(1), 0)
    drawn = Counter(audience.of(round) for round in range(1, 6001))
    assert drawn.keys() == set(combinations([2, 3, 5, 7], 2))
    assert sum((count - 1000) ** 2 / 1000 for count in drawn.values()) < 20.5, "χ² of 5 degrees, one in a thousand"


def test_a_round_has_the_same_audience_whether_the_agent_spoke_before_or_not():
    every, some = (Audience([1, 2, 3, 4], 2, Streams(7), 0) for _ in range(2))
    whole = [every.of(round) for round in range(1, 30)]
    assert [some.of(round) for round in (4, 4, 11, 29)] == [whole[3], whole[3], whole[10], whole[28]]


def test_who_has_few_neighbours_speaks_to_all_of_them():
    assert Audience([1, 2], 2, Streams(1), 0).of(5) == [1, 2]
    assert Audience([1, 2], None, Streams(1), 0).of(5) == [1, 2]


@pytest.mark.parametrize("duals", ["node", "healing", "edge"])
@pytest.mark.parametrize("pacing", ["ideal", TICKS, "quorum", "free"], ids=str)
def test_in_a_round_an_agent_speaks_to_so_many_neighbours_and_to_others_in_the_next(duals, pacing):
    result = lawful(**{"network.peers": 2, "network.pacing": pacing, "algorithm.duals": duals})
    spoken_to = told(result, events.MessageSent)
    assert {len(sent) for sent in spoken_to.values()} == {2}
    assert all(len({frozenset(e.peer for e in spoken_to[agent, t]) for t in range(1, 13)}) > 1 for agent in range(6))
    assert traffic(result)["messages"] == 12 * 6 * 2
    assert result.summary["staleness"]["missed_share"] > 0


def test_as_many_peers_as_neighbours_is_the_plain_run():
    plain, all_of_them = run(world()), run(world(**{"network.peers": 3}))
    assert [event for _, _, event in plain.events][1:-1] == [event for _, _, event in all_of_them.events][1:-1]


def test_skips_are_announced_to_the_audience_alone():
    method = {"name": "ipp-admm", "eta": 0.05, "max_releases": 1, "threshold": 10.0, "clip": 2.0}
    changes = {"algorithm": method, "privacy.epsilon": 50.0, "network.pacing": TICKS | {"notices": True}}
    result = lawful(**changes, **{"network.peers": 1})
    notices = [e for _, e in found(result, "message.sent") if e.carries == "notice"]
    assert notices
    assert max(Counter((e.agent, e.round) for e in notices).values()) == 1


def test_epsilon_is_that_of_the_releases_whoever_hears_them():
    private = {"algorithm": {"name": "pp-admm", "eta": 0.05}, "privacy.epsilon": 5.0}
    all_hear, some_hear = lawful(**private), lawful(**private, **{"network.peers": 1})
    assert all_hear.summary["privacy"] == some_hear.summary["privacy"]


def test_node_duals_drift_away_and_edge_and_healing_duals_do_not():
    # As under loss: of two in three releases nothing is missed for good, if the duals can repair themselves.
    changes = {"rounds": 200, "algorithm.eta": 0.05, "algorithm.regulariser": 1e-2}
    best = lawful(**changes).rounds["objective"][-1]
    ends = {
        duals: lawful(**changes, **{"network.peers": 2, "algorithm.duals": duals}).rounds["objective"][-1]
        for duals in ("node", "healing", "edge")
    }
    assert ends["node"] > best + 0.1
    assert ends["healing"] == pytest.approx(best, abs=1e-3)
    assert ends["edge"] == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"network.pacing": "barrier"}, "barrier pacing would wait for neighbours that say nothing in this round"),
        ({"network.medium": "shared"}, "a shared medium reaches all neighbours at once"),
        ({"network.codec": "top-k"}, "top-k tells what has changed since the last message"),
        ({"algorithm": {"name": "dp-admm"}, "topology": {"kind": "star"}}, "a hub speaks to all its leaves"),
    ],
)
def test_what_does_not_go_with_some_peers_is_refused_in_a_sentence(changes, sentence):
    with pytest.raises(ScenarioError, match=rf"network\.peers.*{sentence}"):
        world(**changes, **{"network.peers": 2})
