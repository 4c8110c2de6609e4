"""Parts of the network in their simple forms: what they do, and what is said of one that is wrong."""

from __future__ import annotations

import pytest

from simnet import Scenario, run
from simnet.build import build
from simnet.errors import ScenarioError, SimnetError
from simnet.record import events
from simnet.streams import Streams
from tests.worlds import told, unlawful

OWN = "tests.parts.own_network:"


def world(**changes):
    content = {
        "rounds": 3,
        "data": {"source": "synthetic", "rows": 60, "features": 3},
        "topology": {"kind": "ring", "agents": 4},
        "algorithm": {"name": "admm", "eta": 0.05},
        "network": {"pacing": "free"},
        "compute": {"time": 0.1},
    }
    return Scenario.of(content).with_(**changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"network.link.latency": {"kind": OWN + "BadTimes"}}, "BadTimes: draw gives times of at least 0, and finite"),
        (
            {"network.link.latency": {"kind": OWN + "BadTimes", "what": "nan"}},
            "times of at least 0, and finite, not nan",
        ),
        ({"network.link.latency": {"kind": OWN + "BadTimes", "what": "short"}}, "draw gives 32 times, not numbers of"),
        ({"compute.time": OWN + "Trip"}, "compute.time.*Trip cannot be used here: local work has no length"),
        ({"network.link.loss": OWN + "SoonOver"}, "fates has no end, and this one ended"),
        ({"network.link.loss": OWN + "Everything"}, "network.link.loss.*: Everything does not say fates"),
        ({"network.link.loss": OWN + "Impatient"}, "Impatient is none: it does not derive from PacketLoss"),
        ({"topology": {"kind": OWN + "Links", "links": [[0, 1], [2, 3]]}}, "not all of its 4 agents are connected"),
        ({"topology": {"kind": OWN + "Links", "links": [[0, 1], [1, 1]]}}, "agent 1 is no neighbour of itself"),
        ({"topology": {"kind": OWN + "Links", "links": [[0, -1]]}}, "agents are numbered from 0, and there are two"),
        ({"topology": {"kind": OWN + "Links", "links": []}}, "agents are numbered from 0, and there are two"),
        ({"topology": {"kind": OWN + "Links", "links": [[0, 2**40]]}}, "agents are connected"),
        ({"topology": OWN + "Nameless"}, "topology.kind = 'tests.parts.own_network:Nameless': "),
        ({"network.link.bandwidth": OWN + "Stopped"}, "steps last above 0 s, and one rate is above 0"),
        ({"fault": [{"kind": OWN + "Asleep"}]}, "fault.0: agent 0 stands still by it, so it must say halts = True"),
        ({"fault": [{"kind": OWN + "Nowhere"}]}, "fault.0.link: agents 0 and 2 share no link"),
    ],
)
def test_a_mistake_in_a_part_of_the_users_own_is_one_sentence(changes, said):
    with pytest.raises(SimnetError, match=said) as refused:
        run(world(**changes))
    assert isinstance(refused.value, ScenarioError)
    assert "\n" not in str(refused.value)


def test_a_graph_of_networkx_keeps_the_places_of_its_nodes():
    latency = {"kind": "distance", "per_unit": 0.1}
    built = build(world(topology=OWN + "Placed", **{"network.link.latency": latency}))
    assert sorted(built.graph.edges) == [(0, 1), (1, 2), (2, 3)]
    assert built.graph.nodes[3]["position"] == (3.0, 0.0)


def test_edges_may_come_twice_and_either_way_round():
    built = build(world(topology={"kind": OWN + "Links", "links": [[1, 0], [0, 1], [2, 1]]}))
    assert [*built.graph.edges] == [(0, 1), (1, 2)]


def test_a_pacing_waits_until_there_is_enough_or_its_patience_ends():
    at_once, stubborn = (run(world(**{"network.pacing": OWN + name})) for name in ("Impatient", "Stubborn"))
    assert at_once.summary["digest"] != stubborn.summary["digest"]
    assert at_once.summary["time"]["simulated"] == pytest.approx(3 * 0.1)
    assert stubborn.summary["time"]["simulated"] == pytest.approx(3 * 0.35)
    assert len(told(stubborn, events.RoundTimeout)) == 4 * 3
    assert unlawful(at_once) == unlawful(stubborn) == []


def test_a_rate_of_the_users_own_lets_bits_leave_at_its_pace():
    rate = world(**{"network.link.bandwidth": OWN + "Bursty"}).network.link.bandwidth
    assert (rate.mean, rate.duration, rate.pauses) == (4000.0, 1.0, [0.0, 0.5])
    pace = rate.pace(Streams(1), "0>1")
    assert [pace.serve(0.0, 250) for _ in range(4)] == [0.25, 0.5, 1.25, 1.5]


def test_a_fault_of_the_users_own_lets_agents_stand_still():
    found = run(world(fault=[{"kind": OWN + "SaidAsleep"}]))
    assert [(event.agent, event.fault) for _, event in told_with_times(found)] == [(0, "crash")]
    assert unlawful(found) == []


def told_with_times(result):
    return [(t, event) for _, t, event in result.events if isinstance(event, events.FaultBegan)]


def test_a_transport_of_the_users_own_is_one_of_the_house_with_other_numbers():
    lossy = {
        "network.link.loss": 0.3,
        "network.link.latency": "10 ms",
        "network.pacing": {"kind": "barrier", "patience": 60},
    }
    eager = run(world(**lossy, **{"network.transport": OWN + "Eager"}))
    calm = run(world(**lossy, **{"network.transport": "reliable"}))
    assert eager.summary["communication"]["delivered"] == calm.summary["communication"]["messages"]
    assert eager.summary["time"]["simulated"] < calm.summary["time"]["simulated"]
