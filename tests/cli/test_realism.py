"""`explain` says what a scenario leaves out of a real network, and nothing where it leaves out nothing."""

from __future__ import annotations

from typing import Any

import pytest

from simnet.cli.explain import explain
from simnet.network.latency import LATENCIES
from tests.worlds import TICKS, world

FULL: dict[str, Any] = {
    "pacing": {"kind": "deadline", "period": "1 s", "skew": 0.01},
    "uplink": "shared",
    "link": {
        "latency": {"kind": "trace", "file": "trace.csv"},
        "bandwidth": "1 Mbit/s",
        "queue": 64,
        "mtu": 1500,
        "loss": {"kind": "bursts", "rate": 0.01, "length": 3},
    },
}
"""A network of which nothing is said to be left out."""


@pytest.fixture(autouse=True)
def trace(tmp_path, monkeypatch):
    (tmp_path / "trace.csv").write_text("0,0.01\n1,0.03\n2,0.02\n")
    monkeypatch.chdir(tmp_path)


def left_out(link: dict[str, Any] | None = None, others: dict[str, Any] | None = None, **network: Any) -> Any:
    """What is left out of the full network with some of it changed; a field that is None is taken out."""
    links = {name: value for name, value in (FULL["link"] | (link or {})).items() if value is not None}
    changed = {name: value for name, value in (FULL | network).items() if value is not None} | {"link": links}
    return explain(world(**{"network": changed} | (others or {})))["realism: what it leaves out"]


def test_a_scenario_that_leaves_out_nothing_says_so():
    assert list(left_out()) == ["nothing"]


@pytest.mark.parametrize(
    ("topic", "words", "link", "network"),
    [
        ("uplinks", "independent: an agent sends to its 3 neighbours at once", {}, {"uplink": "independent"}),
        ("headers", "none", {"overhead": 0}, {}),
        ("bandwidth", "unlimited", {"bandwidth": None, "queue": None}, {}),
        ("queue length", "unlimited", {"queue": None}, {}),
        ("queue", "drops 78 of the 234 bytes", {"queue": 1}, {}),
        ("queue length", "of access lines", {}, {"line": {"up": {"bandwidth": "1 Mbit/s"}}}),
        ("queue length", "of access lines", {}, {"line": {"down": {"bandwidth": "1 Mbit/s"}}}),
        ("delay", "no jitter", {"latency": 0.01}, {}),
        ("delay", "take no time", {"latency": 0}, {}),
        ("delay", "drawn by itself", {"latency": {"kind": "lognormal", "median": 0.01}}, {}),
        ("loss", "no bursts", {"loss": 0.1}, {}),
        ("loss", "none on the way", {"loss": "none"}, {}),
        ("pacing", "no skew, no jitter", {}, {"pacing": TICKS}),
        ("pacing", "an oracle", {}, {"pacing": "ideal"}),
        ("contention", "[network.channel]", {}, {"medium": "shared"}),
        (
            "transport",
            "below the median round trip of 0.4",
            {"latency": {"kind": "trace", "file": "slow.csv"}},
            {"transport": {"kind": "reliable", "timeout": "0.2 s"}},
        ),
    ],
)
def test_what_is_taken_out_of_the_network_is_named_and_nothing_else(topic, words, link, network, tmp_path):
    (tmp_path / "slow.csv").write_text("0,0.2\n1,0.2\n")
    found = left_out(link, **network)
    assert list(found) == [topic]
    assert words in found[topic]


def test_work_that_takes_no_time_is_named():
    assert left_out(others={"compute.time": 0}) == {"work": "local work takes no time"}


def test_a_value_in_one_large_packet_is_named():
    large = {"data.features": 300, "data.rows": 400, "data.train": 300}
    assert "one of 2,4" in left_out({"mtu": None}, large)["packets"]
    assert list(left_out({}, large)) == ["nothing"]


def test_what_only_some_links_leave_out_is_counted():
    found = left_out(override=[{"agent": 0, "loss": 0.5}])
    assert found == {"loss": "every packet by itself: no bursts (6 of 18 links)"}


LORA = {"preset": "lorawan", "latency": None, "bandwidth": None, "queue": None, "mtu": None, "loss": None}


def test_lora_without_a_channel_has_no_contention_and_keeps_no_duty_cycle():
    # Three neighbours, 21 + 29 + 13 bytes at 5470 bit/s each: 0.276 s per round.
    assert "27.6% of the time (0.276 s per round of 1 s)" in left_out(LORA)["duty cycle"]
    assert "contention" in left_out(LORA)
    assert "however short a round is" in left_out(LORA, pacing={"kind": "barrier"})["duty cycle"]
    rare = left_out(LORA, pacing={"kind": "deadline", "period": "28 s"})
    assert "contention" in rare
    assert "duty cycle" not in rare
    assert "duty cycle" not in left_out(LORA | {"preset": "congested-wifi"})


def test_a_channel_says_what_it_has_not():
    none = {"bandwidth": None, "queue": None, "mtu": None}
    csma = left_out(none, uplink=None, channel="csma")
    assert list(csma) == ["capture"]
    tdma = left_out(none, uplink=None, channel={"kind": "tdma", "rate": "1 Mbit/s", "slot": "2 ms"})
    assert list(tdma) == ["slots"]
    slotted = left_out(none, uplink=None, channel={"kind": "slotted-aloha", "rate": "1 Mbit/s", "slot": "2 ms"})
    assert list(slotted) == ["capture", "slots"]
    lora = left_out(none, uplink=None, channel={"kind": "lora"})
    assert list(lora) == ["capture", "duty cycle"]
    assert list(left_out(none, uplink=None, channel={"kind": "lora", "duty_cycle": 0.01})) == ["capture"]


def test_rows_that_travel_first_do_not_use_the_channel():
    scenario = world(**{"network.channel": "csma"}).with_method("pdml")
    assert "do not use the channel" in explain(scenario)["realism: what it leaves out"]["reports"]


@pytest.mark.parametrize("kind", sorted(LATENCIES))
def test_every_kind_of_delay_says_what_it_leaves_out_or_nothing(kind):
    said = LATENCIES[kind].model_construct(kind=kind, value=1.0).leaves_out
    assert said is None or said.strip()
