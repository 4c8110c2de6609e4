"""Worker processes of a single run: copies of its process that answer requests on cores of their own.

A worker is forked while the run goes on. It has all that the run has, so a request holds only what is new.

Where     A run is forked on Linux alone: elsewhere libraries may break in a copy of their process. A process that is
          itself a worker of a pool has no workers: the pool has the cores. There, one worker is what a run gets.
Order     A worker answers in the order in which it is asked. At most `QUEUE` requests wait for it.
Arrays    are left in memory that all processes share (`shared_numbers`); a request is a few numbers.
An error  that a request raises is raised where its answer is taken.
The end   `stop` kills a worker. One whose parent is gone reads the end of its socket and stops. One that dies ends the
          run with a sentence.
Ctrl-C    reaches every process of a terminal. Workers ignore it, and the run stops them.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from mmap import mmap
from multiprocessing.connection import wait
from typing import Any

import numpy as np

from simnet.errors import SimnetError
from simnet.vectors import Vector

QUEUE = 3
"""Requests that wait for a worker, the one that it has in hand included."""
_LONGEST = 2**16
"""Bytes of a request or an answer."""


def usable(workers: int) -> int:
    """How many processes a run may have that was allowed so many, itself included."""
    alone = not sys.platform.startswith("linux") or multiprocessing.current_process().daemon
    return 1 if alone else workers


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def end_told(code: int | None) -> str:
    """How a process ended, for a sentence, and what that may mean."""
    if code == -signal.SIGKILL:
        return "killed by SIGKILL: memory ran out, or somebody killed it; with fewer --workers each has more memory"
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name if -code in {*signal.Signals} else f'signal {-code}'}"
    return f"with exit code {code}"


def shared_numbers(count: int) -> Vector:
    """So many numbers, in memory that is shared with all workers that are forked later."""
    found: Vector = np.frombuffer(mmap(-1, 8 * max(1, count)), np.float64, count)
    return found


class WorkerEnded(SimnetError, RuntimeError):
    """A worker has died; nobody has the answers that it owed."""


class Worker:
    """A process that is forked here and now, and that answers requests with `answer`."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self._socket, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._answered, self._taken = shared_numbers(1), 0
        serving = (answer, far, self._socket, self._answered)
        self._process = multiprocessing.get_context("fork").Process(target=_serve, args=serving, daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the worker must not meet it unprepared
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of threads: numpy's, which a worker never wakes
                self._process.start()
        except OSError as error:
            raise SimnetError(f"a worker cannot be started ({error.strerror}); fewer --workers may do") from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        far.close()
        self.asked = 0
        """Requests whose answers were not taken yet."""

    def ask(self, request: object) -> None:
        """Send a request; `take` has its answer when those before it were taken."""
        assert self.asked < QUEUE
        self.asked += 1
        with suppress(ConnectionError):  # it has died; `take` will tell
            self._socket.send(pickle.dumps(request))

    @property
    def ready(self) -> bool:
        """Whether there is an answer to take."""
        return bool(self._taken < self._answered[0])

    def take(self) -> Any:
        """The next answer, once it is there."""
        told = b""
        with suppress(ConnectionError):
            told = self._socket.recv(_LONGEST)
        if not told:
            self._process.join()
            raise WorkerEnded(f"a worker process of the run ended, {end_told(self._process.exitcode)}")
        self.asked -= 1
        self._taken += 1
        succeeded, found = pickle.loads(told)
        if not succeeded:
            raise found
        return found

    def fileno(self) -> int:
        """What `first_ready` waits for."""
        return self._socket.fileno()

    def stop(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self._socket.close()


def first_ready(workers: Sequence[Worker]) -> Worker:
    """Wait for a worker that has an answer, or has died."""
    return workers[0] if len(workers) == 1 else wait(workers)[0]  # type: ignore[arg-type, return-value]


def _serve(answer: Callable[[Any], Any], near: socket.socket, parents: socket.socket, answered: Vector) -> None:
    """A worker's life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parents.close()  # else the socket would not end with the parent
    with suppress(ConnectionError):
        while request := near.recv(_LONGEST):
            try:
                told = True, answer(pickle.loads(request))
            except Exception as error:
                told = False, _portable(error)
            near.send(pickle.dumps(told))
            answered[0] += 1


def _portable(error: Exception) -> Exception:
    """The error, with its traceback in a note; or what can be said of it where it cannot be sent."""
    error.add_note(f"in a worker process:\n{''.join(traceback.format_exception(error))}")
    try:
        told = pickle.dumps(error)
        pickle.loads(told)
    except Exception:
        told = b""
    return error if 0 < len(told) < _LONGEST // 2 else SimnetError(f"{type(error).__name__}: {error}"[:1000])
