from __future__ import annotations

import json
from math import pi
from pathlib import Path

import networkx as nx
import pytest

from simnet.errors import ScenarioError
from simnet.network.edge_attributes import edge_weight
from simnet.network.graph_files import read_graph
from simnet.network.model import LinkModel, Override, link_models
from simnet.network.topology import FromFile, agent_names
from simnet.streams import Streams


def load(path, **fields):
    topology = FromFile(kind="file", file=path.name, **fields)
    return topology.draw(Streams(1).generator("topology"), lambda name: path.parent / name)


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
        ("net.txt", "0 1\n0 1 7.5\n", "line 2 is '0 1 7.5', not an edge"),
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


ZOO = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d37" />
  <key attr.name="LinkLabel" attr.type="string" for="edge" id="d36" />
  <key attr.name="label" attr.type="string" for="node" id="d33" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d32" />
  <key attr.name="hyperedge" attr.type="int" for="node" id="d31" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d29" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d29">0.0</data><data key="d32">0.0</data><data key="d33">Nullpunkt</data></node>
    <node id="1"><data key="d29">0.0</data><data key="d32">9.0</data><data key="d33">São Tomé</data></node>
    <node id="2"><data key="d29">9.0</data><data key="d32">0.0</data><data key="d33">Accra &amp; Tema</data></node>
    <node id="3"><data key="d31">1</data><data key="d33">Hyperedge 1</data></node>
    <node id="4"><data key="d29">60.0</data><data key="d32">10.0</data><data key="d33">Far Away</data></node>
    <edge source="0" target="1"><data key="d36">OC-48</data><data key="d37">2500000000.0</data></edge>
    <edge source="1" target="0"><data key="d37">1000000.0</data></edge>
    <edge source="0" target="2" />
    <edge source="3" target="0" />
    <edge source="3" target="1" />
    <edge source="2" target="2" />
  </graph>
</graphml>
"""

ZOO_GML = """graph [
  directed 0
  label "Two Cables"
  node [ id 7 label "West" Country "Nowhere" Longitude -1.0 Latitude 50.0 ]
  node [ id 3 label "East" Longitude 1.0 Latitude 50.0 ]
  node [ id 5 label "East" Longitude 2.0 Latitude 50.0 ]
  edge [ source 7 target 3 LinkSpeedRaw 10000000000.0 ]
  edge [ source 7 target 3 ]
  edge [ source 3 target 5 latency_ms 7.5 loss 0.25 ]
]
"""


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def links_of(graph, **link):
    return link_models(LinkModel(**link), (), graph, Path)


def test_a_map_of_the_topology_zoo_just_works(tmp_path):
    path = written(tmp_path / "zoo.graphml", ZOO)
    with pytest.raises(
        ScenarioError, match=r'agent 4 \(Far Away\) of 0 to 4 has no neighbour; .*component = "largest"'
    ):
        load(path)
    graph = load(path, component="largest")
    assert agent_names(graph) == ["Nullpunkt", "São Tomé", "Accra & Tema", "Hyperedge 1"]
    assert list(graph.edges) == [(0, 1), (0, 2), (0, 3), (1, 3)]
    models = links_of(graph, latency={"kind": "distance"}, bandwidth="1 Mbit/s")
    assert models[0, 1].bandwidth == models[1, 0].bandwidth == 2.5e9
    assert models[0, 2].bandwidth == 1e6
    # 9 degrees of the equator are a fortieth of the circumference, and light takes 4.9 µs per kilometre.
    assert models[0, 1].latency.constant == pytest.approx(2 * pi * 6371.0088 / 40 * 4.9e-6)
    assert models[2, 0].latency.constant == pytest.approx(models[0, 1].latency.constant)
    # The node without coordinates stands half way between its neighbours.
    assert models[0, 3].latency.constant == pytest.approx(models[0, 1].latency.constant / 2)


def test_a_gml_map_may_repeat_labels_and_edges_without_saying_so(tmp_path):
    graph = load(written(tmp_path / "zoo.gml", ZOO_GML))
    assert agent_names(graph) == ["West", "East", "East"]
    models = links_of(graph, latency="1 ms")
    assert models[0, 1].bandwidth == 1e10
    assert models[0, 1].latency.constant == 0.001
    assert (models[1, 2].latency.constant, models[2, 1].loss.independent) == (0.0075, 0.25)


@pytest.mark.parametrize("data", [True, False])
def test_an_edge_list_that_networkx_writes_is_one(tmp_path, data):
    graph = nx.Graph([("north", "east"), ("east", "south")])
    graph.edges["north", "east"]["latency_ms"] = 20.0
    graph.edges["east", "south"]["latency_ms"] = 30.0
    nx.write_edgelist(graph, tmp_path / "net.edgelist", data=data)
    found = read_graph(tmp_path / "net.edgelist")
    assert found.names == ["north", "east", "south"]
    latencies = {ends: said["latency"].value for ends, said in found.given.items()}
    assert latencies == ({(0, 1): 0.02, (1, 0): 0.02, (1, 2): 0.03, (2, 1): 0.03} if data else {})


@pytest.mark.parametrize("written", ["{'a': }", "{1: 2}", "{1, 2}", "{" * 3000 + "}" * 3000, "{'a': open('x')}"])
def test_a_dictionary_that_is_none_is_refused(tmp_path, written):
    path = tmp_path / "net.edgelist"
    path.write_text(f"a b\nb c {written}\n")
    with pytest.raises(ScenarioError, match=r"line 2 is .*not an edge|nested too deeply"):
        read_graph(path)


def test_an_edge_list_has_names_and_attributes(tmp_path):
    path = written(
        tmp_path / "net.txt", '"New York" Boston latency=4ms "bandwidth=10 Mbit/s"\nBoston Albany loss=0.1\n'
    )
    graph = load(path)
    assert agent_names(graph) == ["New York", "Boston", "Albany"]
    models = links_of(graph)
    assert (models[1, 0].latency.constant, models[0, 1].bandwidth) == (0.004, 1e7)
    assert models[1, 2].loss.independent == 0.1


def test_a_table_of_edges_may_give_each_direction_its_own_values(tmp_path):
    text = "source,target,latency_ms,bandwidth_mbps\na,b,10,8\nb,a,30,\nb,c,5,2\n"
    models = links_of(load(written(tmp_path / "net.csv", text)))
    assert [models[ends].latency.constant for ends in ((0, 1), (1, 0), (1, 2), (2, 1))] == [0.01, 0.03, 0.005, 0.005]
    assert [models[ends].bandwidth for ends in ((0, 1), (1, 0), (2, 1))] == [8e6, None, 2e6]


def test_an_override_of_the_scenario_wins_over_the_file(tmp_path):
    graph = load(written(tmp_path / "net.txt", "a b latency=4ms loss=0.1\nb c latency=4ms\n"))
    models = link_models(LinkModel(), [Override(link=(0, 1), latency="9 ms")], graph, Path)
    assert (models[0, 1].latency.constant, models[0, 1].loss.independent) == (0.009, 0.1)
    assert models[1, 2].latency.constant == 0.004


def test_numbers_with_gaps_are_numbered_anew_in_the_largest_part(tmp_path):
    graph = load(written(tmp_path / "net.txt", "0 1\n9 7 latency=1ms\n7 8\n"), component="largest")
    assert list(graph.edges) == [(0, 1), (0, 2)]
    assert agent_names(graph) == ["7", "8", "9"]
    assert links_of(graph)[2, 0].latency.constant == 0.001


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("net.txt", "a b latency=20\n", "line 1 has latency = 20: that would be seconds; give it a unit"),
        ("net.txt", "a b rtt=20ms\n", "line 1 has rtt = 20ms: a link has a latency, which is one way"),
        ("net.txt", "a b loss=2\n", "line 1 has loss = 2: a probability lies between 0 and 1"),
        ("net.txt", "a b loss_db=2\n", "line 1 has loss_db = 2: db is no unit known here"),
        ("net.txt", "a b bandwidth=fast\n", "line 1 has bandwidth = fast: a number with one of the units"),
        ("net.txt", "a b bandwidth=0\n", "a bandwidth is above 0"),
        ("net.txt", 'a "b\n', "no closing quotation"),
        ("net.csv", "a,b\nb,c\n", "its first line is not source,target"),
        ("net.csv", "source,target,loss\na,b\n", "line 2 has not one entry under each of source, target, loss"),
        ("net.gml", "graph [ node [ id 0 ] ", "unexpected|expected|cannot"),
        ("net.gml", 'graph [\n node [ id 0 Latitude 91 Longitude 0 ]\n node [ id 1 ]\n edge [ source 0 target 1 ]\n]\n',
         "node 1 is at 91, 0, which are no degrees"),
        ("net.gml", 'graph [\n node [ id 0 ]\n node [ id 1 ]\n edge [ source 0 target 1 loss 2 ]\n]\n',
         "edge 1 has loss = 2"),
    ],
)  # fmt: skip
def test_what_an_edge_cannot_be_is_refused_with_its_place(tmp_path, name, text, fault):
    with pytest.raises(ScenarioError, match=rf"topology\.file = .*{name}: .*({fault})"):
        load(written(tmp_path / name, text))


def test_kilometres_need_coordinates(tmp_path):
    graph = load(written(tmp_path / "net.txt", "0 1\n"))
    with pytest.raises(ScenarioError, match="or a file with Latitude and Longitude"):
        links_of(graph, latency={"kind": "distance"})
    nx.set_node_attributes(graph, {0: (0.0, 0.0), 1: (0.0, 3.0)}, "position")
    with pytest.raises(ScenarioError, match=r"latency\.per_unit is missing: .* has kilometres"):
        links_of(graph, latency={"kind": "distance"})
    assert links_of(graph, latency={"kind": "distance", "per_unit": 2})[0, 1].latency.constant == 6


@pytest.mark.parametrize(
    ("told", "read"), [("0", 0.0), ("2.5", 2.5), (3, 3.0), ("-1", None), ("inf", None), ("nan", None), ("heavy", None)]
)
def test_a_weight_is_a_number_of_at_least_nothing_or_is_not_there(told, read):
    assert edge_weight({" Weight ": told, "label": "x"}, "an edge") == ({} if read is None else {"weight": read})
    assert edge_weight({"label": told}, "an edge") == {}
