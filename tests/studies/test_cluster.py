"""A Dask cluster gives what the pool gives."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import simnet
from simnet import Scenario
from simnet.errors import SimnetError
from simnet.live import certificates
from simnet.studies.keys import code_version
from simnet.studies.pool import RunJob, perform
from simnet.studies.runs import plan
from simnet.studies.sweep import executor, read
from tests.worlds import STUDIED, study_content

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'simnet-dp[cluster]'")
dask = pytest.importorskip("dask")
psutil = pytest.importorskip("psutil")  # a dependency of Dask
ROOT = Path(simnet.__file__).parents[1]


@contextmanager
def cluster(folder: Path, workers: int, *options: str) -> Iterator[str]:
    """A scheduler and some workers, each a process of its own, on the loopback."""
    file = folder / "scheduler.json"
    quiet = {
        "env": {**os.environ, "PYTHONPATH": str(ROOT)},
        "cwd": file.parent,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    where = ["--scheduler-file", str(file), "--no-dashboard", *options]
    tool = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    processes = [subprocess.Popen([*tool, "--host", "127.0.0.1", "--port", "0", *where], **quiet)]
    try:
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny"]
        processes += [subprocess.Popen([*worker, *where], **quiet) for _ in range(workers)]
        with distributed.Client(scheduler_file=str(file), timeout="60s") as client:
            client.wait_for_workers(workers, timeout=60)
        yield json.loads(file.read_text())["address"]
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(20)


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("dask"), 2) as address:
        yield address


def test_two_worker_processes_of_a_cluster_find_what_the_pool_finds(scheduler):
    broken = study_content(grid={"algorithm.eta": [0.01, 0.2], "topology.agents": [4, 290]})
    over_there = simnet.study(broken, cluster=scheduler)
    here = simnet.study(broken, workers=1)
    assert over_there.failures.height == 4
    assert over_there.runs.drop("wall").equals(here.runs.drop("wall"))
    assert over_there.rounds.equals(here.rounds)
    with distributed.Client(scheduler) as client:
        assert len(client.scheduler_info()["workers"]) == 2


def test_a_cluster_over_tls_takes_whom_the_authority_knows_and_nobody_else(tmp_path, monkeypatch):
    """As docs/studies.md tells it: `simnet live init` makes the certificates, Dask's configuration names them."""
    monkeypatch.setattr("simnet.studies.cluster._PATIENCE", "3s")
    for name in ("ours", "theirs"):
        certificates.init(tmp_path / name, range(2))

    def shown(folder: str) -> dict[str, str]:
        place = tmp_path / folder
        own = {"cert": str(place / "agent-1.pem"), "key": str(place / "agent-1.key")}
        return {"distributed.comm.tls.ca-file": str(place / "ca.pem")} | {
            f"distributed.comm.tls.client.{name}": path for name, path in own.items()
        }

    ours = tmp_path / "ours"
    options = ("--tls-ca-file", "ca.pem"), ("--tls-cert", "agent-0.pem"), ("--tls-key", "agent-0.key")
    words = [word for option, file in options for word in (option, str(ours / file))]
    with dask.config.set(shown("ours")), cluster(tmp_path, 1, "--protocol", "tls", *words) as address:
        assert address.startswith("tls://127.0.0.1:")
        over_there = simnet.study(study_content(), cluster=address)
        assert over_there.runs.height == 6
        with dask.config.set(shown("theirs")), pytest.raises(SimnetError, match="no Dask scheduler answers there"):
            simnet.study(study_content(), cluster=address)
    with pytest.raises(SimnetError, match=r"--cluster tls://127\.0\.0\.1:9: Dask lacks certificates"):
        simnet.study(study_content(), cluster="tls://127.0.0.1:9")


def listening() -> set[tuple[str, int]]:
    """Where this process or one that it has started can be reached over a network."""
    each = (psutil.Process(), *psutil.Process().children(recursive=True))
    found = (one for process in each for one in process.net_connections())
    return {(one.laddr.ip, one.laddr.port) for one in found if one.status == psutil.CONN_LISTEN}


def test_a_local_cluster_can_be_reached_from_this_machine_alone():
    jobs = [RunJob(run.key, code_version(), run.scenario) for run in plan(read(study_content()))]
    before = listening()
    records = executor(2, "local")(jobs)
    assert next(records).error is None
    try:
        assert {address for address, _ in listening() - before} == {"127.0.0.1"}
    finally:
        records.close()


def test_a_local_cluster_that_cannot_start_is_a_sentence(monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("simnet.studies.cluster._begin_workers", full)
    with pytest.raises(SimnetError, match=r"--cluster local: Dask cannot start here \(.*No space left on device\)"):
        simnet.study(study_content(), cluster="local")


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
