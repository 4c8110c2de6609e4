"""The physical network under the agents: where they stand, and which way packets go."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from simnet.errors import ScenarioError
from simnet.network.underlay import PhysicalNetwork, Underlay
from simnet.streams import Streams

DIAMOND = """
a b latency=1ms bandwidth=5e6 weight=1
b d latency=1ms bandwidth=4e6 weight=1
a c latency=1ms bandwidth=3e6 weight=0.5
c d latency=1ms bandwidth=2e6 weight=1
a e latency=0.5ms weight=4
e f latency=0.5ms weight=4
f d latency=0.5ms weight=4
"""


def drawn(text: str, folder: Path, agents: int, **section: Any) -> PhysicalNetwork:
    (folder / "graph.txt").write_text(text)
    underlay = Underlay.model_validate({"graph": {"kind": "file", "file": str(folder / "graph.txt")}, **section})
    return underlay.draw(agents, Streams(1), Path)


def way(network: PhysicalNetwork, sender: int, receiver: int) -> str:
    return " ".join(network.name(link) for link in network.route(sender, receiver))


def test_packets_take_the_way_of_least_delay_of_fewest_links_or_of_least_weight(tmp_path):
    ends = {"attach": ["a", "d"]}
    assert way(drawn(DIAMOND, tmp_path, 2, **ends), 0, 1) == "a>e e>f f>d"
    assert way(drawn(DIAMOND, tmp_path, 2, routing="hops", **ends), 0, 1) == "a>b b>d", "of two the smaller numbers"
    assert way(drawn(DIAMOND, tmp_path, 2, routing="weight", **ends), 0, 1) == "a>c c>d"


def test_of_equally_long_ways_the_one_with_the_fewest_links_wins(tmp_path):
    ways = "a b latency=2ms\na c latency=1ms\nc b latency=1ms\n"
    assert way(drawn(ways, tmp_path, 2, attach=["a", "b"]), 0, 1) == "a>b"
    nothing = "a c\nc b\na b\n"
    assert way(drawn(nothing, tmp_path, 2, attach=["a", "b"]), 0, 1) == "a>b"


@given(st.integers(2, 6), st.sampled_from(["delay", "hops"]), st.data())
@settings(max_examples=60, deadline=None)
def test_every_route_is_the_best_of_all_ways_that_there_are(tmp_path_factory, nodes, routing, data):
    tree = [(data.draw(st.integers(0, node - 1)), node) for node in range(1, nodes)]
    pairs = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
    edges = {(min(edge), max(edge)) for edge in [*tree, *data.draw(st.lists(pairs, max_size=8))] if edge[0] != edge[1]}
    delays = {edge: data.draw(st.integers(0, 4)) for edge in sorted(edges)}
    text = "\n".join(f"{a} {b} latency={delay}ms" for (a, b), delay in delays.items())
    network = drawn(text, tmp_path_factory.getbasetemp(), nodes, routing=routing)
    graph = nx.Graph(list(edges))

    def length(path: list[int]) -> tuple[Fraction, int, list[int]]:
        links = [(min(link), max(link)) for link in pairwise(path)]
        total = sum((Fraction(delays[link], 1000) for link in links), Fraction(0))
        return (total if routing == "delay" else Fraction(0)), len(links), path

    for a in range(nodes):
        for b in set(range(nodes)) - {a}:
            best = min(nx.all_simple_paths(graph, a, b), key=length)
            assert network.route(a, b) == list(pairwise(best))


def test_what_a_path_is_like_follows_from_its_links(tmp_path):
    network = drawn(DIAMOND, tmp_path, 2, routing="hops", attach=["a", "d"], link={"mtu": 128, "overhead": 28})
    assert network.delay(0, 1) == pytest.approx(2e-3)
    assert network.bottleneck(0, 1) == 4e6
    # Two full packets and a third; the second link is slower, so they queue there.
    assert network.alone(0, 1, [250]) == pytest.approx(2e-3 + 128 * 8 / 5e6 + (128 + 128 + 78) * 8 / 4e6)
    assert network.shared_by([(0, 1), (1, 0), (0, 1)]) == {(0, 1): 2, (1, 2): 2, (2, 1): 1, (1, 0): 1}


def test_a_delay_that_varies_counts_with_its_median_the_same_for_links_that_are_alike():
    link = {"latency": {"kind": "lognormal", "median": "10 ms", "sigma": 0.5}}
    underlay = Underlay.model_validate({"graph": {"kind": "ring", "agents": 7}, "link": link})
    network = underlay.draw(7, Streams(1), Path)
    assert network.delay(0, 1) == pytest.approx(0.01, rel=0.1)
    assert [len(network.route(0, peer)) for peer in range(1, 7)] == [1, 2, 3, 3, 2, 1]


def test_agents_stand_where_they_are_put(tmp_path):
    assert drawn(DIAMOND, tmp_path, 4).places == [0, 1, 2, 3]
    assert drawn(DIAMOND, tmp_path, 3, attach=["f", 0, "f"]).places == [5, 0, 5]
    spread = drawn(DIAMOND, tmp_path, 9, attach="spread").places
    assert sorted(spread[:6]) == list(range(6))
    assert len(set(spread[6:])) == 3
    scattered = drawn(DIAMOND, tmp_path, 200, attach="random").places
    assert set(scattered) == set(range(6))
    assert scattered == drawn(DIAMOND, tmp_path, 200, attach="random").places


def test_nodes_of_one_name_are_told_apart_by_their_numbers(tmp_path):
    path = tmp_path / "twins.gml"
    path.write_text(
        'graph [ node [ id 0 label "Springfield" ] node [ id 1 label "Shelbyville" ] node [ id 2 label "Springfield" ]'
        " edge [ source 0 target 1 ] edge [ source 1 target 2 ] ]"
    )
    section = {"graph": {"kind": "file", "file": str(path)}, "attach": ["Springfield (2)"]}
    network = Underlay.model_validate(section).draw(1, Streams(1), Path)
    assert network.names == ["Springfield (0)", "Shelbyville", "Springfield (2)"]
    assert network.places == [2]


@pytest.mark.parametrize(
    ("section", "agents", "sentence"),
    [
        ({}, 9, 'attach = "in-order": 9 agents and only 6 nodes'),
        ({"attach": ["a", "b"]}, 3, "attach: 2 nodes for 3 agents; one for each"),
        ({"attach": ["a", 6]}, 2, r"network.underlay.attach.1 = 6: there is no such node, they are 0 to 5"),
        ({"attach": ["a", "x"]}, 2, r"network.underlay.attach.1 = 'x': there is no node of that name"),
    ],
)
def test_what_does_not_fit_the_graph_is_refused_in_a_sentence(tmp_path, section, agents, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        drawn(DIAMOND, tmp_path, agents, **section)


def test_a_graph_that_cannot_be_read_or_drawn_is_told_of_the_underlay(tmp_path):
    with pytest.raises(ScenarioError, match=r"^network\.underlay\.graph\.file = .*line 1 is not an edge"):
        drawn("a b c", tmp_path, 2)
    odd = Underlay.model_validate({"graph": {"kind": "regular", "agents": 5, "degree": 3}})
    with pytest.raises(ScenarioError, match=r"^network\.underlay\.graph\.degree = 3: 5 agents need an even degree"):
        odd.draw(2, Streams(1), Path)
    for said in ("", "weight=heavy", "weight=-1", "weight=nan"):
        with pytest.raises(ScenarioError, match=r'routing = "weight": the edge of nodes 0 and 1 has no weight'):
            drawn(f"a b {said}\nb c weight=1", tmp_path, 2, routing="weight")
    with pytest.raises(ScenarioError, match=r"^network\.underlay\.link\.latency\.kind = 'distance': needs"):
        drawn("a b", tmp_path, 2, link={"latency": {"kind": "distance"}})


@pytest.mark.parametrize("attach", [[], "everywhere", [1.5], [True], 3], ids=str)
def test_what_is_no_list_of_nodes_is_refused(attach):
    with pytest.raises(ValidationError, match="one of in-order, random, spread, or a list of nodes"):
        Underlay.model_validate({"graph": {"kind": "ring"}, "attach": attach})


def test_queues_that_drop_part_of_every_value_even_on_an_idle_path_are_refused(tmp_path):
    """The first link is fast, so the packets of a message are at the slow one nearly together."""
    slow_later = "a b bandwidth=1e9\nb c bandwidth=1e4\n"
    sizes = {"mtu": 100, "queue": 3}
    network = drawn(slow_later, tmp_path, 2, attach=["a", "c"], link=sizes)
    network.refuse_above_queues([(0, 1), (1, 0)], 4 * 72)
    with pytest.raises(ScenarioError, match="even an idle path from agent 0 to agent 1 drops some of them"):
        network.refuse_above_queues([(0, 1)], 5 * 72)
