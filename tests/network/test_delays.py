"""Delays told before a run are those that messages meet in it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet import run
from simnet.build import build, kinds_of_links
from simnet.network.delays import PERCENT, alike_links, quantiles, sending
from simnet.network.draws import EvenSpread
from simnet.network.link import Link
from simnet.network.model import Line, Lines, LinkModel
from simnet.streams import Streams
from tests.worlds import TICKS, found, world

LATENCIES = [
    {"kind": "constant", "value": 0.04},
    {"kind": "uniform", "low": 0.01, "high": 0.09},
    {"kind": "normal", "mean": 0.02, "std": 0.03},
    {"kind": "lognormal", "median": 0.03, "sigma": 0.7},
    {"kind": "gamma", "mean": 0.05, "shape": 2.5},
    {"kind": "pareto", "scale": 0.01, "alpha": 2.5},
]


def quiet(model: LinkModel) -> float:
    return 0.0


@pytest.mark.parametrize("latency", LATENCIES, ids=lambda latency: latency["kind"])
def test_the_quantiles_are_those_of_many_messages_over_a_link(latency):
    model = LinkModel(latency=latency, bandwidth=1e5, mtu=300)
    (told,) = quantiles(alike_links({(0, 1): model}, Lines(), 1000, quiet)).values()
    link, now, taken = Link(model, Streams(3), "0>1"), 0.0, []
    for _ in range(40_000):
        passage = link.send(now, 1000)
        taken.append(passage.arrives - now)
        now = passage.arrives
    assert told == pytest.approx(np.percentile(taken, PERCENT), rel=0.03)


def test_a_trace_and_a_file_of_delays_have_the_quantiles_of_their_numbers(tmp_path):
    delays = np.random.default_rng(1).gamma(2.0, 0.02, 500)
    (tmp_path / "delays.csv").write_text("".join(f"{each}\n" for each in delays))
    (tmp_path / "trace.csv").write_text("".join(f"{place},{each}\n" for place, each in enumerate(delays)))
    for latency in ({"kind": "empirical", "file": "delays.csv"}, {"kind": "trace", "file": "trace.csv"}):
        model = LinkModel(latency=latency, overhead=0).read(lambda name: tmp_path / name)
        (told,) = quantiles(alike_links({(0, 1): model}, Lines(), 100, quiet)).values()
        assert told == pytest.approx(np.percentile(delays, PERCENT, method="inverted_cdf"), rel=1e-9)


@given(st.integers(1, 5000), st.floats(1e3, 1e7), st.one_of(st.none(), st.integers(50, 2000)), st.floats(1e3, 1e7))
def test_lines_are_idle_and_have_room_for_everything(size, bandwidth, mtu, access):
    """By hand: packets one after another over the up line, the link and the down line."""
    model = LinkModel(bandwidth=bandwidth, mtu=mtu, overhead=28, queue=0)
    room = size if mtu is None else mtu - 28
    packets = [min(room, size - start) + 28 for start in range(0, size, room)]
    up = ended = 0.0
    for weight in packets:
        up += weight * 8 / access
        ended = max(up, ended) + weight * 8 / bandwidth
    found = sending(model, Lines(up=Line(bandwidth=access, queue=0)), size)
    assert found == pytest.approx(ended)
    assert sending(model, Lines(), size) == pytest.approx(sum(packets) * 8 / bandwidth)


def test_a_message_of_a_run_takes_the_time_that_was_told():
    lines = {"up": {"bandwidth": "50 kbit/s"}, "down": {"bandwidth": "20 kbit/s"}}
    network = {"pacing": TICKS, "link": {"latency": 0.01, "bandwidth": "100 kbit/s"}, "line": lines}
    scenario = world(network=network, topology={"kind": "ring", "agents": 3})
    (kind,) = kinds_of_links(build(scenario))
    result = run(scenario)
    sent = {event.message: t for t, event in found(result, "message.sent")}
    taken = [t - sent[event.message] for t, event in found(result, "message.delivered")]
    # The first of a broadcast meets idle lines, the others wait behind it.
    assert kind.median == pytest.approx(min(taken))


def test_links_of_one_kind_are_told_once_and_many_kinds_together():
    near, far = (LinkModel(latency=value) for value in (0.01, 0.3))
    few = quantiles(alike_links({(0, 1): near, (1, 0): near, (1, 2): far}, Lines(), 50, quiet))
    assert list(few) == ["0>1 and 1 other", "1>2"]
    assert (few["1>2"], few["0>1 and 1 other"]) == ([0.3] * 4, [0.01] * 4)
    # 98 links of 0.01 s to 0.98 s and two of 5 s: each counts once.
    models = {(0, peer): LinkModel(latency=peer / 100) for peer in range(1, 99)}
    models |= {(1, 0): LinkModel(latency=5.0), (1, 2): LinkModel(latency=5.0)}
    assert quantiles(alike_links(models, Lines(), 50, quiet)) == {"100 links of 99 kinds": [0.05, 0.5, 0.95, 5.0]}


def test_what_is_spread_evenly_is_each_part_of_the_distribution_once():
    spread = EvenSpread()
    assert spread.random(4).tolist() == [0.125, 0.375, 0.625, 0.875]
    assert spread.integers(3, size=6).tolist() == [0, 0, 1, 1, 2, 2]
    assert spread.standard_normal(100).mean() == pytest.approx(0, abs=1e-12)
    assert spread.standard_gamma(2.5, 10_000).mean() == pytest.approx(2.5, rel=1e-3)


def test_the_slowest_kind_comes_first():
    scenario = world(**{"network.link.latency": 0.01, "network.override": [{"agent": 0, "latency": 0.2}]})
    kinds = kinds_of_links(build(scenario))
    assert [kind.median for kind in kinds] == pytest.approx([0.2, 0.01])
    assert sum(len(kind.places) for kind in kinds) == 18
