"""The same runs on a Dask cluster: one of this machine's processes, or any scheduler that can be reached."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simnet.errors import SimnetError
from simnet.study.job import Job, Record, failed, perform

if TYPE_CHECKING:
    from distributed import Client

_PATIENCE = "20s"
_LEAN = {"distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.interval": "10s"}
"""A run is one long task: sampling the workers' stacks tells nobody anything and takes a core's attention."""


def execute(jobs: Sequence[Job], address: str, workers: int) -> Generator[Record, None, None]:
    """Records in the order in which the runs end; `address` is `local` or a scheduler's, such as tcp://host:8786."""
    if not jobs:
        return
    with _client(address, min(workers, len(jobs))) as client:
        from distributed import as_completed

        by_name = {f"simnet-{job.key}": job for job in jobs}
        futures = client.map(perform, list(by_name.values()), key=list(by_name), pure=False)
        try:
            # Results come in batches: asking for them one by one costs a trip to the scheduler each.
            for future, result in as_completed(futures, with_results=True, raise_errors=False):
                job = by_name[future.key]
                yield result if future.status == "finished" else failed(job, _reason(future.exception()))
                future.release()
        finally:
            client.cancel(futures)


def _reason(error: BaseException | None) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextmanager
def _client(address: str, workers: int) -> Iterator[Client]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise SimnetError("--cluster needs Dask: install it with pip install 'simnet[cluster]'") from None
    if address == "local":
        import dask

        with (
            dask.config.set(_LEAN),
            LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, ImportError) as error:
        raise SimnetError(f"--cluster {address}: no Dask scheduler answers there ({_reason(error)})") from None
    with client:
        yield client
