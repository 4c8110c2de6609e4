"""Batches: whose problems are solved together changes no number of a run."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from simnet import run
from simnet.learning import task
from simnet.learning.batch_solver import BatchSolver
from simnet.sim import solve_batches
from tests.worlds import TICKS, world

CROWD = {
    "rounds": 8,
    "topology.agents": 300,
    "topology.degree": 6,
    "data": {"source": "synthetic", "rows": 6100, "train": 6000, "features": 20},
    "network": {
        "pacing": TICKS | {"notices": True},
        "link": {"latency": {"kind": "lognormal", "median": 0.04}, "loss": 0.05},
    },
}


def batches(monkeypatch) -> Counter[int]:
    """How many problems of each run are solved in batches of each size; no crowd is simulated in columns."""
    monkeypatch.setattr(task, "MANY", 10_000)
    sizes: Counter[int] = Counter()
    honest = BatchSolver._descend

    def counted(self, problems):
        sizes[len(problems)] += 1
        return honest(self, problems)

    monkeypatch.setattr(BatchSolver, "_descend", counted)
    return sizes


@pytest.mark.parametrize(
    "algorithm",
    [
        {"name": "ipp-admm", "eta": 0.1, "max_releases": 8},
        {"name": "pp-admm", "eta": 0.1},
        {"name": "r-admm", "eta": 0.2, "duals": "healing"},
    ],
    ids=lambda algorithm: algorithm["name"],
)
def test_three_hundred_agents_solved_together_or_one_by_one_make_the_same_run(monkeypatch, algorithm):
    crowd = world(**CROWD, algorithm=algorithm, privacy={"epsilon": 20.0})
    sizes = batches(monkeypatch)
    together_ = run(crowd)
    assert max(sizes) > solve_batches.BATCH // 2
    sizes.clear()
    monkeypatch.setattr(solve_batches, "BATCH", 1)
    assert run(crowd).digest == together_.digest
    assert not sizes


def test_agents_whose_clocks_differ_are_solved_one_by_one(monkeypatch):
    sizes = batches(monkeypatch)
    run(world(**{"network.pacing": TICKS | {"jitter": 0.03}}))
    assert not sizes


def test_agents_of_one_tick_share_their_batches(monkeypatch):
    """Calls are counted, not seconds: ten times the agents make no more batches, as long as they fit into one."""
    counts = []
    for agents in (12, 120):
        sizes = batches(monkeypatch)
        rows = {"source": "synthetic", "rows": 20 * agents + 100, "train": 20 * agents, "features": 5}
        run(world(**{"topology.agents": agents, "topology.degree": 4, "data": rows, "network.pacing": TICKS}))
        counts.append(sum(sizes.values()))
        monkeypatch.undo()
    assert counts[0] == counts[1] == 11  # rounds after the first, in which everybody makes a metric


def test_work_that_needs_no_solution_ends_at_once_and_outcomes_keep_their_order():
    def work(problems: int, name: str):
        for _ in range(problems):
            yield _Trivial()
        return name

    assert solve_batches.solve_all([work(n, f"{n}") for n in (2, 0, 1)], BatchSolver()) == ["2", "0", "1"]


class _Trivial:
    """A problem that is its own solver and has its solution ready."""

    def __init__(self) -> None:
        self.solver = self.objective = self.start = self.theta = self
        self.age, self.batch_key = 0.0, None

    def answer(self) -> np.ndarray:
        return np.zeros(2)
