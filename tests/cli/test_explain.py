"""What `explain` says of traffic is what the code that sends does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simnet import Scenario, run
from simnet.cli import app
from simnet.cli.explain import explain
from simnet.methods import METHODS
from simnet.record.events import MessageSent
from tests.worlds import TICKS, world

FOLDER = Path(__file__).parents[2] / "scenarios"
SHIPPED = sorted([*FOLDER.glob("*.toml"), *(FOLDER / "networks").glob("*.toml")])


def foretold(scenario: Scenario) -> tuple[str, int]:
    traffic = explain(scenario)["traffic"]
    return str(traffic["bytes per message"]), int(str(traffic["bytes at most"]).split()[0].replace(",", ""))


def values(scenario: Scenario) -> list[MessageSent]:
    return [e for _, _, e in run(scenario).events if isinstance(e, MessageSent) and e.carries == "value"]


@pytest.mark.filterwarnings("ignore::simnet.ScenarioWarning")
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_message_has_the_bytes_that_explain_foretells_and_all_have_no_more(path):
    scenario = Scenario.load(path)
    first_message, at_most = foretold(scenario)
    sent = values(scenario)
    assert first_message == f"{sent[0].wire_bytes:,} ({sent[0].payload_bytes:,} payload)"
    assert at_most >= sum(event.wire_bytes for event in sent)


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm.duals": "healing", "network.pacing": "free", "compute.time": {"kind": "lognormal", "median": 0.02}},
        {"algorithm.duals": "healing", "algorithm.heal_every": 3},
        {"algorithm.duals": "healing", "network.codec": "top-k"},
        {"algorithm.duals": "edge", "network.codec": "int8"},
        {"network.medium": "shared"},
        {"network.channel": "csma"},
        {"network.link.mtu": 60, "network.override": [{"agent": 0, "mtu": 40}]},
    ],
    ids=["agents drift apart", "sums now and then", "top-k", "edge", "shared medium", "csma", "small packets"],
)
def test_the_bound_holds_whatever_goes_with_the_models(changes):
    scenario = world(**{"rounds": 30} | changes)
    _, at_most = foretold(scenario)
    assert at_most >= sum(event.wire_bytes for event in values(scenario))


@pytest.mark.parametrize("method", METHODS)
def test_the_bound_holds_for_every_method(method):
    scenario = world(**{"rounds": 4, "privacy.epsilon": 50.0, "network.link.latency": 0.01}).with_method(method)
    _, at_most = foretold(scenario)
    assert at_most >= sum(event.wire_bytes for event in values(scenario))


def test_on_a_perfect_network_the_bound_is_what_is_sent():
    scenario = world()
    assert foretold(scenario)[1] == sum(event.wire_bytes for event in values(scenario))


def test_what_a_stream_sends_of_a_value_is_told_alike_over_a_link_and_an_underlay():
    """Two segments of 38 and 12 bytes, each with 52 bytes of headers, at 100 kbit/s."""
    link = {"latency": 0.3, "bandwidth": 1e5, "mtu": 90, "queue": 0}
    underlay = {"graph": {"kind": "complete", "agents": 6}, "link": link}
    plain, routed = (
        explain(world(**{"network.transport": {"kind": "reliable", "timeout": 0.5}} | over))
        for over in ({"network.link": link}, {"network.underlay": underlay})
    )
    topics = ("traffic", "bytes per message"), ("traffic", "bytes at most"), ("delays on idle lines", "all links")
    for topic, name in (*topics, ("realism: what it leaves out", "transport")):
        assert plain[topic][name] == routed[topic][name]
    assert plain["traffic"]["bytes per message"] == f"{90 + 64} (29 payload)"
    assert plain["delays on idle lines"]["all links"] == f"always {300 + 8e3 * (90 + 64) / 1e5:.4g} ms"
    assert routed["underlay"]["one value alone"] == f"{300 + 8e3 * (90 + 64) / 1e5:.4g} ms"
    assert f"{2 * 0.3 + 8 * (90 + 64 + 21 + 28) / 1e5:.3g} s" in str(plain["realism: what it leaves out"]["transport"])


def test_with_a_transport_that_repeats_it_is_said_to_be_no_bound():
    told = explain(world(**{"network.transport": "reliable"}))["traffic"]["bytes at most"]
    assert "no bound holds for repetitions" in str(told)


@pytest.mark.parametrize(
    ("network", "word", "said"),
    [
        ({}, "independent", "independent: every link"),
        ({"uplink": "shared"}, "shared", "shared: the links"),
        ({"link": {"preset": "4g"}}, "shared", "shared: the links"),
        ({"link": {"preset": "4g"}, "uplink": "independent"}, "independent", "independent: every link"),
        ({"line": {"up": {"bandwidth": "1 Mbit/s"}}}, "access line", "one access line per agent"),
        ({"channel": "csma"}, "channel", "the channel"),
        ({"underlay": {"graph": {"kind": "ring", "agents": 6}}}, "underlay", "the physical network"),
        ({"medium": "shared"}, "shared", "shared: the links"),
    ],
)
def test_explain_and_the_summary_say_which_uplink_it_is(network, word, said):
    scenario = world(network=network, rounds=1)
    assert str(explain(scenario)["traffic"]["uplink"]).startswith(said)
    assert run(scenario).summary["uplink"] == word


def test_the_quantiles_of_delays_are_told_for_each_kind_of_link(tmp_path):
    slow = {"kind": "uniform", "low": 1.0, "high": 2.0}
    scenario = world(**{"network.link.latency": 0.25, "network.override": [{"link": [0, 1], "latency": slow}]})
    path = tmp_path / "two-kinds.toml"
    path.write_text(scenario.to_toml())
    from typer.testing import CliRunner

    told = json.loads(CliRunner().invoke(app, ["explain", str(path), "--json"]).stdout)
    assert told["delays on idle lines"] == {
        "0>1 and 1 other": "5 % 1050 ms, 50 % 1500 ms, 95 % 1950 ms, 99 % 1990 ms",
        next(name for name in told["delays on idle lines"] if name.endswith("15 others")): "always 250 ms",
    }
    assert "no jitter (16 of 18 links)" in told["realism: what it leaves out"]["delay"]


def test_a_median_above_the_period_is_a_caution_whatever_the_duals_are():
    late = {"network.pacing": TICKS, "network.link.latency": 0.3}
    topic = "delays on idle lines"
    assert "node duals may diverge" in str(explain(world(**late))[topic]["caution"])
    assert "exceeds the period of 0.1 s" in str(explain(world(**late, **{"algorithm.duals": "edge"}))[topic]["caution"])
    assert "caution" not in explain(world(**late | {"network.link.latency": 0.05}))[topic]


def test_what_changes_over_time_is_told_with_its_figures(tmp_path):
    (tmp_path / "rates.txt").write_text("100\n200\n200\n400\n")
    (tmp_path / "up.csv").write_text("0,0,1\n0,3,4\n1,0,4\n")
    (tmp_path / "contacts.csv").write_text("0,1,0,1\n")
    trace = {"kind": "mahimahi", "file": str(tmp_path / "rates.txt")}
    scenario = world(
        topology={"kind": "ring", "agents": 4},
        network={"link": {"bandwidth": trace}, "line": {"up": {"bandwidth": trace}}},
        fault=[
            {"kind": "availability", "file": str(tmp_path / "up.csv")},
            {"kind": "contacts", "file": str(tmp_path / "contacts.csv"), "period": 4},
        ],
    )
    told = "mahimahi, 0.12 Mbit/s on average, repeats after 0.4 s, up for 50 % of it, longest pause 0.2 s"
    assert explain(scenario)["over time"] == {
        "network.link.bandwidth": told,
        "network.line.up.bandwidth": told,
        "fault.0 (availability)": "agents named: 2, up 75 % of 4 s on average (50 to 100 %), then down for good",
        "fault.1 (contacts)": "links named: 1, up 25 % of 4 s on average (25 to 25 %), repeats",
    }
    assert "over time" not in explain(world())


def test_few_peers_are_counted_and_node_duals_are_warned_of():
    few = explain(world(**{"network.peers": 2}))["traffic"]
    assert few["messages at most"] == "144 (12 releases per agent)"
    assert "node duals drift away for good" in few["caution"]
    assert "caution" not in explain(world(**{"network.peers": 2, "algorithm.duals": "healing"}))["traffic"]
    fewer = explain(world(**{"network.peers": 1, "algorithm.duals": "healing"}))["traffic"]
    assert "healing duals may not settle" in fewer["caution"]
    assert "caution" not in explain(world(**{"network.peers": 1, "algorithm.duals": "edge"}))["traffic"]


def test_of_many_agents_the_noise_of_least_median_and_most_is_told():
    changes = {"topology": {"kind": "ring", "agents": 6}, "data.partition": "uneven", "privacy.epsilon": 50.0}
    scenario = world(**changes | {"algorithm": {"name": "pp-admm", "eta": 1.0}})
    few, each = explain(scenario), explain(scenario, agents=True)
    told = few["noise of 6 agents: least, median, most"]
    sigmas = sorted(float(facts["σ1 in the objective"]) for title, facts in each.items() if "noise of an" in title)
    least, _, most = str(told["σ1 in the objective"]).split(", ")
    assert (float(least), float(most)) == (pytest.approx(sigmas[0], rel=1e-5), pytest.approx(sigmas[-1], rel=1e-5))
    assert not [title for title in few if "noise of an agent" in title]
    assert told["releases"] == 12
