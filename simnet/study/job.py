"""One run of a study, wherever it is done: a job goes in, a record comes out, and nothing is raised."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simnet.scenario import Scenario
from simnet.study.keys import code_version

Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """What a worker needs to know."""

    key: str
    code: str
    scenario: Scenario


@dataclass(frozen=True)
class Record:
    """What is kept of a run: its summary and its rounds, or the sentence that says why there are none.

    A run that simnet itself refused is final: the same scenario is refused again. Any other failure may be the
    machine's, so the run is tried again when the study goes on.
    """

    key: str
    code: str
    scenario: Row
    seed: int
    error: str | None = None
    final: bool = True
    summary: Row | None = None
    rounds: list[Row] = field(default_factory=list)


def perform(job: Job) -> Record:
    """Run a job."""
    from threadpoolctl import threadpool_limits

    from simnet.errors import SimnetError
    from simnet.simulate import run

    if job.code != code_version():
        return failed(job, "the worker has another version of simnet than the study was planned with")
    try:
        with threadpool_limits(1):
            result = run(job.scenario)
    except SimnetError as error:
        return failed(job, str(error), final=True)
    except Exception as error:
        return failed(job, " ".join(f"{type(error).__name__}: {error}".split()))
    return Record(
        job.key, job.code, job.scenario.resolved(), job.scenario.seed, summary=result.summary, rounds=result.rounds
    )


def failed(job: Job, error: str, *, final: bool = False) -> Record:
    """The record of a run that gave nothing."""
    return Record(job.key, job.code, job.scenario.resolved(), job.scenario.seed, error=error, final=final)
