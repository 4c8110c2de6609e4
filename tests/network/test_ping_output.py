"""What `ping` prints is a trace of delays."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simnet import Scenario, ScenarioError, run
from simnet.network.latency import DelayTrace, Empirical
from simnet.network.ping_output import pings

LINUX = """PING relay.example (192.0.2.7) 56(84) bytes of data.
64 bytes from 192.0.2.7: icmp_seq=1 ttl=57 time=12.5 ms
64 bytes from 192.0.2.7: icmp_seq=2 ttl=57 time=13 ms
64 bytes from 192.0.2.7: icmp_seq=2 ttl=57 time=80 ms (DUP!)
64 bytes from 192.0.2.7: icmp_seq=5 ttl=57 time=15.1 ms
64 bytes from 192.0.2.7: icmp_seq=4 ttl=57 time=14 ms
From 192.0.2.1 icmp_seq=3 Destination Host Unreachable

--- relay.example ping statistics ---
6 packets transmitted, 4 received, +1 duplicates, 33% packet loss, time 2500ms
rtt min/avg/max/mdev = 12.5/13.6/15.1/0.9 ms
"""
STAMPED = """PING relay.example (192.0.2.7) 56(84) bytes of data.
[1700000000.250000] 64 bytes from 192.0.2.7: icmp_seq=1 ttl=57 time=12.5 ms
[1700000000.500000] 64 bytes from 192.0.2.7: icmp_seq=2 ttl=57 time=13 ms
[1700000001.500000] 64 bytes from 192.0.2.7: icmp_seq=6 ttl=57 time=14 ms
"""
BUSYBOX = """PING relay (192.0.2.7): 56 data bytes
64 bytes from 192.0.2.7: seq=0 ttl=57 time=12.345 ms
64 bytes from 192.0.2.7: seq=1 ttl=57 time=13.002 ms
"""
WINDOWS = "\r\nPinging relay with 32 bytes of data:\r\nReply from 192.0.2.7: bytes=32 time=14ms TTL=117\r\n" + (
    "Request timed out.\r\nReply from 192.0.2.7: bytes=32 time<1ms TTL=117\r\n"
)


def read(text: str):
    return pings((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def test_answers_are_in_the_order_of_their_pings_each_once():
    found = read(LINUX)
    assert found.delays == [12.5, 13.0, 14.0, 15.1]
    assert found.lines == [2, 3, 6, 5]
    assert found.times == [0.5, 1.0, 2.0, 2.5], "six pings in 2.5 s are half a second apart"
    assert found.sent == 6


def test_stamps_say_when_pings_were_sent():
    assert read(STAMPED).times == [1700000000.25, 1700000000.5, 1700000001.5]
    assert read(STAMPED).sent == 6


@pytest.mark.parametrize(
    ("text", "times", "delays"),
    [(BUSYBOX, [0.0, 1.0], [12.345, 13.002]), (WINDOWS, [0.0, 1.0], [14.0, 1.0])],
    ids=["busybox", "windows"],
)
def test_other_pings_are_a_second_apart(text, times, delays):
    assert (read(text).times, read(text).delays) == (times, delays)


def test_numbers_that_begin_again_go_on():
    said = [*range(65530, 65536), *range(5)]
    lines = (f"64 bytes from 192.0.2.7: icmp_seq={k} ttl=57 time=1 ms" for k in said)
    assert read("\n".join(lines)).times == [float(k) for k in range(65530, 65541)]


@pytest.mark.parametrize("text", ["", "1\n2\n", "time_s,rtt_ms\n0,3\n", "x\n" * 30 + "time=3 ms\n", "secret\n"])
def test_what_is_no_output_of_ping_is_left_to_others(text):
    assert read(text) is None


def test_links_take_half_of_what_went_there_and_back(tmp_path):
    (tmp_path / "ping.txt").write_text(LINUX)
    said = {"file": "ping.txt", "unit": "ms", "round_trip": True}
    each = Empirical.model_validate({"kind": "empirical", **said}).read(lambda name: tmp_path / name)
    assert sorted(set(each.draw(np.random.default_rng(1), 100))) == pytest.approx([0.00625, 0.0065, 0.007, 0.00755])
    trace = DelayTrace.model_validate({"kind": "trace", **said}).read(lambda name: tmp_path / name)
    clock = trace.clock(0.0)
    times = (0.1, 0.6, 1.4, 1.6, 2.1)
    assert [clock(time) for time in times] == pytest.approx([6.25e-3, 6.5e-3, 6.5e-3, 7e-3, 7.55e-3])


@pytest.mark.parametrize("kind", ["empirical", "trace"])
def test_its_unit_is_said_and_not_guessed(tmp_path, kind):
    (tmp_path / "ping.txt").write_text(LINUX)
    latency = {"kind": kind, "file": "ping.txt"}
    content = {
        "data": {"source": "synthetic"},
        "algorithm": {"name": "admm"},
        "network": {"link": {"latency": latency}},
    }
    why = "its numbers are headed 'rtt_ms': write unit = \"ms\", and round_trip = true"
    with pytest.raises(ScenarioError, match=re.escape(why)):
        run(Scenario.of(content, folder=tmp_path))


def test_it_is_no_trace_of_bandwidth(tmp_path):
    (tmp_path / "ping.txt").write_text(LINUX)
    link = {"bandwidth": {"kind": "steps", "file": "ping.txt"}}
    content = {"data": {"source": "synthetic"}, "algorithm": {"name": "admm"}, "network": {"link": link}}
    with pytest.raises(ScenarioError, match="line 1 is not"):
        run(Scenario.of(content, folder=tmp_path))
