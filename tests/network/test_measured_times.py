"""Traces, matrices, timetables and graphs from strangers: little memory, and no word of a file that is none."""

from __future__ import annotations

import os
from pathlib import Path

import networkx as nx
import pytest

from simnet.allowance import resident
from simnet.errors import ScenarioError
from simnet.network.graph_files import read_graph
from simnet.network.latency_matrix import read_matrix
from simnet.network.loss import Trace
from simnet.network.measured_times import read_table
from simnet.network.rates import Mahimahi
from simnet.network.timetables import read_timetable

READERS = {
    "table.csv": lambda path: read_table(path, "file", 2, "a time and a delay"),
    "matrix.csv": lambda path: read_matrix(path, "file", None, None),
    "times.csv": lambda path: read_timetable(path, "file", 1, None, nx.path_graph(3)),
    "trace": lambda path: Mahimahi(kind="mahimahi", file=str(path)).read(Path),
    "loss": lambda path: Trace(kind="trace", file=str(path)).read(Path),
    **{f"graph.{suffix}": read_graph for suffix in ("txt", "csv", "json", "gml", "graphml")},
}


def refusal(name: str, path: Path) -> str:
    before = resident()
    with pytest.raises(ScenarioError) as refused:
        READERS[name](path)
    assert resident() - before < 110_000_000
    assert "\n" not in str(refused.value)
    return str(refused.value).replace(str(path), "")


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_no_such_thing_is_not_quoted(tmp_path, name):
    path = tmp_path / name
    for text in (
        "root:x:0:0:hunter2:/root:/bin/bash\n" * 3,
        'hunter2 "hunter2\n',
        "hunter2,root\nhunter2,root,hunter2\n",
    ):
        path.write_text(text)
        told = refusal(name, path)
        assert "hunter2" not in told
        assert "root" not in told


@pytest.mark.parametrize("name", READERS)
def test_devices_pipes_and_folders_are_no_files(tmp_path, name):
    os.mkfifo(tmp_path / name)
    for path in (tmp_path / name, tmp_path, Path("/dev/zero")):
        if path == tmp_path / name or name in ("trace", "loss", "table.csv"):
            assert "not a plain file" in refusal(name, path)


@pytest.mark.parametrize("name", READERS)
def test_a_file_of_any_size_takes_little_memory(tmp_path, name):
    block = {
        "table.csv": b"1,1\n",
        "matrix.csv": b"1,1\n",
        "times.csv": b"0,1,2\n",
        "trace": b"1\n",
        "loss": b"0 ",
        "graph.csv": b"source,target\n" + b"0,1\n",
    }.get(name, b"0 1\n")
    with (tmp_path / name).open("wb") as out:
        for _ in range(20):
            out.write(block * (1_000_000 // len(block)))
    assert "MB of memory" in refusal(name, tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("graph.json", '{"nodes":' + "[" * 100_000),
        ("graph.json", '{"nodes": [{"id": 0}], "edges": 7}'),
        ("graph.json", '{"nodes": [{"id": 0, "position": [1]}], "edges": []}'),
        ("graph.json", "[]"),
        ("graph.gml", "graph [\n" + "node [\n" * 20_000),
        ("graph.gml", "graph [\n node [ id 0 ]\n edge [ source 0 ]\n]"),
        ("graph.graphml", "<a>" * 20_000),
        ("graph.graphml", "<graphml><graph><edge/></graph></graphml>"),
        ("graph.txt", "0 " + "9" * 5000 + "\n"),
        ("graph.csv", "source,target\n" + "9" * 5000 + ",0\n"),
    ],
)
def test_a_damaged_graph_is_a_sentence(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert len(refusal(name, tmp_path / name)) < 400


def test_entities_of_xml_do_not_multiply(tmp_path):
    levels = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    text = f'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY e0 "ha">{levels}]><graphml><desc>&e11;</desc></graphml>'
    (tmp_path / "graph.graphml").write_text(text)
    assert refusal("graph.graphml", tmp_path / "graph.graphml")
