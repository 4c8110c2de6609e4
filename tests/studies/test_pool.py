"""Worker processes: what one of them suffers, the others do not."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import simnet
from simnet import Scenario, run
from simnet.errors import SimnetError
from simnet.studies import pool
from simnet.studies.keys import code_version, run_key
from simnet.studies.pool import RunJob, perform
from tests.worlds import STUDIED, study_content


@dataclass(frozen=True)
class Poison:
    """Kills the process that receives it."""

    seed: int = 1

    def resolved(self) -> dict[str, object]:
        return {}

    def __reduce__(self):
        return os._exit, (7,)


def planned(scenario: Scenario) -> RunJob:
    return RunJob(run_key(scenario), code_version(), scenario)


def job(key: str, scenario: object = None, code: str | None = None) -> RunJob:
    return RunJob(key, code or code_version(), Scenario.of(STUDIED) if scenario is None else scenario)


def test_a_worker_that_dies_costs_its_own_run_only():
    a, b = (planned(Scenario.of(STUDIED | {"seed": seed})) for seed in (1, 2))
    jobs = [a, job("poison", Poison()), b, job("c", code="another")]
    records = {record.key: record for record in pool.execute(jobs, workers=2)}
    assert set(records) == {a.key, "poison", b.key, "c"}
    assert records["poison"].error == "the worker process died twice, with exit code 7"
    assert not records["poison"].final
    assert "another version of simnet" in records["c"].error
    for each in (a, b):
        found, expected = records[each.key].summary, run(each.scenario).summary
        assert {**found, "time": {**found["time"], "wall": None}} == {
            **expected,
            "time": {**expected["time"], "wall": None},
        }


@pytest.mark.parametrize("text", ["0.4\n", "nonsense\n"])
def test_a_file_that_changes_after_the_planning_makes_no_record_of_the_planned_run(tmp_path, text):
    """Neither a result nor a refusal may be stored under the key of what was planned."""
    (tmp_path / "late.csv").write_text("0.1\n")
    late = {"network": {"link": {"latency": {"kind": "empirical", "file": "late.csv"}}}}
    before = planned(Scenario.of(STUDIED | late, folder=tmp_path))
    assert perform(before).error is None
    (tmp_path / "late.csv").write_text(text)
    record = perform(before)
    assert "has changed since the study was planned" in record.error
    assert not record.final
    assert record.summary is None


def test_a_refusal_of_what_was_planned_is_final():
    record = perform(planned(Scenario.of(STUDIED | {"topology": {"kind": "ring", "agents": 290}})))
    assert record.error is not None
    assert record.final


@pytest.mark.parametrize(
    ("ends", "sentence", "silent_on"),
    [
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL: memory ran out, or somebody killed it", "__main__"),
        ("os.kill(os.getpid(), 11)", "killed by SIGSEGV", "__main__"),
        ("os._exit(3)", "with exit code 3", "__main__"),
        ("raise RuntimeError('as without a guard')", "under `if __name__ == '__main__':`", "memory"),
    ],
)
def test_a_worker_that_ends_as_it_starts_is_told_by_how_it_ended(tmp_path, ends, sentence, silent_on):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, simnet\n"
        f"if __name__ == '__mp_main__': {ends}\n"
        "if __name__ == '__main__':\n"
        f"    try: simnet.study({study_content()!r}, workers=1)\n"
        "    except simnet.errors.SimnetError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(Path(simnet.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.startswith("a worker process ended as it started, ")
    assert sentence in done.stdout
    assert silent_on not in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_a_system_that_gives_no_more_processes_is_a_sentence(monkeypatch):
    def start(self: object) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", start)
    with pytest.raises(SimnetError, match=r"a worker cannot be started \(Resource temporarily unavailable\)"):
        list(pool.execute([job("a")], workers=1))


def test_closing_the_iterator_stops_the_workers():
    endless = Scenario.of(STUDIED | {"rounds": 100_000})
    quick = planned(Scenario.of(STUDIED))
    records = pool.execute([quick, job("endless", endless)], workers=2)
    assert next(records).key == quick.key
    records.close()
    with pytest.raises(StopIteration):
        next(records)
