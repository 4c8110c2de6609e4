"""A sweep does the runs that a study asks for, but none that is done already."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from simnet.diagnostics import tell, warn
from simnet.errors import SimnetError
from simnet.record.atomic import temporary_folder
from simnet.record.folder import slug
from simnet.sim.workers import cores
from simnet.studies import cluster as dask_cluster
from simnet.studies import pool
from simnet.studies.keys import code_version
from simnet.studies.pool import Record, RunJob
from simnet.studies.results import StudyResult
from simnet.studies.runs import PlannedRun, plan
from simnet.studies.spec import Study
from simnet.studies.store import Store

Executor = Callable[[Sequence[RunJob]], Generator[Record, None, None]]
Progress = Callable[[int, int], None]
"""Called with (runs finished, runs to do)."""


@dataclass(frozen=True)
class SweepPlan:
    """What a study asks for, and which of it is done."""

    study: Study
    runs: list[PlannedRun]
    finished: set[str]
    folder: Path

    @property
    def todo(self) -> list[PlannedRun]:
        return [run for run in self.runs if run.key not in self.finished]


def study(
    source: str | Path | Mapping[str, Any] | Study,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    cluster: str | None = None,
) -> StudyResult:
    """Run a study, or what is missing of it, and give its tables.

    Args:
        source: a study's file, plain dictionaries shaped like one, or a `Study`.
        out: where studies' folders go; None keeps nothing, so that nothing can be resumed.
        workers: processes; default: the cores of this machine.
        cluster: `local`, or the address of a Dask scheduler, instead of a pool of processes.
    """
    found = read(source)
    with temporary_folder("a study without `out`") if out is None else nullcontext(out) as folder:
        planned = plan_sweep(found, folder)
        result = sweep(planned, executor(workers, cluster))
        return result if out is not None else result.in_memory()


def read(source: str | Path | Mapping[str, Any] | Study) -> Study:
    """A study from its file, or from plain dictionaries."""
    if isinstance(source, Study):
        return source
    return Study.of(source) if isinstance(source, Mapping) else Study.load(source)


def plan_sweep(study: Study, out: str | Path) -> SweepPlan:
    """Look what is done and what is missing; nothing is written."""
    store = Store(Path(out) / slug(study.name))
    return SweepPlan(study, plan(study), store.finished(), store.folder)


def executor(workers: int | None = None, cluster: str | None = None) -> Executor:
    """Where runs are done."""
    if workers is not None and workers < 1:
        raise SimnetError(f"--workers {workers}: at least 1")
    count = workers or cores()
    return (
        partial(dask_cluster.execute, address=cluster, workers=count)
        if cluster
        else partial(pool.execute, workers=count)
    )


def sweep(found: SweepPlan, execute: Executor, progress: Progress | None = None) -> StudyResult:
    """Do what is missing, keep each run when it ends, and give the tables.

    Whatever stops it, finished runs are kept.
    """
    store = Store(found.folder)
    with store.locked():
        store.write_plan(found.study, found.runs)
        finished = store.finished()  # again: another sweep may have ended meanwhile
        code = code_version()
        jobs = [RunJob(run.key, code, run.scenario) for run in found.runs if run.key not in finished]
        tell("sweep started", study=found.study.name, runs=len(jobs))
        try:
            with closing(execute(jobs)) as records:
                for ended, record in enumerate(records, 1):
                    store.add(record)
                    _tell(record)
                    if progress is not None:
                        progress(ended, len(jobs))
        finally:
            store.compact()
    return StudyResult.of(store)


def _tell(record: Record) -> None:
    if record.summary is None:
        warn("run failed", key=record.key, reason=record.error)
    else:
        tell("run finished", key=record.key, seconds=round(record.summary["time"]["wall"], 3))
