"""A run's memory does not grow with its length: the log is streamed, and figures are kept by agent and by round."""

import gc
import io
import tracemalloc

import numpy as np
import pytest

from benchmarks import scale
from simnet import Scenario, crowds, simulate
from simnet.build import build
from simnet.learning import task
from simnet.record.bus import Bus
from simnet.record.metrics import Metrics
from simnet.sim import crowd as crowd_module
from tests.portions import some

WORLD = {
    "seed": 1,
    "data": {"source": "synthetic", "rows": 200, "train": 160, "features": 3},
    "topology": {"kind": "regular", "agents": 8, "degree": 3},
    "compute": {"time": 0.02},
    "network": {
        "pacing": {"kind": "deadline", "period": 0.1},
        "link": {"latency": {"kind": "lognormal", "median": 0.04, "sigma": 0.5}, "loss": 0.1},
    },
}
ROW = 4000
"""Bytes that one more round may cost: its row of rounds.csv, some thirty numbers, is kept until the end. The events
of a round would take several times as many."""


class Nowhere(io.RawIOBase):
    """A disk: what is written is gone from memory."""

    written = 0

    def write(self, data):
        self.written += len(data)
        return len(data)


def peak(rounds: int, method: str) -> tuple[int, int]:
    """The most bytes that a run holds at once, and how many its log has."""
    changes = {"rounds": rounds, "algorithm": {"name": method}, "privacy": {"calibration": "none"}}
    built = build(Scenario.of(WORLD | changes))
    sink = Nowhere()
    gc.collect()
    tracemalloc.start()
    try:
        simulate.record(built.scenario, sink, lambda bus: simulate.play(built, bus))
        return tracemalloc.get_traced_memory()[1], sink.written
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", some(["ipp-admm", "admm"], 2))
def test_more_rounds_need_no_more_memory_than_their_table(method):
    peak(5, method)  # what is made once per process
    short, few = peak(100, method)
    long, many = peak(300, method)
    assert many > 2 * few > 50_000
    assert long - short < 200 * ROW


def crowd(agents: int) -> int:
    """The most bytes that a crowd takes after it is built: with the sixth round it has all that it will ever have."""
    few_tests = {"data.rows": scale.ROWS * agents + 50}  # the scratch of an evaluation is no agent's
    built = build(scale.scenario(agents, rounds=6).with_(**few_tests))
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    simulate.play(built, Bus(Metrics()))
    return tracemalloc.get_traced_memory()[1] - before


def test_an_agent_of_a_crowd_takes_nine_kilobytes_beside_its_rows(monkeypatch):
    # Memory that forks share is not traced. Of models that were released the pool has room for those of six rounds.
    for module in (crowds, crowd_module):
        monkeypatch.setattr(module, "allot", np.zeros)
    assert per_agent() - 6 * 8 * 20 < 9_000


def test_an_agent_of_the_engine_takes_sixteen_kilobytes_beside_its_rows(monkeypatch):
    monkeypatch.setattr(task, "MANY", 10_000)
    assert per_agent() < 16_300


def per_agent() -> float:
    crowd(12)  # what is made once a process
    tracemalloc.start()
    try:
        return (crowd(480) - crowd(240)) / 240
    finally:
        tracemalloc.stop()
