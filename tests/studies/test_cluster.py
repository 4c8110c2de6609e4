"""A Dask cluster gives what the pool gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import simnet
from simnet import Scenario
from simnet.errors import SimnetError
from simnet.studies.keys import code_version
from simnet.studies.pool import RunJob, perform
from simnet.studies.runs import plan
from simnet.studies.sweep import executor, read
from tests.worlds import STUDIED, study_content

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'simnet[cluster]'")
ROOT = Path(simnet.__file__).parents[1]


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory) -> Iterator[str]:
    """A scheduler and two workers, each a process of its own, on the loopback."""
    file = tmp_path_factory.mktemp("dask") / "scheduler.json"
    quiet = {
        "env": {**os.environ, "PYTHONPATH": str(ROOT)},
        "cwd": file.parent,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    where = ["--scheduler-file", str(file), "--no-dashboard"]
    tool = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    processes = [subprocess.Popen([*tool, "--host", "127.0.0.1", "--port", "0", *where], **quiet)]
    try:
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny"]
        processes += [subprocess.Popen([*worker, *where], **quiet) for _ in range(2)]
        with distributed.Client(scheduler_file=str(file), timeout="60s") as client:
            client.wait_for_workers(2, timeout=60)
        yield json.loads(file.read_text())["address"]
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(20)


def test_two_worker_processes_of_a_cluster_find_what_the_pool_finds(scheduler):
    broken = study_content(grid={"algorithm.eta": [0.01, 0.2], "topology.agents": [4, 290]})
    over_there = simnet.study(broken, cluster=scheduler)
    here = simnet.study(broken, workers=1)
    assert over_there.failures.height == 4
    assert over_there.runs.drop("wall").equals(here.runs.drop("wall"))
    assert over_there.rounds.equals(here.rounds)
    with distributed.Client(scheduler) as client:
        assert len(client.scheduler_info()["workers"]) == 2


@dataclass(frozen=True)
class Poison:
    """Kills the process that builds its network."""

    seed: int = 1

    def resolved(self) -> dict[str, object]:
        return {}

    @property
    def topology(self) -> object:
        os._exit(7)


def test_a_local_cluster_survives_its_workers_and_finds_what_this_process_finds():
    jobs = [RunJob(run.key, code_version(), run.scenario) for run in plan(read(study_content()))]
    here = {job.key: perform(job) for job in jobs}
    over_there = {
        record.key: record for record in executor(2, "local")([RunJob("poison", code_version(), Poison()), *jobs])
    }
    assert "KilledWorker" in over_there.pop("poison").error
    assert over_there.keys() == here.keys()
    for key, record in over_there.items():
        assert record.rounds == here[key].rounds
        assert record.summary["digest"] == here[key].summary["digest"]


def test_a_scheduler_that_is_not_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr("simnet.studies.cluster._PATIENCE", "1s")
    with pytest.raises(SimnetError, match="no Dask scheduler answers there"):
        list(executor(1, "tcp://127.0.0.1:9")([RunJob("key", "code", Scenario.of(STUDIED))]))
