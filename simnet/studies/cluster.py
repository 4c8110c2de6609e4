"""The runs of a study on a Dask cluster: a local one of this machine's processes, or any that can be reached."""

from __future__ import annotations

import logging
import multiprocessing
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from simnet.errors import SimnetError
from simnet.studies.pool import Record, RunJob, deaf_to_interrupts, failed, perform

if TYPE_CHECKING:
    from distributed import Client

_PATIENCE = "20s"
_AS_THE_POOL = {
    "distributed.scheduler.worker-saturation": 1.0,  # one run at a time: one that kills its worker harms no other
    "distributed.scheduler.allowed-failures": 1,  # and it may do so twice
    # A run is one long task: watching the workers closely tells nobody anything and takes a core's attention.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.system-monitor.interval": "10s",
}
_NEEDED_BY_WORKERS = ["simnet.simulate", "simnet.studies.pool", "distributed.nanny"]


def execute(jobs: Sequence[RunJob], address: str, workers: int) -> Generator[Record, None, None]:
    """Records in the order in which the runs end; `address` is `local` or a scheduler's, such as tls://host:8786."""
    if not jobs:
        return
    if find_spec("distributed") is None:
        raise SimnetError("--cluster needs Dask: install it with pip install 'simnet-dp[cluster]'")
    with _local(min(workers, len(jobs))) if address == "local" else _distant(address) as client:
        from distributed import as_completed

        by_name = {f"simnet-{job.key}": job for job in jobs}
        futures = client.map(perform, list(by_name.values()), key=list(by_name), pure=False)
        try:
            # Results come in batches: to ask for each one would cost a trip to the scheduler per run.
            for future, result in as_completed(futures, with_results=True, raise_errors=False):
                job = by_name[future.key]
                yield result if future.status == "finished" else failed(job, _reason(future.exception()))
                future.release()
        finally:
            client.cancel(futures)


def _reason(error: BaseException | None) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextmanager
def _local(workers: int) -> Iterator[Client]:
    """A scheduler in this process and workers that are processes of their own."""
    with ExitStack() as opened:
        try:
            begun = _begin_workers()  # before Dask is imported here: both take a second
            import dask
            from distributed import Client, LocalCluster

            opened.enter_context(dask.config.set(_AS_THE_POOL | {"distributed.worker.multiprocessing-method": begun}))
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit=None,  # as in the pool: a run may take what the machine has
                dashboard_address=None,
                # A port for its state: any, so that studies run side by side, and for this machine alone.
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.CRITICAL,
            )
            client = opened.enter_context(Client(opened.enter_context(cluster)))
        except (OSError, RuntimeError) as error:
            reason = _reason(error.__cause__ or error)
            raise SimnetError(f"--cluster local: Dask cannot start here ({reason})") from None
        yield client


def _begin_workers() -> str:
    """How worker processes come to be: where that is safe, as copies of one that has imported what they need.

    So all imports are done once and not once per worker, and a worker ends without taking its modules apart. A worker
    that Dask spawns also returns each freed array to the system at once, which costs a run a tenth of its time. The
    copies are deaf to Ctrl-C, as the pool's workers are: it is for this process to answer, which ends them.
    """
    if sys.platform != "linux":  # elsewhere a copy of a process with numerical libraries in it may crash
        return "spawn"
    from multiprocessing import forkserver

    multiprocessing.get_context("forkserver").set_forkserver_preload(_NEEDED_BY_WORKERS)
    with deaf_to_interrupts():
        forkserver.ensure_running()
    return "forkserver"


@contextmanager
def _distant(address: str) -> Iterator[Client]:
    """Whatever scheduler answers at an address; for tls:// Dask's configuration names the certificates."""
    from distributed import Client

    try:
        client = Client(address, timeout=_PATIENCE)
    except TypeError as error:  # this is how Dask says that it has no certificates
        raise SimnetError(f"--cluster {address}: Dask lacks certificates ({_reason(error)})") from None
    except (OSError, ValueError, ImportError) as error:
        raise SimnetError(f"--cluster {address}: no Dask scheduler answers there ({_reason(error)})") from None
    with client:
        yield client
