"""The runs of a study in worker processes of this machine; each worker does one run at a time.

Wherever a run is done, here or on a cluster, a job goes in, a record comes out, and nothing is raised.

The standard library's pool gives up as a whole when one worker dies, and its workers outlive a parent that is killed.
Here a worker that dies costs its own run only, and a worker whose parent is gone reads the end of its pipe and stops.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from typing import Any

from simnet.allowance import VARIABLE
from simnet.diagnostics import tell, warn
from simnet.errors import ScenarioWarning, SimnetError
from simnet.scenario import Scenario
from simnet.sim.workers import end_told
from simnet.studies.keys import code_version, run_key

_NOT_AS_PLANNED = (
    "a file that the scenario names has changed since the study was planned, or the worker has another numpy or scipy"
)
_ADVICE = (
    " (it says why above): a script that runs a study does so under `if __name__ == '__main__':`, because its workers "
    "import it"
)
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class RunJob:
    """What a worker needs to know."""

    key: str
    code: str
    scenario: Scenario


@dataclass(frozen=True)
class Record:
    """What is kept of a run: its summary and its rounds, or the sentence that says why there are none.

    A run that simnet itself refused is final: the same scenario is refused again, unless its sentence asks for more
    memory. Any other failure may be the machine's, so the run is tried again when the study goes on.
    """

    key: str
    code: str
    scenario: dict[str, Any]
    seed: int
    error: str | None = None
    final: bool = True
    summary: dict[str, Any] | None = None
    rounds: list[dict[str, Any]] = field(default_factory=list)


def perform(job: RunJob) -> Record:
    """Run a job."""
    from threadpoolctl import threadpool_limits

    from simnet.simulate import run

    if job.code != code_version():
        return failed(job, "the worker has another version of simnet than the study was planned with")
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            # A study has its reasons, and hundreds of runs: `simnet run` and `simnet explain` tell of one.
            warnings.simplefilter("ignore", ScenarioWarning)
            result = run(job.scenario, workers=1)  # other runs have the other cores
        made, rounds = job.scenario.resolved(), result.rounds.to_dicts()
        record = Record(job.key, job.code, made, job.scenario.seed, summary=result.summary, rounds=rounds)
    except SimnetError as error:
        record = failed(job, str(error), final=VARIABLE not in str(error))
    except Exception as error:
        return failed(job, " ".join(f"{type(error).__name__}: {error}".split()))
    return record if _as_planned(job) else failed(job, _NOT_AS_PLANNED)


def _as_planned(job: RunJob) -> bool:
    """Whether the key of a run that has ended is still what it was when the study was planned, elsewhere perhaps."""
    try:
        return run_key(job.scenario) == job.key
    except SimnetError:
        return False


def failed(job: RunJob, error: str, *, final: bool = False) -> Record:
    """The record of a run that gave nothing."""
    return Record(job.key, job.code, job.scenario.resolved(), job.scenario.seed, error=error, final=final)


def execute(jobs: Sequence[RunJob], workers: int) -> Generator[Record, None, None]:
    """Records in the order in which the runs end; closing the iterator stops all workers at once."""
    context = multiprocessing.get_context("spawn")
    waiting = deque(jobs)
    crew: dict[Connection, _Worker] = {}
    died: set[str] = set()
    try:
        while waiting or any(worker.job for worker in crew.values()):
            while len(crew) < workers and len(crew) < len(jobs) and waiting:
                newcomer = _Worker(context)
                crew[newcomer.pipe] = newcomer
            for pipe in wait([worker.pipe for worker in crew.values() if worker.job or not worker.ready or waiting]):
                assert isinstance(pipe, Connection)
                worker = crew[pipe]
                job = worker.job
                try:
                    message = pipe.recv()
                except (EOFError, ConnectionError):
                    del crew[pipe]
                    if record := _fallen(worker, job, died, waiting):
                        yield record
                    continue
                worker.take(waiting)
                if isinstance(message, Record):
                    yield message
    finally:
        for worker in crew.values():
            worker.stop()


class _Worker:
    """A process, the pipe to it, and the job that it has."""

    def __init__(self, context: SpawnContext) -> None:
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=serve, args=(far,), daemon=True)
        self.ready = False
        self.job: RunJob | None = None
        try:
            with deaf_to_interrupts():
                self.process.start()
        except OSError as error:
            raise SimnetError(f"a worker cannot be started ({error.strerror}); fewer --workers may do") from None
        far.close()

    def take(self, waiting: deque[RunJob]) -> None:
        """Take the next job, if there is one; the worker has just said that it is free."""
        self.ready = True
        self.job = waiting.popleft() if waiting else None
        if self.job is not None:
            tell("run started", key=self.job.key)
            with suppress(ConnectionError):  # it has died; reading from it will tell
                self.pipe.send(self.job)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _fallen(worker: _Worker, job: RunJob | None, died: set[str], waiting: deque[RunJob]) -> Record | None:
    """The job of a worker that died: another worker tries it once more, then it is recorded as failed."""
    worker.process.join()
    end = end_told(worker.process.exitcode)
    if not worker.ready:
        advice = _ADVICE if worker.process.exitcode == 1 else ""
        raise SimnetError(f"a worker process ended as it started, {end}{advice}")
    if job is None:
        return None
    if job.key in died:
        return failed(job, f"the worker process died twice, {end}")
    warn("worker died, another tries its run", key=job.key)
    died.add(job.key)
    waiting.appendleft(job)
    return None


def serve(pipe: Connection) -> None:
    """A worker's life: say that it is there, then run what comes until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # what the worker itself starts is not to be deaf
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        pipe.send("ready")
        while True:
            pipe.send(perform(pipe.recv()))
    except (EOFError, ConnectionError):
        return


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """A process that starts meanwhile inherits the blocked signal: Ctrl-C is for the parent to handle."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else the start below starts it, and that unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
