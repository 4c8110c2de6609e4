"""Threads that share large problems: who finds an answer changes nothing, and none of them stays."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from simnet import run
from simnet.errors import SimnetError
from simnet.learning.threads import Threads
from tests.worlds import world

LARGE = {"source": "synthetic", "rows": 10_300, "train": 10_200, "features": 20}


def others() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("simnet")]


def test_two_items_are_worked_on_at_once_and_keep_their_order():
    meeting = threading.Barrier(2, timeout=60)
    with Threads(2) as threads:
        assert threads.map(lambda item: (meeting.wait() >= 0, item), "ab") == [(True, "a"), (True, "b")]
    assert not others()


def test_who_is_alone_starts_no_thread():
    with Threads() as threads:
        assert threads.map(lambda item: threading.current_thread(), [1, 2]) == [threading.current_thread()] * 2


def test_of_several_failures_the_first_item_has_its_say():
    meeting = threading.Barrier(3, timeout=60)

    def fail(item: int) -> None:
        meeting.wait()
        raise SimnetError(f"item {item}")

    with pytest.raises(SimnetError, match="item 0"), Threads(3) as threads:
        threads.map(fail, range(3))
    assert not others()


def test_what_is_to_be_done_with_an_overflow_is_known_to_all_threads():
    meeting = threading.Barrier(2, timeout=60)

    def overflow(item: float) -> bool:
        meeting.wait()
        try:
            return bool(np.isfinite(np.multiply(1e308, item)))
        except FloatingPointError:
            return True

    with Threads(2) as threads, np.errstate(over="raise"):
        assert threads.map(overflow, [10.0, 10.0]) == [True, True]


def test_whoever_presses_ctrl_c_leaves_no_thread_behind():
    meeting = threading.Barrier(2, timeout=60)
    pressed = threading.current_thread()

    def interrupted(item: int) -> None:
        if item < 2:
            meeting.wait()
        if threading.current_thread() is pressed:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Threads(2) as threads:
        threads.map(interrupted, range(100))
    assert not others()


@pytest.mark.parametrize("algorithm", ["admm", "ipp-admm"])
def test_a_run_is_the_same_whatever_the_number_of_workers(monkeypatch, algorithm):
    large = world(data=LARGE, algorithm={"name": algorithm}, privacy={"epsilon": 10.0})
    shared = []
    honest = Threads.map

    def counted(self, function, items):
        items = list(items)
        shared.append(len(items))
        return honest(self, function, items)

    alone = run(large).digest
    monkeypatch.setattr(Threads, "map", counted)
    assert run(large, workers=2).digest == alone
    assert max(shared) == 6, "all agents of an instant"
    assert run(large, workers=5).digest == alone
    assert not others()


def test_a_run_that_fails_leaves_no_thread_behind():
    hopeless = world(data=LARGE, algorithm={"name": "admm", "tolerance": 1e-30})
    with pytest.raises(SimnetError, match="rounding"):
        run(hopeless, workers=2)
    assert not others()


def test_there_is_at_least_one_worker(tmp_path):
    with pytest.raises(SimnetError, match="workers = 0: at least 1"):
        run(world(), tmp_path, workers=0)
    assert not list(tmp_path.iterdir())
