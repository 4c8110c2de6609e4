"""What `explain` says of traffic is what the code that sends does."""

from __future__ import annotations

from pathlib import Path

import pytest

from simnet import Scenario, run
from simnet.cli.explain import explain
from simnet.record.events import MessageSent
from tests.worlds import world

SHIPPED = sorted((Path(__file__).parents[2] / "scenarios" / "networks").glob("*.toml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_message_has_the_bytes_that_explain_foretells(path):
    scenario = Scenario.load(path)
    traffic = explain(scenario)["traffic"]
    result = run(scenario)
    values = [e for _, _, e in result.events if isinstance(e, MessageSent) and e.carries == "value"]
    first = values[0]
    assert traffic["bytes per message"] == f"{first.wire_bytes:,} ({first.payload_bytes:,} payload)"
    same_size = [event for event in values if event.wire_bytes <= first.wire_bytes]
    at_most = int(str(traffic["bytes at most"]).split()[0].replace(",", ""))
    assert at_most >= sum(event.wire_bytes for event in same_size)


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
