"""simnet from Python: what a cell of a notebook shows, mistakes in constructors, and data that are there already."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import simnet
from simnet import Scenario, ScenarioError, compare, run, study

PAGE = (Path(__file__).parents[1] / "docs/data.md").read_text()
TINY = {"rounds": 2, "data": {"source": "synthetic", "rows": 300}, "algorithm": {"name": "admm"}}


def test_the_module_lists_what_it_has():
    assert {"run", "compare", "study", "Scenario", "Result"} <= set(dir(simnet))
    assert all(hasattr(simnet, name) for name in dir(simnet))


def test_what_is_shown_is_small():
    result = run(Scenario.of(TINY))
    assert re.fullmatch(r"Result\('unnamed', method='admm', test_error=[\d.]+, .*digest='\w{12}'\)", repr(result))
    assert len(repr(result)) < 300
    assert repr(Scenario.of(TINY)) == "Scenario(name='unnamed', method='admm', rounds=2, seed=1)"
    assert "<table>" in result._repr_html_()


def test_a_comparison_is_a_table_and_a_frame():
    found = compare(Scenario.of(TINY | {"privacy": {"epsilon": 0.001}}), ["admm", "pp-admm"])
    assert repr(found).splitlines()[0].startswith("method='admm', test_error=")
    assert repr(found).splitlines()[1].startswith("pp-admm cannot run here: privacy.epsilon = 0.001")
    assert found.frame()["method"].to_list() == ["admm"]
    assert "Cannot run here" in found._repr_html_()
    assert found[0].agents.height == 5
    assert found[0].rounds["round"].to_list() == [1, 2]


def test_a_study_is_shown_by_a_line_and_its_curves_as_a_picture(tmp_path):
    content = {"name": "steps", "scenario": TINY, "replicates": 1, "grid": {"algorithm.eta": [0.1, 0.2]}}
    found = study(content, tmp_path, workers=1)
    assert len(repr(found)) < 200
    assert "2 of 2 runs, 0 failed" in repr(found)
    assert found.plot()._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"rounds": -1, "algorithm": {"name": "admm"}}, "rounds = -1: a whole number of at least 1"),
        ({"algorithm": {"name": "admn"}}, "did you mean admm"),
        ({}, "algorithm.name is missing"),
        ({"algorithm": {"name": "admm"}, "round": 3}, "round: there is no such field"),
        ({"algorithm": {"name": "admm"}, "methods": {"admm": {"rounds": -1}}}, "methods.admm: rounds = -1"),
    ],
)
def test_a_wrong_constructor_is_a_sentence(content, said):
    with pytest.raises(ScenarioError, match=re.escape(said)):
        Scenario(**content)


def test_a_constructor_makes_what_a_file_makes():
    assert Scenario(**TINY) == Scenario.of(TINY)


def test_a_folder_may_be_a_text(tmp_path):
    (tmp_path / "rows.csv").write_text("1,2,0\n3,4,1\n5,6,0\n7,8,1\n")
    content = TINY | {"data": {"source": "rows.csv"}, "topology": {"kind": "ring", "agents": 3}}
    assert run(Scenario.of(content, folder=str(tmp_path))).agents.height == 3


def test_the_page_shows_how_arrays_frames_and_graphs_are_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    given = {"X": rng.normal(size=(200, 3)), "y": rng.choice([-1.0, 1.0], 200)}
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(block, given)
    assert [result.summary["agents"] for result in given["results"]] == [4, 4]
