from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simnet.errors import ScenarioError
from simnet.network.topology import TOPOLOGIES
from simnet.scenario import Scenario
from simnet.streams import Streams

seeds = st.integers(0, 10**6)


def draw(kind: str, agents: int, seed: int = 1, **settings):
    return drawn(Streams(seed).generator("topology"), kind, agents, **settings)


def drawn(rng, kind, agents, **settings):
    return TOPOLOGIES[kind](kind=kind, agents=agents, **settings).draw(rng, Path)


def check_network(graph: nx.Graph, agents: int) -> None:
    assert list(graph) == list(range(agents))
    assert nx.is_connected(graph)
    assert nx.number_of_selfloops(graph) == 0
    assert all(list(graph[agent]) == sorted(graph[agent]) for agent in graph)


@given(st.data(), st.integers(2, 40), seeds)
def test_a_random_graph_has_exactly_the_edges_that_the_mean_degree_asks_for(data, agents, seed):
    edges = data.draw(st.integers(agents - 1, agents * (agents - 1) // 2))
    graph = draw("random", agents, seed, mean_degree=2 * edges / agents)
    check_network(graph, agents)
    assert graph.number_of_edges() == edges


def test_half_an_edge_is_rounded_as_python_rounds():
    assert draw("random", 5, mean_degree=3).number_of_edges() == round(7.5)


def test_every_labelled_tree_is_equally_likely():
    rng = Streams(1).generator("topology")
    counts = Counter(tuple(drawn(rng, "random", 4, mean_degree=1.5).edges) for _ in range(4000))
    assert len(counts) == 4**2  # Cayley
    # The sum of squares is chi-squared with 15 degrees of freedom.
    assert sum((count - 250) ** 2 / 250 for count in counts.values()) < 37.7  # exceeded once in a thousand


def test_the_further_edges_of_a_random_graph_fall_on_all_free_pairs_alike():
    """Given its tree, a graph of 4 agents and 4 edges has one more edge on one of 3 free pairs."""
    rng = Streams(2).generator("topology")
    counts = Counter(tuple(drawn(rng, "random", 4, mean_degree=2).edges) for _ in range(4000))
    # 3 squares, reached from 4 trees each, and 12 triangles with a tail, from 3 each: 48 equally likely ways.
    squares = {edges: n for edges, n in counts.items() if all(d == 2 for _, d in nx.Graph(edges).degree)}
    assert (len(squares), len(counts)) == (3, 15)
    expected = {edges: 4000 * (4 if edges in squares else 3) / 48 for edges in counts}
    assert sum((n - expected[edges]) ** 2 / expected[edges] for edges, n in counts.items()) < 36.1


def test_a_large_random_graph_is_drawn_without_a_slip():
    graph = draw("random", 30_000, mean_degree=6)
    check_network(graph, 30_000)
    assert graph.number_of_edges() == 90_000


@given(st.integers(3, 60))
def test_in_a_ring_everybody_has_two_neighbours(agents):
    graph = draw("ring", agents)
    check_network(graph, agents)
    assert set(dict(graph.degree).values()) == {2}


@given(st.integers(2, 60))
def test_in_a_star_agent_0_is_everybodys_only_neighbour(agents):
    graph = draw("star", agents)
    check_network(graph, agents)
    assert set(graph.edges) == {(0, agent) for agent in range(1, agents)}


@given(st.integers(2, 30))
def test_a_complete_graph_has_all_edges(agents):
    graph = draw("complete", agents)
    check_network(graph, agents)
    assert graph.number_of_edges() == agents * (agents - 1) // 2


@given(st.integers(2, 80))
def test_in_a_grid_neighbours_are_one_step_apart(agents):
    graph = draw("grid", agents)
    check_network(graph, agents)
    width = int(np.ceil(np.sqrt(agents)))
    place = {agent: divmod(agent, width) for agent in graph}
    near = {
        (a, b) for a in graph for b in range(a + 1, agents)
        if abs(place[a][0] - place[b][0]) + abs(place[a][1] - place[b][1]) == 1
    }  # fmt: skip
    assert set(graph.edges) == near


@given(st.integers(2, 30), st.integers(1, 29), seeds)
def test_in_a_regular_graph_everybody_has_the_same_number_of_neighbours(agents, degree, seed):
    assume(degree < agents and agents * degree % 2 == 0 and (degree > 1 or agents == 2))
    graph = draw("regular", agents, seed, degree=degree)
    check_network(graph, agents)
    assert set(dict(graph.degree).values()) == {degree}


def test_every_cubic_graph_of_six_agents_turns_up():
    rng = Streams(3).generator("topology")
    assert len({tuple(drawn(rng, "regular", 6, degree=3).edges) for _ in range(2000)}) == 70


def test_a_regular_graph_has_as_many_triangles_as_theory_says():
    """Their number tends to a Poisson variable of mean (d − 1)³/6 (Bollobás 1980, corollary 2)."""
    rng = Streams(4).generator("topology")
    triangles = [sum(nx.triangles(drawn(rng, "regular", 200, degree=3)).values()) // 3 for _ in range(400)]
    assert np.mean(triangles) == pytest.approx(4 / 3, abs=0.2)
    assert np.var(triangles) == pytest.approx(4 / 3, abs=0.4)


@given(st.integers(3, 40), st.integers(1, 5), st.floats(0, 1), seeds)
def test_rewiring_a_small_world_keeps_the_number_of_edges(agents, half, rewire, seed):
    assume(2 * half < agents)
    assume(half > 1 or rewire < 0.1)
    graph = draw("small-world", agents, seed, degree=2 * half, rewire=rewire)
    check_network(graph, agents)
    assert graph.number_of_edges() == agents * half


def test_a_small_world_that_is_not_rewired_is_a_lattice():
    graph = draw("small-world", 10, degree=4, rewire=0)
    assert all(set(graph[a]) == {(a + step) % 10 for step in (-2, -1, 1, 2)} for a in graph)


@given(st.integers(2, 40), st.integers(1, 39), seeds)
def test_each_newcomer_of_a_scale_free_graph_joins_the_same_number(agents, attach, seed):
    assume(attach < agents)
    graph = draw("scale-free", agents, seed, attach=attach)
    check_network(graph, agents)
    assert graph.number_of_edges() == attach * (agents - attach)


def test_a_scale_free_graph_has_hubs():
    degrees = sorted(dict(draw("scale-free", 5000, attach=2).degree).values())
    assert degrees[2500] <= 3
    assert degrees[-1] > 60  # a graph with independent edges and this mean degree, 4, stays below 20


@given(st.integers(2, 40), st.floats(0.5, 1.5), seeds)
def test_geometric_neighbours_are_exactly_those_within_the_radius(agents, radius, seed):
    graph = draw("geometric", agents, seed, radius=radius)
    check_network(graph, agents)
    places = nx.get_node_attributes(graph, "position")
    assert all(0 <= c <= 1 for place in places.values() for c in place)
    near = {
        (a, b) for a in graph for b in range(a + 1, agents) if np.hypot(*np.subtract(places[a], places[b])) <= radius
    }
    assert set(graph.edges) == near


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("random", {"mean_degree": 4}),
        ("regular", {"degree": 4}),
        ("regular", {"degree": 2}),
        ("small-world", {"degree": 4, "rewire": 0.3}),
        ("scale-free", {"attach": 2}),
        ("geometric", {"radius": 0.4}),
    ],
)
def test_the_same_stream_gives_the_same_graph_and_another_stream_another(kind, settings):
    first, again, other = (draw(kind, 50, seed, **settings) for seed in (1, 1, 2))
    assert list(first.edges) == list(again.edges)
    assert list(first.edges) != list(other.edges)
    assert first.nodes(data=True) == again.nodes(data=True)


@pytest.mark.parametrize(
    ("kind", "agents", "settings", "message"),
    [
        ("random", 5, {"mean_degree": 4.3}, r"topology\.mean_degree = 4\.3: 5 agents have at most 4 neighbours"),
        ("random", 5, {"mean_degree": 1.3}, r"topology\.mean_degree = 1\.3: 5 agents need at least 1\.6"),
        ("regular", 5, {"degree": 3}, r"topology\.degree = 3: 5 agents need an even degree"),
        ("regular", 5, {"degree": 5}, r"topology\.degree = 5: 5 agents have 1 to 4 neighbours"),
        ("regular", 6, {"degree": 1}, r"topology\.degree = 1: 6 agents need at least 2"),
        ("small-world", 9, {"degree": 3, "rewire": 0.1}, r"topology\.degree = 3: .* even degree from 2 to 8"),
        ("small-world", 4, {"degree": 4, "rewire": 0.1}, r"topology\.degree = 4"),
        ("scale-free", 5, {"attach": 5}, r"topology\.attach = 5: .* joins 1 to 4"),
        ("geometric", 200, {"radius": 0.01}, r"topology\.radius = 0\.01: 200 agents need about 0\.14"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_the_field_and_what_would_be_right(kind, agents, settings, message):
    with pytest.raises(ScenarioError, match=message):
        draw(kind, agents, **settings)


@pytest.mark.parametrize(
    ("topology", "sentence"),
    [
        ({"kind": "torus"}, 'topology.kind = "torus": choose one of random, ring'),
        ({"kind": "ring", "agents": 1}, "topology.agents = 1: a whole number of at least 2"),
        ({"kind": "random", "mean_degree": 0}, "topology.mean_degree = 0: a number above 0"),
        ({"kind": "regular", "degree": 0}, "topology.degree = 0: a whole number of at least 1"),
        ({"kind": "small-world", "rewire": 1.1}, "topology.rewire = 1.1: a probability lies between 0 and 1"),
        ({"kind": "scale-free", "attach": 0}, "topology.attach = 0: a whole number of at least 1"),
        ({"kind": "geometric", "radius": 0.0}, "topology.radius = 0.0: a number above 0"),
        ({"kind": "file"}, "topology.file is missing"),
    ],
)
def test_a_setting_that_no_graph_has_is_refused_when_the_scenario_is_read(topology, sentence):
    with pytest.raises(ScenarioError) as refused:
        Scenario.of({"algorithm": {"name": "admm"}, "topology": topology})
    assert str(refused.value).startswith(sentence)


def test_every_kind_can_be_drawn_with_its_defaults():
    for kind in TOPOLOGIES:
        if kind not in ("file", "matrix"):
            check_network(draw(kind, 12), 12)


def test_an_agents_number_is_one_object_wherever_the_graph_has_it():
    graph = drawn(np.random.default_rng(1), "regular", 1000, degree=4)
    nodes = {id(node) for node in graph}
    assert {id(peer) for node in graph for peer in graph[node]} <= nodes


def test_a_ring_of_two_is_refused_before_anything_is_drawn():
    with pytest.raises(ScenarioError, match=r"topology\.agents = 2: a ring has at least 3 agents"):
        Scenario.of({"topology": {"kind": "ring", "agents": 2}, "algorithm": {"name": "admm"}})
