"""The parts under scenarios/parts: a user's file that brings everything about the network and the data."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest

from simnet import Scenario, run
from simnet.build import build
from simnet.cli.explain import explain
from simnet.live import run as live
from simnet.network.codec_faults import codec_faults
from simnet.parts.foreign import file_module, own_classes
from tests.worlds import unlawful

HERE = Path(__file__).parents[2] / "scenarios" / "parts"
FILE = HERE / "my_parts.py"
LONGEST = 14


def shown(**changes: object) -> Scenario:
    return Scenario.load(HERE / "my_parts.toml").with_(**changes)


def test_each_part_is_a_few_lines_against_the_public_module_alone():
    tree = ast.parse(FILE.read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"simnet.extend"}
    lines = {node.name: node.end_lineno - node.lineno + 1 for node in tree.body if isinstance(node, ast.ClassDef)}
    assert len(lines) == 11
    assert max(lines.values()) <= LONGEST


def test_the_scenario_uses_every_part_of_the_file():
    named = {part.reference for part in shown().foreign()}
    assert named == {f"my_parts.py:{name}" for name, _ in own_classes(file_module(FILE))}


def test_a_run_with_all_of_them_is_lawful_and_the_same_every_time():
    first = run(shown())
    assert unlawful(first) == []
    assert first.summary["digest"] == run(pickle.loads(pickle.dumps(shown()))).summary["digest"]
    traffic = first.summary["communication"]
    assert 0.02 < traffic["lost"] / traffic["messages"] < 0.1
    assert traffic["unreachable"] > 0
    assert first.summary["accuracy"]["test_error"] < 0.15
    assert first.summary["measures"]["Farthest"] > 0
    assert first.summary["measures"]["test_error_Recent"] < 0.15


def test_explain_and_report_know_them(tmp_path):
    facts = explain(shown())
    assert facts["delays on idle lines"]["all links"].startswith("5 % 6.")
    assert "0.55 Mbit/s on average" in facts["over time"]["network.link.bandwidth"]


def test_loss_that_is_drawn_with_the_delays_takes_a_latency_of_the_users_own_too():
    """Links of packets that are lost independently are drawn many at a time."""
    lossy = shown(**{"network.link.loss": 0.2, "network.link.bandwidth": None})
    assert run(lossy).summary["communication"]["lost"] > 100


@pytest.mark.parametrize(
    "changes",
    [
        {"network.override": [{"agent": 0, "loss": 0.5}, {"link": [1, 2], "latency": "my_parts.py:Weibull"}]},
        {"network.line.up": {"bandwidth": "my_parts.py:DayAndNight"}},
        {
            "network.underlay": {"graph": "my_parts.py:Circles", "link": {"loss": "my_parts.py:Fading"}},
            "network.link": {},
        },
        {"network.transport": "reliable"},
    ],
    ids=["override", "line", "underlay", "transport"],
)
def test_they_go_wherever_parts_of_the_house_go(changes, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = run(shown(**({"topology.circles": 2} | changes)))
    assert unlawful(found) == []


def test_the_codec_keeps_its_word():
    assert codec_faults(shown().network.codec) == []


def test_the_graph_and_the_rows_are_what_the_file_says():
    built = build(shown())
    assert [built.graph.degree[agent] for agent in range(12)] == [3, 2, 2, 2, 4, 2, 2, 2, 3, 2, 2, 2]
    assert [part.rows for part in built.learning.parts] == [40] * 12


@pytest.mark.parametrize("changes", [{}, {"network.link.loss": "none", "network.pacing": "barrier"}])
def test_they_run_live_too(changes):
    small = {"topology.circles": 1, "rounds": 5, "fault": [], "compute.time": 0, **changes}
    found = live.run(shown(**small), tls=False)
    assert unlawful(found) == []
    if changes:
        simulated = run(shown(**small)).summary["accuracy"]
        assert found.summary["accuracy"]["objective"] == pytest.approx(simulated["objective"], rel=1e-9)


def test_the_page_shows_every_part_as_it_is():
    page, source = (HERE.parents[1] / "docs" / "parts.md").read_text(), FILE.read_text()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            assert ast.get_source_segment(source, node) in page
