"""What is there to start from, and what has been run."""

from __future__ import annotations

import json
import math
import os
import tomllib
from pathlib import Path

import pytest

from simnet.cli import shipped
from simnet.scenario import Scenario
from tests.called import called

ROOT = Path(__file__).parents[2]
QUICK = {
    "rounds": 2,
    "data": {"source": "synthetic", "rows": 200},
    "topology": {"kind": "ring", "agents": 3},
    "algorithm": {"name": "admm"},
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_shipped_scenario_says_in_a_line_what_it_is():
    code, out, _ = called("scenarios", "--json")
    found = json.loads(out)
    assert code == 0
    assert len(found) == len(list((ROOT / "scenarios").rglob("*.toml")))
    assert next(iter(found)) == "congested"
    assert found["ideal"] == "The papers' world: synchronous rounds, nothing is lost, nothing takes time."
    assert all(len(about) > 20 for about in found.values())
    assert "audit/honest-test" in called("scenarios")[1]


@pytest.mark.parametrize(
    ("name", "beside", "then"),
    [
        ("quickstart", [], "run quickstart.toml"),
        ("networks/commuters", ["commuters/cell.txt", "commuters/contacts.csv", "commuters/phones.csv"], "run"),
        ("tasks/age", ["dp_gossip.py"], "run"),
        ("parts/my_parts", ["my_parts.py"], "run"),
    ],
)
def test_a_shipped_scenario_is_written_with_the_files_that_it_names(here, name, beside, then):
    code, out, _ = called("init", "--from", name)
    file = f"{Path(name).name}.toml"
    assert code == 0
    assert f"wrote {file}" in out
    assert f"now: simnet {then}" in out
    assert sorted(path.relative_to(here).as_posix() for path in here.rglob("*.*")) == sorted([file, *beside])
    scenario = Scenario.load(file)
    assert all(Path(path).is_file() for path in scenario.files())


def test_a_study_is_written_with_its_base(here):
    _, out, _ = called("init", "mine/study.toml", "--from", "studies/transports")
    assert "now: simnet sweep mine/study.toml" in out
    assert called("sweep", "mine/study.toml", "--dry-run", "--json")[0] == 0
    assert "simnet audit" in called("init", "--from", "audit/honest")[1]


def test_nothing_is_replaced_unasked_and_a_wrong_name_is_a_sentence(here):
    assert called("init", "--from", "quickstart")[0] == 0
    assert called("init", "--from", "quickstart")[2].startswith("quickstart.toml exists already")
    assert called("init", "--from", "quickstart", "--force")[0] == 0
    assert called("init", "--from", "../quickstart")[2] == (
        "--from ../quickstart: there is no such scenario; `simnet scenarios` lists them"
    )


def test_a_wheel_holds_the_scenarios_where_they_are_looked_for():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    place = wheel["force-include"]["scenarios"]
    assert (ROOT / place).relative_to(ROOT) == Path(shipped.__file__).parent.relative_to(ROOT) / "shipped"


def test_runs_are_listed_with_their_figures(here):
    assert called("runs")[1] == "runs: there are no run folders\n"
    Path("quick.toml").write_text(Scenario.of(QUICK).to_toml())
    for seed in (1, 2):
        called("run", "quick.toml", "--seed", str(seed), "--json")
    found = json.loads(called("runs", "--json")[1])
    assert [run["seed"] for run in found] == [1, 2]
    assert found[0].keys() >= {"folder", "method", "test_error", "proven_epsilon", "wire_bytes", "simulated"}
    code, out, _ = called("runs")
    assert code == 0
    assert all(run["folder"] in out for run in found)
    assert called("runs", "runs/unnamed")[1].count("runs/unnamed/") == 2
    Path(found[0]["folder"], "summary.json").write_text("[]")
    code, out, err = called("runs")
    assert (code, out.count("runs/unnamed/")) == (0, 1)
    assert "is not a summary" in err


def test_lists_are_json_too():
    assert json.loads(called("list", "--json")[1]).keys() >= {"algorithms", "topologies"}
    own = json.loads(called("list", str(ROOT / "scenarios/parts/my_parts.py"), "--json")[1])
    assert own


def test_a_summary_of_senseless_figures_is_listed_all_the_same(here):
    Path("runs/x/y").mkdir(parents=True)
    figures = {
        "algorithm": "\x1b[31m",
        "communication": {"wire_bytes": 10**400},
        "time": [],
        "privacy": {"proven_epsilon": "a"},
        "accuracy": {"test_error": math.nan},
        "seed": -math.inf,
    }
    Path("runs/x/y/summary.json").write_text(json.dumps(figures))
    code, out, _ = called("runs")
    assert code == 0
    assert r"\u001b[31m" in out
    assert json.loads(called("runs", "--json")[1], parse_constant=pytest.fail)[0]["test_error"] is None


def test_a_name_of_a_run_folder_is_text_on_the_terminal(here):
    for name in ("\x1b]0;owned\x07", "\u202eesrever", "[red]x", os.fsdecode(b"\xff")):
        Path("runs", name, "y").mkdir(parents=True)
        Path("runs", name, "y", "summary.json").write_text("{}")
    Path("runs", "\x1b[2J").mkdir()
    Path("runs", "\x1b[2J", "summary.json").write_text("[]")
    for words in (("runs",), ("runs", "--json")):
        code, out, err = called(*words)
        assert code == 0
        assert all(char.isprintable() or char == "\n" for char in out + err)
    assert "[red]x" in out
