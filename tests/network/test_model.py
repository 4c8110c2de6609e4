from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from simnet.errors import ScenarioError
from simnet.network.model import PRESETS, Access, LinkModel, Override
from tests.network.models import refusal


def test_a_link_is_perfect_unless_told_otherwise():
    link = LinkModel()
    assert link.latency.constant == 0
    assert link.loss.independent == 0
    assert (link.bandwidth, link.queue, link.mtu) == (None, None, None)
    assert (link.overhead, link.framing, link.duplication, link.corruption) == (28, 0, 0, 0)


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ({"bandwidth": 0}, 'bandwidth = 0: a bit rate such as 1e7 or "10 Mbit/s", above 0'),
        ({"overhead": -1}, "overhead = -1: a whole number of at least 0"),
        ({"mtu": 20, "overhead": 20}, "mtu = 20: more than the overhead, which is 20 bytes"),
        ({"order": "lifo"}, 'order = "lifo": choose one of free, fifo (did you mean fifo?)'),
        ({"duplication": 1.5}, "duplication = 1.5: a probability lies between 0 and 1"),
        ({"corruption": -0.5}, "corruption = -0.5: a probability lies between 0 and 1"),
    ],
)
def test_an_impossible_link_is_refused_with_its_field(link, sentence):
    assert refusal(**link) == f"network.link.{sentence}"


LINE = nx.path_graph(4)


@pytest.mark.parametrize(
    ("place", "directions"),
    [
        ({"link": (1, 2)}, {(1, 2), (2, 1)}),
        ({"from": 2, "to": 1}, {(2, 1)}),
        ({"agent": 1}, {(0, 1), (1, 0), (1, 2), (2, 1)}),
        ({"region": (0, 1, 2)}, {(0, 1), (1, 0), (1, 2), (2, 1)}),
        ({"region": (0, 1), "across": (2, 3)}, {(1, 2), (2, 1)}),
    ],
)
def test_an_override_is_about_the_links_that_it_names(place, directions):
    assert set(Override(**place).places(LINE, "here")) == directions


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ({"link": (0, 2)}, "here.link: agents 0 and 2 share no link in this topology"),
        ({"from": 0, "to": 2}, "here.from: agents 0 and 2 share no link in this topology"),
        ({"agent": 4}, "here.agent = 4: there is no such agent, they are 0 to 3"),
        ({"region": (0, 9)}, "here.region = 9: there is no such agent, they are 0 to 3"),
    ],
)
def test_an_override_of_a_link_that_is_not_there_is_refused(place, sentence):
    with pytest.raises(ScenarioError) as refused:
        Override(**place).places(LINE, "here")
    assert str(refused.value) == sentence


def test_an_override_leaves_alone_what_it_does_not_set():
    link = LinkModel(latency="20 ms", loss=0.1, overhead=40)
    changed = Override(agent=0, loss=0.2).on(link, "here")
    assert changed == LinkModel(latency="20 ms", loss=0.2, overhead=40)


def test_an_override_that_does_not_fit_its_link_is_refused():
    with pytest.raises(ScenarioError, match=r"^here\.mtu: more than the overhead, which is 40 bytes$"):
        Override(agent=0, mtu=40).on(LinkModel(overhead=40), "here")


def test_only_links_between_agents_have_a_length():
    distance = {"kind": "distance", "per_unit": 1}
    with pytest.raises(ScenarioError, match=r"^network\.access\.latency\.kind = 'distance': only links between agents"):
        Access(latency=distance).read(Path)
    assert LinkModel(latency=distance).over(3.0).latency.constant == 3


def test_presets_have_the_headers_and_speeds_that_their_sources_say():
    """docs/network.md has the sources."""
    parts = {name: LinkModel(preset=name) for name in PRESETS}
    air = {"lorawan", "lora"}
    assert {name: link.overhead for name, link in parts.items()} == {
        name: 1 + 7 + 1 + 4 if name in air else 20 + 8 for name in PRESETS
    }
    ethernet, wifi = 18 + 20, 26 + 8 + 4
    framed = {"lan": ethernet, "wan": ethernet, "congested-wifi": wifi}
    assert {name: link.framing for name, link in parts.items()} == {name: framed.get(name, 0) for name in PRESETS}
    assert parts["lorawan"].bandwidth == pytest.approx(7 * 125_000 / 2**7 * 4 / 5, abs=5)
    queues = {name: link.queue.limit for name, link in parts.items() if link.queue and link.queue.unit == "bytes"}
    assert queues == {"lan": 512 * 1024, "wan": 500_000, "4g": 250_000, "satellite": 220_000}
    for name, products, seconds in (("wan", 1, 0.04), ("satellite", 2, 0.28)):
        link = parts[name]
        assert link.queue.limit * 8 == pytest.approx(products * link.bandwidth * seconds, rel=0.05)
