"""Processes that share a crowd: whatever becomes of one, the run ends with a sentence and leaves none behind."""

from __future__ import annotations

import multiprocessing
import os
import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet import Scenario, ScenarioError, run
from simnet.errors import SimnetError
from simnet.learning import task
from simnet.sim import crowd
from simnet.sim.crowd import Crowd
from simnet.sim.crowd_workers import allot, can_fork, shares
from tests.sim.test_crowd import BASE

pytestmark = pytest.mark.skipif(not can_fork(), reason="this system has no fork")


@pytest.fixture(autouse=True)
def small_crowds(monkeypatch):
    monkeypatch.setattr(task, "MANY", 2)
    monkeypatch.setattr(crowd, "TOGETHER", 3)


def meanwhile(monkeypatch, happens):
    """Something happens in the second worker, in the second round."""
    honest = Crowd._compute

    def compute(self, what: str, t: int, share: int) -> None:
        if (what, t, share) == ("absorb", 2, 1):
            happens()
        honest(self, what, t, share)

    monkeypatch.setattr(Crowd, "_compute", compute)


def test_a_worker_that_dies_ends_the_run_with_a_sentence(monkeypatch):
    meanwhile(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(SimnetError, match="a worker of the run ended"):
        run(Scenario.of(BASE), workers=2)
    assert multiprocessing.active_children() == []


def test_what_goes_wrong_in_a_worker_is_told_as_if_there_were_none(monkeypatch):
    def fail() -> None:
        raise SimnetError("a local problem is too ill-conditioned")

    meanwhile(monkeypatch, fail)
    with pytest.raises(SimnetError, match="ill-conditioned"):
        run(Scenario.of(BASE), workers=3)
    assert multiprocessing.active_children() == []


class Stubborn(Exception):
    """An error that cannot be sent to another process."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one + other)


def test_an_error_that_cannot_travel_is_told_all_the_same(monkeypatch):
    def fail() -> None:
        raise Stubborn("no ", "way")

    meanwhile(monkeypatch, fail)
    with pytest.raises(SimnetError, match="Stubborn: no way"):
        run(Scenario.of(BASE), workers=2)


def test_a_run_that_is_broken_off_leaves_no_worker_behind(monkeypatch, tmp_path):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Crowd, "_take_turns", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(Scenario.of(BASE), tmp_path, workers=3)
    assert multiprocessing.active_children() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("workers", [0, -1, "two", 1.5])
def test_a_number_of_workers_that_is_none_is_refused(workers):
    with pytest.raises(ScenarioError, match=r"workers = .*: a whole number of processes, 1 or more"):
        run(Scenario.of(BASE), workers=workers)


@given(agents=st.integers(1, 400), workers=st.integers(1, 9), together=st.sampled_from([1, 3, 160]))
def test_every_agent_is_in_one_share(agents, workers, together):
    found = shares(agents, workers, together)
    assert [agent for first, last in found for agent in range(first, last)] == list(range(agents))
    assert 1 <= len(found) <= workers
    assert all(first % together == 0 for first, _ in found)


def test_a_column_starts_with_zeros_and_is_seen_by_forks():
    column = allot((3, 2), np.float64)
    assert not column.any()
    child = multiprocessing.get_context("fork").Process(target=column.__setitem__, args=((1, 1), 7.0))
    child.start()
    child.join()
    assert column[1, 1] == 7.0
    assert allot((0,), np.bool_).shape == (0,)
