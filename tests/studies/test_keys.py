"""When two runs are the same run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import simnet
from simnet import Scenario
from simnet.studies import keys
from simnet.studies.keys import code_version, files_version, run_files, run_key
from tests.worlds import STUDIED

PACKAGE = Path(simnet.__file__).parent

KEYED = """
import json, sys
from simnet import Scenario
from simnet.studies.keys import run_key
print(run_key(Scenario.of(json.loads(sys.argv[1]))))
"""


def test_a_key_is_the_same_in_every_process_and_whatever_the_order_of_the_file():
    turned = dict(reversed(STUDIED.items()))
    found = {
        subprocess.run(
            [sys.executable, "-c", KEYED, json.dumps(each)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(PACKAGE.parent)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed, each in (("1", STUDIED), ("2", turned))
    }
    assert found == {run_key(Scenario.of(STUDIED))}


def test_saying_a_default_aloud_changes_no_key_and_changing_anything_does():
    base = Scenario.of(STUDIED)
    key = run_key(base)
    assert run_key(base.with_(**{"network.codec": "float64", "network.link.latency": "0 ms"})) == key
    others = [base.with_(seed=2), base.with_(rounds=4), base.with_(**{"network.link.loss": 0.1})]
    assert len({key, *(run_key(other) for other in others)}) == 4


def test_a_data_file_that_changes_makes_another_run(tmp_path):
    rows = "".join(f"{i % 2},{i / 10},{(i * 7) % 5}\n" for i in range(40))
    scenario = Scenario.of(STUDIED | {"data": {"source": "rows.csv", "label": 0}}, folder=tmp_path)
    found = []
    for text in ("label,a,b\n" + rows, "label,a,b\n" + rows + "1,0.5,2\n"):
        (tmp_path / "rows.csv").write_text(text)
        found.append(run_key(scenario))
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("content", "first", "second"),
    [
        ({"topology": {"kind": "file", "file": "named"}}, "0 1\n1 2\n", "0 1\n1 2\n0 2\n"),
        ({"network": {"link": {"latency": {"kind": "empirical", "file": "named"}}}}, "0.1\n", "0.2\n"),
        ({"network": {"link": {"loss": {"kind": "trace", "file": "named"}}}}, "0 1\n", "0 0\n"),
        ({"network": {"link": {"bandwidth": {"kind": "mahimahi", "file": "named"}}}}, "50\n", "51\n"),
        ({"network": {"line": {"up": {"bandwidth": {"kind": "steps", "file": "named"}}}}}, "0,1\n1,2\n", "0,1\n1,3\n"),
        ({"fault": [{"kind": "availability", "file": "named"}]}, "0,0,1\n", "0,0,2\n"),
        ({"fault": [{"kind": "contacts", "file": "named"}]}, "0,1,0,1\n", "0,1,0,2\n"),
    ],
)
def test_any_file_that_a_scenario_names_makes_another_run_when_it_changes(tmp_path, content, first, second):
    scenario = Scenario.of(STUDIED | content, folder=tmp_path)
    found = []
    for text in (first, second):
        (tmp_path / "named").write_text(text)
        found.append(run_key(scenario))
    assert found[0] != found[1]


def test_the_key_of_the_noise_is_part_of_the_run(tmp_path):
    private = {"algorithm": {"name": "pp-admm"}, "privacy": {"noise": "key", "noise_key": "named"}}
    scenario = Scenario.of(STUDIED | private, folder=tmp_path)
    found = []
    for digit in "12":
        (tmp_path / "named").write_text(digit * 64)
        found.append(run_key(scenario))
    assert found[0] != found[1]


@pytest.mark.parametrize("library", ["numpy", "scipy"])
def test_another_version_of_a_library_that_computes_makes_another_run(library, monkeypatch):
    scenario = Scenario.of(STUDIED)
    before = run_key(scenario)
    monkeypatch.setattr(keys, "version", lambda name: "0.1" if name == library else version(name))
    keys.arithmetic.cache_clear()
    try:
        assert run_key(scenario) != before
    finally:
        keys.arithmetic.cache_clear()


ALL_IMPORTED = """
import sys
from simnet import Scenario, run
run(Scenario.load("scenarios/quickstart.toml"), sys.argv[1])
print("\\n".join(module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "simnet"))
"""


def test_what_a_run_imports_is_part_of_its_key(tmp_path):
    root = PACKAGE.parent
    ran = subprocess.run(
        [sys.executable, "-c", ALL_IMPORTED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {Path(line) for line in ran.stdout.splitlines()} <= run_files(PACKAGE)


@pytest.fixture
def copy(tmp_path) -> Path:
    """A simnet whose files may be changed."""
    return Path(shutil.copytree(PACKAGE, tmp_path / "simnet", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.mark.parametrize("place", ["cli", "report", "studies", "audit", "live"])
def test_a_remark_in_what_no_run_uses_leaves_finished_runs_done(copy, place):
    assert files_version(copy) == code_version()
    files = list((copy / place).rglob("*.*"))
    assert files, "a room that is not there cannot have a remark"
    for path in files:
        path.write_bytes(path.read_bytes() + b"\n# a remark\n")
    assert files_version(copy) == code_version()


@pytest.mark.parametrize("place", ["simulate.py", "record/events.py", "learning/data/adult.xz", "scenario/__init__.py"])
def test_a_change_in_what_a_run_uses_makes_it_another_run(copy, place):
    (copy / place).write_bytes((copy / place).read_bytes() + b"\n# a change\n")
    assert files_version(copy) != code_version()
