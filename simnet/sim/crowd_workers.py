"""Processes that compute a crowd's phases together: each has a share of the agents, and all share the columns.

A worker is a fork of the run, so it has everything that the run had when it began. Columns lie in memory that all
processes see; what one of them alone needs, such as generators of its agents' noise, it makes itself. In turn the run
tells all of them what to do, does its own share, and waits for the others. What is computed does not depend on how many
they are, because no agent's share of a phase depends on another's.
"""

from __future__ import annotations

import mmap
import multiprocessing
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from math import ceil
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np

from simnet.errors import SimnetError
from simnet.learning.column_solver import Column

Share = tuple[int, int]
"""Agents from the first number up to the second."""

TELLING = 0.05
"""What it takes to tell of a round while others compute, as a share of what it takes to compute it."""
_NO_RESERVE = 0x4000
"""MAP_NORESERVE of Linux: memory counts when it is used. Columns are as large as a run may need at most."""


def allot(shape: tuple[int, ...], dtype: Any) -> Column:
    """A column of zeros that forks of this process share."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not size or not can_fork():
        return np.zeros(shape, dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    return np.frombuffer(memory, dtype).reshape(shape)


def can_fork() -> bool:
    """Whether this process may have workers: on Linux, where a fork may compute, and if it is no worker itself."""
    return sys.platform == "linux" and not multiprocessing.current_process().daemon


def shares(agents: int, workers: int, together: int) -> list[Share]:
    """Who computes what: as much for each, but less for the first, who tells what happens as well.

    Shares end at multiples of `together`, so that nothing is computed in smaller lots.
    """
    first = (1.0 - TELLING * (workers - 1)) / workers
    parts = [0.0, *(first + (1.0 - first) * place / max(1, workers - 1) for place in range(workers))]
    ends = [min(agents, together * ceil(agents * part / together - 1e-9)) for part in parts]
    return [(first, last) for first, last in pairwise(ends) if last > first]


class Workers:
    """Does what it is told for every share: the first in this process, each other one in a process of its own."""

    def __init__(self, of: Sequence[Share], work: Callable[[str, int, int], None]) -> None:
        """`work` does something, by its name, in a round, for a share, by its place."""
        self._work = work
        self._others: list[tuple[BaseProcess, Connection]] = []
        self._shares = of

    def __enter__(self) -> Workers:
        context = multiprocessing.get_context("fork")
        for place in range(1, len(self._shares)):
            ours, theirs = context.Pipe()
            inherited = [ours, *(pipe for _, pipe in self._others)]
            process = context.Process(target=self._serve, args=(place, theirs, inherited), daemon=True)
            with warnings.catch_warnings():
                # A thread that shows progress may be there; a worker computes and says nothing.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            theirs.close()
            self._others.append((process, ours))
        return self

    def __exit__(self, *_: object) -> None:
        for process, pipe in self._others:
            pipe.close()
            process.terminate()
            process.join()
        self._others = []

    def begin(self, what: str, round: int) -> None:
        """Let the other processes do something; `finish` follows."""
        for process, pipe in self._others:
            with _alive(process):
                pipe.send((what, round))

    def finish(self, what: str, round: int) -> None:
        """Do the same here, and return when all have done it."""
        self._work(what, round, 0)
        for process, pipe in self._others:
            with _alive(process):
                error = pipe.recv()
            if error is not None:
                raise error

    def do(self, what: str, round: int) -> None:
        """Let all shares do something, and return when it is done."""
        self.begin(what, round)
        self.finish(what, round)

    def _serve(self, place: int, pipe: Connection, inherited: Sequence[Connection]) -> None:
        """A worker's life: it ends when the run closes its end of the pipe, whatever the reason."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run is told, and ends its workers
        for each in inherited:
            each.close()
        with suppress(EOFError, OSError):
            while True:
                what, round = pipe.recv()
                try:
                    self._work(what, round, place)
                except Exception as error:
                    pipe.send(_that_travels(error))
                else:
                    pipe.send(None)


def _that_travels(error: Exception) -> Exception:
    """The error, or what it says if it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return SimnetError(f"{type(error).__name__}: {error}")
    return error


@contextmanager
def _alive(process: BaseProcess) -> Iterator[None]:
    """Say in a sentence that a worker is gone, if talking to it fails."""
    try:
        yield
    except (EOFError, OSError):
        process.join(1.0)
        raise SimnetError(
            f"a worker of the run ended (exit code {process.exitcode}); perhaps memory was not enough, and workers = 1 "
            "needs less"
        ) from None
