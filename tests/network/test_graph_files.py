from __future__ import annotations

import json

import networkx as nx
import pytest

from simnet.errors import ScenarioError
from simnet.network.topology import FromFile
from simnet.streams import Streams


def load(path):
    return FromFile(kind="file", file=path.name).draw(Streams(1).generator("topology"), lambda name: path.parent / name)


def test_an_edge_list_gives_the_graph_and_the_number_of_agents(tmp_path):
    path = tmp_path / "net.txt"
    path.write_text("# a square with a diagonal\n0 1\n1 2  # east\n\n2 3\n3 0\n0 2\n")
    graph = load(path)
    assert list(graph.edges) == [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]
    assert len(graph) == 4


def test_an_edge_written_in_both_directions_is_one_edge(tmp_path):
    path = tmp_path / "net.txt"
    path.write_text("0 1\n1 0\n1 2\n1 2\n")
    assert list(load(path).edges) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("key", ["edges", "links"])
def test_node_link_json_keeps_positions(tmp_path, key):
    path = tmp_path / "net.json"
    nodes = [{"id": 0, "position": [0, 0.5]}, {"id": 1, "position": [1, 1]}, {"id": 2}]
    path.write_text(json.dumps({"nodes": nodes, key: [{"source": 0, "target": 1}, {"source": 2, "target": 1}]}))
    graph = load(path)
    assert list(graph.edges) == [(0, 1), (1, 2)]
    assert nx.get_node_attributes(graph, "position") == {0: (0.0, 0.5), 1: (1.0, 1.0)}


def test_what_networkx_writes_can_be_read(tmp_path):
    graph = nx.petersen_graph()
    (tmp_path / "net.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    nx.write_graphml(graph, tmp_path / "net.graphml")
    expected = sorted(tuple(sorted(edge)) for edge in graph.edges)
    assert list(load(tmp_path / "net.json").edges) == expected
    assert list(load(tmp_path / "net.graphml").edges) == expected


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("net.txt", "0 1\n2 3\n", "agents 0 to 3 falls into 2 parts"),
        ("net.txt", "0 1\n1 3\n", "agent 2 of 0 to 3 has no neighbour"),
        ("net.txt", "0 1\n1 999999999999\n", "agent 2 of 0 to 999999999999 has no neighbour"),
        ("net.txt", "0 1\n1 1\n", "line 2 links agent 1 with itself"),
        ("net.txt", "0 1\n1 bob\n", "line 2 names 'bob', agents are called 0, 1, 2"),
        ("net.txt", "0 1\n1 -2\n", "line 2 names '-2'"),
        ("net.txt", "0 1 7.5\n", "line 1 is '0 1 7.5', not an edge"),
        ("net.txt", "# nothing\n", "no edge"),
        ("net.json", "[1, 2]", "not node-link JSON"),
        ("net.json", '{"nodes": [{"id": 0, "position": 3}], "edges": []}', "not node-link JSON"),
        ("net.json", "{", "property name"),
        ("net.json", '{"nodes": [{"id": 5}], "links": [{"source": 0, "target": 1}]}', "agent 2 of 0 to 5"),
        ("net.graphml", "<graphml", "unclosed token"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_network_is_refused_with_the_place(tmp_path, name, text, fault):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ScenarioError, match=rf"topology\.file = .*{name}: .*{fault}"):
        load(path)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(ScenarioError, match=r"topology\.file = .*absent\.txt: .*No such file"):
        load(tmp_path / "absent.txt")
