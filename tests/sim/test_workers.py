"""Worker processes of a run: they answer in order, their errors are the run's, and they outlive nobody."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from simnet.errors import DataError, SimnetError
from simnet.sim import workers
from simnet.sim.workers import QUEUE, Worker, WorkerEnded, cores, first_ready, shared_numbers, usable

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a run is forked on Linux alone")


@pytest.fixture
def hire():
    """Workers that are stopped in the end, and leave nothing behind."""
    hired = []

    def one(answer):
        hired.append(Worker(answer))
        return hired[-1]

    yield one
    for worker in hired:
        worker.stop()
    assert multiprocessing.active_children() == []


def test_a_worker_answers_in_the_order_in_which_it_is_asked(hire):
    worker = hire(lambda request: (os.getpid(), request * 2))
    for number in range(QUEUE):
        worker.ask(number)
    answers = [worker.take() for _ in range(QUEUE)]
    assert [answer for _, answer in answers] == [0, 2, 4]
    assert {process for process, _ in answers} == {worker._process.pid}


def test_what_a_worker_writes_into_shared_memory_is_read_here(hire):
    numbers = shared_numbers(3)

    def double(_):
        numbers[:] *= 2

    worker = hire(double)
    numbers[:] = 1, 2, 3
    worker.ask(None)
    worker.take()
    assert numbers.tolist() == [2, 4, 6]


def test_an_answer_is_ready_before_it_is_taken_and_not_after(hire):
    worker = hire(lambda request: request)
    assert not worker.ready
    worker.ask("one")
    assert first_ready([worker, hire(lambda request: None)]) is worker
    while not worker.ready:
        pass
    assert worker.take() == "one"
    assert not worker.ready


def test_an_error_of_a_worker_is_raised_here_with_its_sentence_and_where_it_came_from(hire):
    def fail(sentence):
        raise DataError(sentence)

    worker = hire(fail)
    worker.ask("row 3: no number")
    with pytest.raises(DataError) as caught:
        worker.take()
    assert str(caught.value) == "row 3: no number"
    assert "in fail" in caught.value.__notes__[0]
    worker.ask("row 4: no number")  # it goes on
    with pytest.raises(DataError, match="row 4"):
        worker.take()


class Untold(Exception):
    """An error that cannot be made again from what it says."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


@pytest.mark.parametrize(
    ("error", "told"), [(Untold(1, 2), "Untold: 1 and 2"), (ValueError("x" * 100_000), "ValueError: x+")]
)
def test_an_error_that_cannot_be_sent_is_told(hire, error, told):
    def fail(_):
        raise error

    worker = hire(fail)
    worker.ask(None)
    with pytest.raises(SimnetError, match=f"^{told}$"):
        worker.take()


def test_a_worker_that_is_killed_ends_the_run_with_a_sentence(hire):
    worker = hire(lambda request: os.kill(os.getpid(), signal.SIGKILL))
    worker.ask(None)
    with pytest.raises(WorkerEnded, match="a worker process of the run ended, killed by SIGKILL: memory ran out"):
        worker.take()


def test_a_worker_that_ended_before_it_was_asked_is_noticed_when_its_answer_is_due(hire):
    worker = hire(lambda request: os._exit(7))
    worker._process.kill()
    worker._process.join()
    worker.ask(None)
    with pytest.raises(WorkerEnded, match="killed by SIGKILL"):
        worker.take()


def test_control_c_is_for_the_run_and_no_worker_hears_it(hire):
    worker = hire(lambda request: os.kill(os.getpid(), signal.SIGINT) or "still here")
    worker.ask(None)
    assert worker.take() == "still here"


ORPHANS = """
import os, sys
from simnet.sim.workers import Worker
workers = [Worker(lambda request: os.getpid()) for _ in range(2)]
print(*(worker.ask(None) or worker.take() for worker in workers), flush=True)
os.kill(os.getpid(), 9)
"""


def test_workers_whose_run_is_killed_stop_by_themselves():
    """They hold the other end of its output: that ends when the last of them is gone."""
    run = subprocess.run([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, timeout=60)
    assert run.returncode == -signal.SIGKILL
    assert len(run.stdout.split()) == 2


def test_elsewhere_than_on_linux_a_run_has_one_process(monkeypatch):
    assert usable(2) == 2
    monkeypatch.setattr(workers.sys, "platform", "darwin")
    assert usable(2) == 1


def test_a_worker_of_a_pool_has_no_workers_of_its_own():
    context = multiprocessing.get_context("fork")
    near, far = context.Pipe()
    child = context.Process(target=lambda: far.send(usable(2)), daemon=True)
    child.start()
    assert near.recv() == 1
    child.join()


def test_cores_are_those_that_this_process_may_use():
    assert 1 <= cores() <= (os.cpu_count() or 1)


def test_a_machine_that_starts_no_process_is_told(monkeypatch):
    def refuse(self):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(multiprocessing.context.ForkProcess, "start", refuse)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pytest.raises(SimnetError, match=r"a worker cannot be started \(Resource temporarily unavailable\); fewer"):
        Worker(lambda request: None)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_numbers_that_are_shared_begin_at_zero():
    assert not shared_numbers(5).any()
    assert shared_numbers(0).shape == (0,)
    assert shared_numbers(2).dtype == np.float64
