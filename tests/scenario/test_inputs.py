"""The files that a run reads: all of them are known, named in the log, and compared before a rerun."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

import simnet
from simnet import Scenario, run
from simnet.errors import ScenarioError
from simnet.parts.fields import NamesFile
from simnet.record import events
from simnet.record.diff import diff
from simnet.record.log import read
from simnet.record.publication import publish
from simnet.scenario.inputs import check_inputs, hashes, named_files, row_files
from simnet.scenario.schema import fields, place, walk
from tests.worlds import STUDIED

ROOT = Path(simnet.__file__).parents[1]
ROWS = "label,a,b\n" + "".join(f"{(i * i) % 7 > 3},{i / 100},{(i * 7) % 5}\n" for i in range(100))
TEXTS_THAT_ARE_NO_FILES = {"separator", "name", "noise_name", "label", "positive", "attach"}
EDGES = "0 1\n1 2\n2 3\n3 0\n"


def test_every_text_of_a_scenario_that_may_be_a_file_is_marked_as_one():
    unmarked = {
        f"{'.'.join(map(str, at))}.{name}"
        for at, _, table in walk(Scenario)
        for name, info in fields(table).items()
        if str in place(info).plain
        and name not in TEXTS_THAT_ARE_NO_FILES
        and not any(isinstance(mark, NamesFile) for mark in info.metadata)
    }
    assert unmarked == set(), "and `DataSource.paths` says which files a source reads"


NETWORKS = [
    ({"topology": {"kind": "file", "file": "f"}}, EDGES),
    ({"topology": {"kind": "matrix", "file": "f"}}, "0,1,2\n1,0,1\n2,1,0\n"),
    ({"network": {"link": {"latency": {"kind": "empirical", "file": "f"}}}}, "0.1\n0.2\n"),
    ({"network": {"link": {"latency": {"kind": "trace", "file": "f"}}}}, "0,0.1\n5,0.2\n"),
    ({"network": {"link": {"latency": {"kind": "matrix", "file": "f"}}}}, "0,1,2,1\n1,0,1,1\n2,1,0,1\n1,1,1,0\n"),
    ({"network": {"link": {"loss": {"kind": "trace", "file": "f"}}}}, "0 1 0\n"),
    ({"network": {"link": {"bandwidth": {"kind": "mahimahi", "file": "f"}}}}, "50\n60\n"),
    ({"network": {"line": {"down": {"bandwidth": {"kind": "steps", "file": "f"}}}}}, "0,1e6\n1,2e6\n"),
    ({"network": {"underlay": {"graph": {"kind": "file", "file": "f"}}}}, EDGES),
    ({"network": {"override": [{"agent": 0, "latency": {"kind": "empirical", "file": "f"}}]}}, "0.1\n"),
    ({"compute": {"time": {"kind": "empirical", "file": "f"}}}, "0.1\n0.3\n"),
    ({"fault": [{"kind": "availability", "file": "f"}]}, "0,0,100\n"),
    ({"fault": [{"kind": "contacts", "file": "f"}]}, "0,1,0,100\n"),
]


def written(folder: Path, content: dict[str, object], text: str) -> Scenario:
    (folder / "f").write_text(text)
    return Scenario.of(STUDIED | content, folder=folder)


def first(log: Path | bytes) -> events.RunStarted:
    event = next(event for _, _, event in read(log))
    assert isinstance(event, events.RunStarted)
    return event


@pytest.mark.parametrize(("content", "text"), NETWORKS)
def test_a_log_names_the_hash_of_a_file_and_a_rerun_notices_that_it_has_changed(tmp_path, content, text):
    scenario = written(tmp_path, content, text)
    start = first(run(scenario).log)
    assert start.files == {"f": sha256(text.encode()).hexdigest()}
    assert start.data == {}
    check_inputs(scenario, start.files, start.data)
    (tmp_path / "f").write_text(text + "\n")
    with pytest.raises(ScenarioError, match="f: not the file that the run read"):
        check_inputs(scenario, start.files, start.data)


OPENED = """
import json, sys
from pathlib import Path
from simnet import Scenario, run
content, folder = json.loads(sys.argv[1]), Path(sys.argv[2])
run(Scenario.of({"algorithm": {"name": "admm"}, "rounds": 1, "data": {"source": "synthetic", "rows": 50}}))
seen = set()
sys.addaudithook(lambda name, facts: seen.add(str(facts[0])) if name == "open" else None)
run(Scenario.of(content, folder=folder))
print(json.dumps(sorted(Path(path).name for path in seen if path.startswith(str(folder)))))
"""


def test_what_a_run_opens_is_what_it_names(tmp_path):
    """The system is asked, not the code."""
    (tmp_path / "edges").write_text(EDGES)
    (tmp_path / "late.csv").write_text("0.1\n")
    (tmp_path / "lost").write_text("0 1 0\n")
    (tmp_path / "rows.csv").write_text(ROWS)
    content = STUDIED | {
        "data": {"source": "rows.csv", "label": 0},
        "topology": {"kind": "file", "file": "edges"},
        "network": {
            "link": {"latency": {"kind": "empirical", "file": "late.csv"}, "loss": {"kind": "trace", "file": "lost"}}
        },
    }
    done = subprocess.run(
        [sys.executable, "-c", OPENED, json.dumps(content), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    scenario = Scenario.of(content, folder=tmp_path)
    assert json.loads(done.stdout) == sorted({**named_files(scenario), **row_files(scenario)})


def test_a_source_of_the_data_folder_goes_by_its_name_and_not_by_its_place(tmp_path, monkeypatch):
    import lzma

    monkeypatch.setenv("SIMNET_DATA", str(tmp_path))
    (tmp_path / "a9a").mkdir()
    rows = "".join(f"{1 if i % 3 else -1} 1:{i / 50} 2:{(i * 7) % 5}\n" for i in range(80))
    for name in ("a9a.xz", "a9a.t.xz"):
        (tmp_path / "a9a" / name).write_bytes(lzma.compress(rows.encode()))
    start = first(run(Scenario.of(STUDIED | {"data": {"source": "a9a"}})).log)
    assert start.data.keys() == {"a9a", "a9a.t.xz"}
    assert str(tmp_path) not in json.dumps(start.data)


def test_a_scenario_without_files_names_none_and_its_log_is_what_it_was():
    start = first(run(Scenario.of(STUDIED)).log)
    assert start.files == start.data == {}


def test_a_hash_of_the_rows_is_no_oracle_in_a_published_record(tmp_path):
    """Who knows all rows but one could try every value of that one."""
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "edges").write_text(EDGES)
    changes = {
        "data": {"source": "rows.csv", "label": 0, "scale": "rows"},
        "topology": {"kind": "file", "file": "edges"},
        "algorithm": {"name": "pp-admm"},
        "privacy": {"epsilon": 10.0, "noise": "fresh"},
    }
    kept = run(Scenario.of(STUDIED | changes, folder=tmp_path), tmp_path / "runs")
    whole = first(kept.log)
    assert whole.data.keys() == {"rows.csv"}
    given = publish(kept.folder, tmp_path / "given")
    told = first(given)
    assert told.data == {}
    assert told.files == whole.files != {}
    assert whole.data["rows.csv"] not in str(told)
    check_inputs(kept.scenario, told.files, told.data)


def test_the_key_of_the_noise_is_no_file_of_the_record(tmp_path):
    key = tmp_path / "key"
    key.write_text("5" * 64)
    key.chmod(0o600)
    private = {"algorithm": {"name": "pp-admm"}, "privacy": {"epsilon": 10.0, "noise": "key", "noise_key": "key"}}
    start = first(run(Scenario.of(STUDIED | private, folder=tmp_path)).log)
    assert start.noise_key is not None
    assert start.files == {}


def test_two_runs_that_read_other_files_differ_by_that(tmp_path):
    logs = []
    for number, text in enumerate(("0 0 0 0\n", "0 0\n")):
        result = run(written(tmp_path, {"network": {"link": {"loss": {"kind": "trace", "file": "f"}}}}, text))
        logs.append(tmp_path / f"{number}.zst")
        logs[-1].write_bytes(result.log)
    assert diff(*logs).notes == ("the runs read another 'f'",)


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_file_that_is_not_there_is_a_sentence(tmp_path, name):
    with pytest.raises(ScenarioError, match="there is no such file"):
        hashes({name: tmp_path / name})


def test_a_log_of_a_file_that_its_scenario_does_not_name_is_refused():
    with pytest.raises(ScenarioError, match=r"x\.csv: the log says that the run read it"):
        check_inputs(Scenario.of(STUDIED), {"x.csv": "0" * 64}, {})
