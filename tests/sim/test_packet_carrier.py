"""Packets over an underlay: times and fates as in a plain store-and-forward network, and runs that share links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simnet import Scenario, run
from simnet.errors import ScenarioError
from simnet.record import events
from simnet.record.metrics import Metrics
from tests.sim.test_random_networks import FAULTS as ANY_FAULT
from tests.sim.test_random_networks import LINKS, PACES
from tests.worlds import TICKS, found, lawful, traffic, world

LINK = {"latency": 0.004, "bandwidth": 2e5, "queue": 6, "mtu": 60}


CUTS: list[list[dict[str, Any]]] = [
    [],
    [{"kind": "link-down", "link": [0, 1], "at": 0.0046, "duration": 0.1}],
    [{"kind": "partition", "agents": [0, 2], "at": 0.0046, "duration": 0.0005}],
    [{"kind": "partition", "agents": [0, 2], "every": 0.02, "duration": 0.02}],
    [{"kind": "partition", "agents": [0, 2], "at": 0.105, "duration": 0.01}],
]


@pytest.mark.parametrize("bandwidth", [2e5, 6e3], ids=["fast", "slower than the rounds"])
@pytest.mark.parametrize("faults", CUTS, ids=["whole", "link-down", "at once", "again", "later"])
def test_a_link_alone_does_what_a_link_of_the_topology_does(faults, bandwidth):
    """Also when the way is cut: while messages wait, are on the line, or travel, and over again before they arrive."""
    link = LINK | {"bandwidth": bandwidth, "queue": {"limit": 200, "unit": "bytes"}}
    changes = {"topology": {"kind": "complete", "agents": 5}, "network.pacing": TICKS, "compute.time": 0.001}
    graph = {"kind": "complete", "agents": 5}
    direct, routed = (
        lawful(**changes, **network, rounds=8, fault=faults)
        for network in ({"network.link": link}, {"network.underlay": {"graph": graph, "link": link}})
    )
    apart = (events.RunStarted, events.RunFinished, events.UnderlayLink)
    told = [[(t, e) for _, t, e in result.events if not isinstance(e, apart)] for result in (direct, routed)]
    assert told[0] == told[1]
    assert traffic(direct)["delivered"] > 0
    if bandwidth == 6e3:
        assert traffic(direct)["overflowed"] > 0
        assert (traffic(direct)["unreachable"] > 0) == bool(faults)


def test_a_message_with_a_damaged_packet_arrives_and_is_refused_by_its_checksum():
    underlay = {"graph": {"kind": "ring", "agents": 6}, "link": {"corruption": 0.1, "mtu": 60}}
    lost = [e for _, e in found(lawful(**{"network.underlay": underlay}), "message.lost")]
    assert {e.reason for e in lost} == {"corrupted"}


UNDERLAYS = [
    {"graph": {"kind": "star", "agents": 7}, "link": LINK, "attach": [1, 2, 3, 4, 5, 6]},
    {"graph": {"kind": "ring", "agents": 9}, "link": LINK | {"loss": 0.05}, "attach": "spread"},
    {"graph": {"kind": "grid", "agents": 4}, "link": LINK | {"corruption": 0.05, "queue": 40}, "attach": "random"},
    {
        "graph": {"kind": "geometric", "agents": 8, "radius": 0.7},
        "link": {"preset": "wan", "latency": {"kind": "distance", "per_unit": 0.02}},
    },
]
FAULTS: list[list[dict[str, Any]]] = [
    [],
    [{"kind": "crash", "agent": 1, "at": 0.0216, "duration": 0.2, "state": "lost"}],
    [{"kind": "partition", "agents": [0, 1, 2], "at": 0.03, "duration": 0.15}],
    [{"kind": "churn", "up": 0.2, "down": 0.05}, {"kind": "link-down", "link": [0, 1], "every": 0.1, "duration": 0.05}],
]


STREAMS = {"kind": "reliable", "timeout": 0.05, "backoff": 1.2, "attempts": 6}


@pytest.mark.parametrize("transport", ["datagram", STREAMS], ids=["once", "streams"])
@pytest.mark.parametrize("pacing", ["ideal", "barrier", TICKS], ids=str)
@pytest.mark.parametrize("faults", FAULTS, ids=lambda faults: "+".join(fault["kind"] for fault in faults) or "whole")
@pytest.mark.parametrize("underlay", UNDERLAYS, ids=lambda underlay: underlay["graph"]["kind"])
def test_a_run_over_an_underlay_obeys_the_laws_and_repeats_itself(underlay, faults, pacing, transport):
    if transport != "datagram" and underlay["link"].get("mtu") == 60:
        underlay = underlay | {"link": underlay["link"] | {"mtu": 84}}
    changes = {"topology.degree": 4, "network.underlay": underlay, "network.pacing": pacing, "fault": faults}
    changes["network.transport"] = transport
    if not faults:
        changes["topology"] = {"kind": "complete", "agents": 6}
    result, again = lawful(**changes), Metrics()
    for entry in result.events:
        again(*entry)
    replayed = again.summary(result.digest, result.summary["time"]["wall"])
    assert replayed | {"yardsticks": result.summary["yardsticks"]} == result.summary
    assert run(world(**changes)).digest == result.digest
    counts = traffic(result)
    fates = ("delivered", "lost", "overflowed", "unreachable", "in_flight")
    assert sum(counts[fate] for fate in fates) == counts["messages"]
    assert counts["delivered"] > 0


@given(
    LINKS,
    PACES,
    st.lists(ANY_FAULT, max_size=2),
    st.sampled_from(["in-order", "random", "spread", [4, 4, 0, 1]]),
    st.sampled_from([{"kind": "ring"}, {"kind": "star"}, {"kind": "random", "mean_degree": 2.4}]),
    st.integers(0, 99),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_underlay_breaks_a_law_or_hangs_a_run(link, pacing, faults, attach, graph, seed):
    assume(link.get("preset") != "congested-wifi")
    link = {**link, "duplication": 0.0, "mtu": 255}
    underlay = {"graph": graph | {"agents": 5}, "link": link, "attach": attach}
    result = lawful(
        **{
            "seed": seed,
            "rounds": 4,
            "topology": {"kind": "ring", "agents": 4},
            "network.underlay": underlay,
            "network.pacing": pacing,
            "fault": faults,
        }
    )
    met = traffic(result)
    fates = ("delivered", "lost", "overflowed", "unreachable", "in_flight")
    assert met["messages"] == sum(met[fate] for fate in fates)
    assert min(met[fate] for fate in fates) >= 0
    assert 0 <= met["wire_bytes"] <= met["offered_bytes"]
    links = [e for _, e in found(result, "underlay.link")]
    assert all(0 <= e.lost <= e.packets for e in links)


def test_every_byte_that_leaves_crosses_every_link_of_its_route():
    underlay = {"graph": {"kind": "ring", "agents": 6}, "link": {"latency": 0.001, "bandwidth": 1e6, "mtu": 60}}
    result = lawful(**{"topology": {"kind": "complete", "agents": 6}, "network.underlay": underlay})
    links = {e.link: e for _, e in found(result, "underlay.link")}
    ring = nx.cycle_graph(6)
    sent = [(e.agent, e.peer, e.wire_bytes) for _, e in found(result, "message.sent")]
    assert sum(e.bytes for e in links.values()) == sum(
        size * nx.shortest_path_length(ring, a, b) for a, b, size in sent
    )
    assert sum(e.shared_by for e in links.values()) == sum(
        dict(nx.all_pairs_shortest_path_length(ring))[a][b] for a in ring for b in ring
    )
    end = result.summary["time"]["simulated"]
    assert all(e.utilisation == pytest.approx(8 * e.bytes / 1e6 / end, abs=1e-8) for e in links.values())
    busiest = max(links.values(), key=lambda e: e.utilisation)
    assert result.summary["underlay"]["utilisation"] == busiest.utilisation
    assert result.summary["underlay"]["bytes"] == sum(e.bytes for e in links.values())


def test_agents_at_one_node_hear_each_other_at_once_and_use_no_link():
    underlay = {"graph": {"kind": "ring", "agents": 3}, "link": LINK, "attach": [0, 0, 0, 0, 0, 0]}
    result = lawful(**{"network.underlay": underlay})
    sent = {e.message: t for t, e in found(result, "message.sent")}
    assert {t - sent[e.message] for t, e in found(result, "message.delivered")} == {0.0}
    assert traffic(result)["wire_bytes"] > traffic(result)["payload_bytes"]
    assert found(result, "underlay.link") == []
    assert "underlay" not in result.summary


def test_a_message_that_finds_a_full_queue_on_the_way_overflows_there_and_then():
    """Two agents send to a third at one instant: both are at the router at once, and only one line leads on."""
    link = {"latency": 0.003, "bandwidth": 1e5, "queue": 0}
    underlay = {"graph": {"kind": "star", "agents": 4}, "link": link, "attach": [1, 2, 3]}
    changes = {"topology": {"kind": "star", "agents": 3}, "rounds": 1, "network.pacing": TICKS}
    result = lawful(**changes, **{"network.underlay": underlay, "network.medium": "unicast"})
    size = next(e.wire_bytes for _, e in found(result, "message.sent") if e.agent == 1)
    on_the_line = 8 * size / 1e5
    (time, lost), *_ = [(t, e) for t, e in found(result, "message.overflowed") if e.peer == 0]
    assert (time, lost.agent) == (pytest.approx(0.02 + on_the_line + 0.003), 2)
    ((time, heard),) = [(t, e) for t, e in found(result, "message.delivered") if e.agent == 0]
    assert (time, heard.peer) == (pytest.approx(0.02 + 2 * (on_the_line + 0.003)), 1)
    links = {e.link: e for _, e in found(result, "underlay.link")}
    assert (links["0>1"].dropped, links["0>1"].packets) == (1, 1)
    assert traffic(result)["wire_bytes"] == sum(e.wire_bytes for _, e in found(result, "message.sent"))


def test_what_a_dead_host_had_not_sent_dies_and_what_has_left_goes_on():
    """At 8,800 bit/s the first packet of 88 bytes has left at 100 ms, the second at 180; the host dies at 110."""
    link = {"latency": 1.0, "bandwidth": 8800, "mtu": 88}
    crash = {"kind": "crash", "agent": 0, "at": 0.110}
    changes = {"topology": {"kind": "star", "agents": 2}, "rounds": 1, "data.features": 14}
    underlay = {"graph": {"kind": "ring", "agents": 3}, "link": link}
    result = lawful(
        **changes,
        **{"network.underlay": underlay, "network.pacing": {"kind": "deadline", "period": 4.0}, "fault": [crash]},
    )
    ((time, lost),) = [(t, e) for t, e in found(result, "message.lost") if e.agent == 0]
    assert (time, lost.reason) == (0.110, "sender-down")
    (sent,) = [e for _, e in found(result, "message.sent") if e.agent == 0]
    assert sent.wire_bytes - lost.unsent_bytes == 88
    links = {e.link: e for _, e in found(result, "underlay.link")}
    assert links["0>1"].bytes == 88
    assert links["1>0"].packets == 3
    assert [e.agent for _, e in found(result, "message.delivered")] == []


def test_what_a_link_would_have_lost_of_a_dead_host_it_has_not_lost():
    underlay = {"graph": {"kind": "ring", "agents": 3}, "link": {"bandwidth": 800, "mtu": 60, "loss": 1.0}}
    changes = {"topology": {"kind": "star", "agents": 2}, "rounds": 1, "network.pacing": TICKS}
    result = lawful(**changes, **{"network.underlay": underlay, "fault": [{"kind": "crash", "agent": 0, "at": 0.03}]})
    assert "0>1" not in {e.link for _, e in found(result, "underlay.link")}
    assert [e.reason for _, e in found(result, "message.lost") if e.agent == 0] == ["sender-down"]


def test_links_lose_by_streams_of_their_own():
    underlay = {"graph": {"kind": "ring", "agents": 6}, "link": {"loss": 0.2, "latency": 0.001}}
    few, many = (
        [
            (e.agent, e.peer, e.round)
            for _, e in found(lawful(**{"network.underlay": underlay, "rounds": rounds}), "message.lost")
        ]
        for rounds in (4, 8)
    )
    assert few == [entry for entry in many if entry[2] <= 4]
    assert 0.1 < len(many) / (8 * 18) < 0.5


OTHERWISE: list[tuple[dict[str, Any], str]] = [
    ({"link.latency": 0.1}, r"network.link.latency = 0.1: the path decides; `latency` belongs in \[network.underlay"),
    ({"link.bandwidth": 1e6}, "network.link.bandwidth = 1000000.0: the path decides"),
    ({"link.queue": 5}, "network.link.queue = 5: the path decides"),
    ({"link.loss": 0.1}, "network.link.loss = 0.1: the path decides"),
    ({"link.preset": "wan"}, "network.link.preset = "),
    ({"override": [{"agent": 0, "loss": 0.1}]}, "network.override.*the path decides"),
    ({"medium": "shared"}, "network.medium"),
    ({"uplink": "shared"}, "network.uplink"),
    ({"line.up": {"bandwidth": 1e6}}, "network.line"),
    ({"channel": "csma"}, "network.channel"),
    ({"underlay.link.duplication": 0.1}, "network.underlay.link.duplication = 0.1: a physical link duplicates nothing"),
    ({"underlay.attach": "anywhere"}, 'network.underlay.attach = "anywhere": one of in-order, random, spread'),
]


@pytest.mark.parametrize(("changes", "sentence"), OTHERWISE, ids=lambda value: next(iter(value), "") if value else "")
def test_what_does_not_go_with_an_underlay_is_refused_in_a_sentence(changes, sentence):
    scenario = world(**{"network.underlay": UNDERLAYS[0]})
    with pytest.raises(ScenarioError, match=f"^{sentence}"):
        scenario.with_(**{f"network.{field}": value for field, value in changes.items()})


def test_a_resolved_scenario_with_an_underlay_loads_again():
    scenario = world(**{"network.underlay": UNDERLAYS[1]})
    assert Scenario.loads(scenario.to_toml()) == Scenario.of(scenario.resolved())
    assert run(Scenario.loads(scenario.to_toml())).digest == run(scenario).digest


def test_a_value_that_could_never_arrive_is_refused():
    tight = {"graph": {"kind": "ring", "agents": 6}, "link": {"mtu": 40, "bandwidth": 1e5, "queue": 1}}
    with pytest.raises(ScenarioError, match=r"network\.underlay\.link\.queue: a value makes 5 packets"):
        run(world(**{"network.underlay": tight}))


def test_the_scenario_runs_like_independent_links_until_its_cables_are_shared():
    shipped = Path(__file__).parents[2] / "scenarios" / "networks"
    shared, apart = (Scenario.load(shipped / f"{name}.toml") for name in ("shared-bottleneck", "independent-paths"))
    runs = {
        (kind, which): run(scenario.with_(**{"topology.kind": kind, "rounds": 10})).summary
        for kind in ("ring", "complete")
        for which, scenario in (("shared", shared), ("apart", apart))
    }
    seconds = {each: summary["time"]["simulated"] for each, summary in runs.items()}
    assert seconds["ring", "apart"] == pytest.approx(seconds["complete", "apart"])
    assert seconds["ring", "shared"] == pytest.approx(seconds["ring", "apart"], rel=0.1)
    assert seconds["complete", "shared"] > 3 * seconds["complete", "apart"]
    for kind in ("ring", "complete"):
        assert runs[kind, "shared"]["accuracy"] == runs[kind, "apart"]["accuracy"]


def test_where_short_queues_drop_half_of_all_values_streams_deliver_them():
    shipped = Path(__file__).parents[2] / "scenarios" / "networks" / "shared-bottleneck.toml"
    short = Scenario.load(shipped).with_(**{"network.underlay.link.queue": 10, "rounds": 6})
    once, again = (run(short.with_(**{"network.transport": word})) for word in ("datagram", "reliable"))
    assert traffic(once)["overflowed"] > 0.5 * traffic(once)["messages"]
    assert traffic(again)["delivered"] + traffic(again)["in_flight"] == traffic(again)["messages"]
    assert traffic(again)["delivered"] > 0.9 * traffic(again)["messages"]
    assert again.summary["accuracy"]["test_error"] < once.summary["accuracy"]["test_error"]
