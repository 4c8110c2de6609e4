"""Mistakes at the command line: one sentence naming the field, exit code 2, no traceback, nothing half-written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from simnet.cli import main
from tests.portions import some
from tests.scenario.broken import Broken, broken_scenarios

EVERY = broken_scenarios()
SAMPLE = EVERY[:: max(1, len(EVERY) // 320)]


def told(capsys, monkeypatch, *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command, run in this process."""
    monkeypatch.setattr(sys, "argv", ["simnet", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    said = capsys.readouterr()
    return int(stop.value.code or 0), said.out, said.err


def check(code: int, out: str, err: str, names: str) -> None:
    assert code == 2, err
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("simnet: ")
    assert names in err, f"{names!r} is not in {err!r}"
    assert "Traceback" not in err


def test_the_sample_is_large():
    assert len(SAMPLE) >= 300


@pytest.mark.parametrize("part", some(range(8), 2))
def test_three_hundred_broken_scenarios_are_refused_and_leave_nothing(part, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    broken: Broken
    for broken in SAMPLE[part::8]:
        path = Path("scenario.toml")
        with broken.put(path):
            before = sorted(tmp_path.iterdir())
            overrides = [word for override in broken.overrides for word in ("--set", override)]
            code, out, err = told(capsys, monkeypatch, "run", str(path), *overrides)
            check(code, out, err, broken.names.replace("{file}", str(path)))
            assert sorted(tmp_path.iterdir()) == before, broken.label


BASE = """
rounds = 2
{top}
[data]
{data}
[topology]
{topology}
[algorithm]
name = "{name}"
{algorithm}
{more}
"""
FINE = {
    "top": "",
    "data": 'source = "synthetic"\nrows = 200\nfeatures = 3',
    "topology": 'kind = "ring"\nagents = 4',
    "name": "admm",
    "algorithm": "",
    "more": "",
}
CSV = 'source = "rows.csv"\ntrain = 0.5'

WORLDS: list[tuple[str, dict[str, str], dict[str, str], str]] = [
    ("more agents than rows", {"topology": 'kind = "ring"\nagents = 900'}, {}, "topology.agents = 900"),
    ("more training rows than rows", {"data": 'source = "synthetic"\nrows = 50\ntrain = 80'}, {}, "data.train = 80"),
    ("training rows leave no test", {"data": 'source = "adult"\ntrain = 45222'}, {}, "data.train = 45222"),
    ("no such data file", {"data": 'source = "nowhere.csv"'}, {}, "data.source"),
    ("an unknown source", {"data": 'source = "adlut"'}, {}, "data.source"),
    ("a data file with NaN", {"data": CSV}, {"rows.csv": "1,nan,1\n2,3,-1\n4,5,1\n"}, "data.source"),
    ("a data file with infinity", {"data": CSV}, {"rows.csv": "1,inf,1\n2,3,-1\n4,5,1\n"}, "data.source"),
    ("a data file with words", {"data": CSV}, {"rows.csv": "1,red,1\n2,blue,-1\n4,red,1\n"}, "data.source"),
    ("a ragged data file", {"data": CSV}, {"rows.csv": "1,2,1\n2,-1\n4,5,1\n"}, "data.source"),
    ("an empty data file", {"data": CSV}, {"rows.csv": ""}, "data.source"),
    ("three classes", {"data": CSV}, {"rows.csv": "1,2,1\n2,1,2\n4,5,3\n"}, "data.source"),
    ("one class", {"data": CSV}, {"rows.csv": "1,2,1\n2,1,1\n4,5,1\n"}, "data.source"),
    ("a broken npz", {"data": 'source = "rows.npz"'}, {"rows.npz": "not a zip"}, "data.source"),
    ("a broken mat", {"data": 'source = "rows.mat"'}, {"rows.mat": "not matlab"}, "data.source"),
    ("a broken xz", {"data": 'source = "rows.libsvm.xz"'}, {"rows.libsvm.xz": "not xz"}, "data.source"),
    ("a disconnected graph", {"topology": 'kind = "file"\nfile = "g"'}, {"g": "0 1\n2 3\n"}, "topology.file"),
    ("a graph with a loop", {"topology": 'kind = "file"\nfile = "g"'}, {"g": "0 1\n1 1\n"}, "topology.file"),
    ("a graph of one word", {"topology": 'kind = "file"\nfile = "g"'}, {"g": "anna\n"}, "topology.file"),
    ("a graph with a gap", {"topology": 'kind = "file"\nfile = "g"'}, {"g": "0 1\n1 5\n"}, "topology.file"),
    ("an empty graph", {"topology": 'kind = "file"\nfile = "g"'}, {"g": "# nothing\n"}, "topology.file"),
    ("a missing graph file", {"topology": 'kind = "file"\nfile = "absent"'}, {}, "topology.file"),
    ("odd regular graph", {"topology": 'kind = "regular"\nagents = 5\ndegree = 3'}, {}, "topology.degree = 3"),
    ("degree of everybody", {"topology": 'kind = "regular"\nagents = 4\ndegree = 4'}, {}, "topology.degree = 4"),
    ("too sparse", {"topology": 'kind = "random"\nagents = 9\nmean_degree = 1'}, {}, "topology.mean_degree"),
    ("too dense", {"topology": 'kind = "random"\nagents = 4\nmean_degree = 5'}, {}, "topology.mean_degree"),
    ("too near", {"topology": 'kind = "geometric"\nagents = 50\nradius = 0.001'}, {}, "topology.radius"),
    (
        "override of a stranger",
        {"more": "[[network.override]]\nagent = 9\nqueue = 1"},
        {},
        "network.override.0.agent = 9",
    ),
    ("override of no link", {"more": "[[network.override]]\nlink = [0, 2]\nqueue = 1"}, {}, "network.override.0.link"),
    (
        "an ε that cannot be met",
        {"name": "pp-admm", "more": "[privacy]\nepsilon = 1e-6"},
        {},
        "privacy.epsilon = 1e-06",
    ),
]


@pytest.mark.parametrize(("label", "changes", "files", "names"), WORLDS, ids=[world[0] for world in WORLDS])
@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_world_that_cannot_be_is_refused(command, label, changes, files, names, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scenario.toml").write_text(BASE.format(**FINE | changes))
    for name, text in files.items():
        Path(name).write_text(text)
    before = sorted(tmp_path.iterdir())
    check(*told(capsys, monkeypatch, command, "scenario.toml"), names)
    assert sorted(tmp_path.iterdir()) == before


def test_without_the_mistake_the_same_scenario_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scenario.toml").write_text(BASE.format(**FINE))
    monkeypatch.setattr(sys, "argv", ["simnet", "run", "scenario.toml"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    assert (tmp_path / "runs").exists()
