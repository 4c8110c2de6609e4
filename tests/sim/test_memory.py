"""Garbage collection and large pages."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from simnet.sim import memory
from simnet.sim.memory import GROWTH, LARGE, HugePages, gc_paused


@gc_paused()
def fail() -> None:
    assert not gc.isenabled()
    with gc_paused():
        pass
    assert not gc.isenabled(), "the inner rest ended the outer one"
    raise ZeroDivisionError


def test_the_collector_rests_inside_and_works_again_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        fail()
    assert gc.isenabled()


STORY = """
import ctypes
from pathlib import Path
from simnet.sim import memory

def large():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages"))

tended = memory.HugePages()
held = [bytes(400) for _ in range(800_000)]
before = large()
tended.collapse()
print(large() - before, sum(map(len, held)))
"""


@pytest.fixture
def advised(monkeypatch) -> list[tuple[int, int, int]]:
    """What the system was asked for, with two places of memory to ask for."""
    calls: list[tuple[int, int, int]] = []
    monkeypatch.setattr(memory, "_anonymous", lambda: [(0, 4 << 20), (8 << 20, 10 << 20)])
    monkeypatch.setattr(memory, "_advise", lambda: lambda *call: calls.append(call))
    return calls


def test_memory_is_gathered_when_there_is_much_of_it_and_again_when_there_is_much_more(advised, monkeypatch):
    held = [0, LARGE - 1, LARGE, LARGE + 1, int(GROWTH * LARGE) - 1, int(GROWTH * LARGE)]
    sizes = iter([0, *held])
    monkeypatch.setattr(memory, "_resident", lambda: next(sizes))
    tended = HugePages()
    gathered = []
    for _ in held:
        tended.collapse()
        gathered.append(len(advised))
    assert gathered == [0, 0, 2, 2, 2, 4]
    assert advised[:2] == [(0, 4 << 20, 25), (8 << 20, 2 << 20, 25)]


def test_what_a_process_held_before_the_run_is_left_as_it_is(advised, monkeypatch):
    """A worker that has had a large run does not pay for it in every small one after it."""
    sizes = iter([3 * LARGE, 4 * LARGE, 5 * LARGE])
    monkeypatch.setattr(memory, "_resident", lambda: next(sizes))
    tended = HugePages()
    tended.collapse()
    assert advised == []
    tended.collapse()
    assert len(advised) == 2


def test_where_the_system_tells_nothing_nothing_is_done(advised, monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_PROCESS", tmp_path)
    HugePages().collapse()
    assert advised == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this way to ask for large pages")
def test_a_process_that_holds_much_gets_large_pages():
    done = subprocess.run([sys.executable, "-c", STORY], check=True, capture_output=True, text=True)
    gained, held = map(int, done.stdout.split())
    if gained == 0:
        pytest.skip("this system has no large pages to give")
    assert gained * 1024 > held / 4
