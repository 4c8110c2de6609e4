"""A sweep that is stopped, killed or broken goes on where it was."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import simnet
from simnet.cli.options import Interrupted
from simnet.errors import SimnetError
from simnet.studies.results import StudyResult
from simnet.studies.sweep import plan_sweep, read
from tests.called import called
from tests.portions import EVERYTHING
from tests.worlds import STUDY_TOML, study_content

ROOT = Path(simnet.__file__).parents[1]
INTERRUPTED = "simnet: interrupted; finished runs are kept, and the same command goes on\n"


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from simnet.cli import main; main()", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def write(folder: Path, *, replicates: int = 2, rounds: int = 3, rows: int = 300) -> None:
    (folder / "study.toml").write_text(STUDY_TOML.format(replicates=replicates, rounds=rounds, rows=rows))


def finished(folder: Path) -> int:
    return len(list((folder / "results" / "small" / "done").glob("*.json")))


def wait_until(process: subprocess.Popen[str], folder: Path, runs: int) -> None:
    """Until so many runs are finished, or the process has ended."""
    while finished(folder) < runs:
        try:
            process.wait(0.01)
            return
        except subprocess.TimeoutExpired:
            continue


def test_results_do_not_depend_on_the_number_of_workers():
    content = study_content() | {"common_noise": True}
    one, two = (simnet.study(content, workers=workers) for workers in (1, 2))
    assert one.runs.drop("wall").equals(two.runs.drop("wall"))
    assert one.rounds.equals(two.rounds)
    plain = simnet.run(simnet.Scenario.of(content["scenario"]).with_(seed=2, **{"algorithm.eta": 0.05}))
    row = one.runs.filter(seed=2).row(1, named=True)
    assert row["digest"] == plain.digest
    assert row["test_error"] == plain.summary["accuracy"]["test_error"]
    assert one.rounds.filter(key=row["key"])["train_loss"].to_list() == plain.rounds["train_loss"].to_list()


def test_runs_that_wanted_more_memory_are_done_when_they_are_given_it(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "large.npz", X=rng.normal(size=(60_000, 4)), y=rng.choice([-1.0, 1.0], 60_000))
    content = study_content() | {"replicates": 1}
    content["scenario"] = {"rounds": 2, "data": {"source": str(tmp_path / "large.npz")}, "algorithm": {"name": "admm"}}
    monkeypatch.setenv("SIMNET_MEMORY", "1")
    refused = simnet.study(content, tmp_path / "results", workers=1)
    assert refused.failures.height == refused.runs.height
    assert "SIMNET_MEMORY=1000 in the environment allows 1000 MB" in refused.failures["error"][0]
    monkeypatch.setenv("SIMNET_MEMORY", "1000")
    allowed = simnet.study(content, tmp_path / "results", workers=1)
    assert allowed.failures.is_empty()
    assert allowed.runs.height == refused.runs.height


def test_workers_find_the_data_file_beside_the_base_scenario(tmp_path):
    rows = "".join(f"{(i * i) % 7 > 3},{i / 100},{(i * 7) % 5}\n" for i in range(100))
    (tmp_path / "rows.csv").write_text("label,a,b\n" + rows)
    (tmp_path / "base.toml").write_text(
        'rounds = 2\nalgorithm.name = "admm"\ntopology = { kind = "ring", agents = 3 }\n'
        'data = { source = "rows.csv", label = "label" }\n'
    )
    (tmp_path / "study.toml").write_text('name = "beside"\nbase = "base.toml"\n')
    found = simnet.study(tmp_path / "study.toml", workers=1)
    assert found.failures.is_empty(), found.failures["error"].to_list()
    assert found.runs["digest"].to_list() == [simnet.run(simnet.Scenario.load(tmp_path / "base.toml")).digest]


def test_a_failing_run_is_recorded_with_its_sentence_and_the_rest_goes_on():
    found = simnet.study(study_content(grid={"topology.agents": [4, 290, 5]}), workers=1)
    assert found.runs["error"].is_null().to_list() == [True, True, False, False, True, True]
    assert set(found.failures["error"]) == {"topology.agents = 290: more agents than the 240 training rows"}
    assert found.means("test_error")["n"].to_list() == [2, 0, 2]


def test_kills_at_random_moments_lose_nothing_and_repeat_nothing(tmp_path):
    write(tmp_path, replicates=8, rounds=12, rows=2000)
    chance = random.Random(4)
    kills, kept = 0, 0
    while kills < (5 if EVERYTHING else 3):
        process = start(tmp_path, "sweep", "study.toml", "--workers", "2")
        wait_until(process, tmp_path, min(kept + chance.randrange(1, 4), 23))
        kills += 1
        if kills % 2:
            process.kill()  # the workers must find out by themselves
        else:
            os.killpg(process.pid, signal.SIGKILL)
        assert ended(process).returncode == -signal.SIGKILL
        assert finished(tmp_path) >= kept
        kept = finished(tmp_path)
    resumed = ended(start(tmp_path, "sweep", "study.toml", "--json", "--workers", "2"))
    assert resumed.returncode == 0, resumed.stderr
    told = json.loads(resumed.stdout)
    assert (told["done_before"], told["done_now"]) == (kept, 24 - kept)
    one, other = StudyResult.load(tmp_path / "results" / "small"), simnet.study(tmp_path / "study.toml", workers=2)
    assert one.runs.height == 24
    assert one.runs.drop("wall").equals(other.runs.drop("wall"))
    assert one.rounds.equals(other.rounds)
    assert plan_sweep(read(tmp_path / "study.toml"), tmp_path / "results").todo == []


@pytest.mark.parametrize("where", [("--workers", "2"), ("--workers", "2", "--cluster", "local")], ids=["pool", "dask"])
def test_ctrl_c_stops_cleanly_and_keeps_what_is_finished(where, tmp_path):
    if "--cluster" in where:
        pytest.importorskip("distributed", reason="Dask is not installed: pip install 'simnet-dp[cluster]'")
    write(tmp_path, replicates=40, rounds=20, rows=3000)
    process = start(tmp_path, "sweep", "study.toml", *where)
    wait_until(process, tmp_path, 2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    done = ended(process)
    assert (done.returncode, done.stderr) == (130, INTERRUPTED)
    assert 2 <= StudyResult.load(tmp_path / "results" / "small").runs.height < 120


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_further_signals_do_not_cut_short_the_answer_to_the_first(number, code, tmp_path):
    write(tmp_path, replicates=40, rounds=20, rows=3000)
    process = start(tmp_path, "sweep", "study.toml", "--workers", "2")
    wait_until(process, tmp_path, 2)
    while process.poll() is None:
        process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.005)
    done = ended(process)
    assert (done.returncode, done.stderr) == (code, INTERRUPTED)
    kept = StudyResult.load(tmp_path / "results" / "small").runs.height
    assert 2 <= kept < 120
    assert len(plan_sweep(read(tmp_path / "study.toml"), tmp_path / "results").todo) == 120 - kept


def test_a_signal_while_the_table_is_made_says_that_the_runs_are_kept(tmp_path, monkeypatch):
    def interrupted(result):
        raise Interrupted(signal.SIGINT)

    write(tmp_path, replicates=1)
    monkeypatch.setattr("simnet.cli.study_tables.means_table", interrupted)
    with pytest.raises(Interrupted) as caught:
        called("sweep", str(tmp_path / "study.toml"), "--out", str(tmp_path / "results"), "--workers", "1")
    assert caught.value.kept == "finished runs are kept, and the same command goes on"
    assert StudyResult.load(tmp_path / "results" / "small").runs.height == 3


def test_a_dry_run_tells_what_is_done_and_writes_nothing(tmp_path):
    write(tmp_path, replicates=1)
    dry = ended(start(tmp_path, "sweep", "study.toml", "--dry-run"))
    assert "3 of 3 runs to do" in dry.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
    assert ended(start(tmp_path, "sweep", "study.toml", "--workers", "1")).returncode == 0
    write(tmp_path, replicates=2)
    told = json.loads(ended(start(tmp_path, "sweep", "study.toml", "--dry-run", "--json")).stdout)
    assert [run["done"] for run in told["runs"]] == [True, False] * 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("sweep", "absent.toml"), "absent.toml"),
        (("sweep", "study.toml", "--workers", "0"), "--workers 0: at least 1"),
        (("query", "select 1 from runs", "nowhere"), "nowhere: neither a study's folder nor a folder of studies"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(words, sentence, tmp_path):
    write(tmp_path)
    done = ended(start(tmp_path, *words))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_script_without_a_main_guard_is_told_so(tmp_path):
    script = f"import simnet\nsimnet.study({study_content()!r}, workers=1)\n"
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "under `if __name__ == '__main__':`" in done.stderr


def test_a_system_without_room_for_temporary_files_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    with pytest.raises(
        SimnetError, match=r"TMPDIR: a study without `out` is kept in a temporary folder, and there can"
    ):
        simnet.study(study_content())


def test_a_full_disk_for_temporary_files_is_a_sentence(monkeypatch):
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("simnet.studies.store.write_file", full)
    with pytest.raises(SimnetError, match=r"the study cannot be stored \(No space left on device\)"):
        simnet.study(study_content(), workers=1)


def test_a_study_whose_measured_delays_change_is_done_again(tmp_path):
    """What was stored for the old file says nothing about the new one."""
    (tmp_path / "late.csv").write_text("0.001\n")
    (tmp_path / "base.toml").write_text(
        'rounds = 6\nalgorithm.name = "admm"\ntopology = { kind = "ring", agents = 4 }\n'
        'data = { source = "synthetic", rows = 300, features = 4 }\n'
        'network.pacing = { kind = "deadline", period = 0.1 }\n'
        'network.link.latency = { kind = "empirical", file = "late.csv" }\n'
    )
    (tmp_path / "study.toml").write_text('name = "late"\nbase = "base.toml"\n')
    errors = []
    for delay in ("0.001\n", "0.4\n"):
        (tmp_path / "late.csv").write_text(delay)
        assert len(plan_sweep(read(tmp_path / "study.toml"), tmp_path / "results").todo) == 1
        found = simnet.study(tmp_path / "study.toml", tmp_path / "results", workers=1)
        errors.append(found.runs["staleness_mean"].item())
    assert errors[0] != errors[1]
