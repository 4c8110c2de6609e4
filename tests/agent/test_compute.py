"""How long local work takes."""

from __future__ import annotations

import numpy as np
import pytest

from simnet.agent.compute import Compute
from simnet.streams import Streams
from tests.agent.test_pacing import ends
from tests.worlds import found, lawful


def test_work_takes_as_long_as_its_gradients():
    result = lawful(compute={"time": "10 ms", "per_gradient": "1 ms"})
    started = {(e.agent, e.round): t for t, e in found(result, "round.started")}
    for t, event in found(result, "solve.finished"):
        assert t - started[event.agent, event.round] == pytest.approx(0.01 + 0.001 * event.gradients)


def test_work_times_of_a_distribution_lie_where_it_lies():
    result = lawful(**{"compute.time": {"kind": "uniform", "low": 0.01, "high": 0.03}, "network.pacing": "free"})
    works = [gap for times in ends(result).values() for gap in np.diff([0.0, *times])]
    assert 0.01 <= min(works) < max(works) <= 0.03
    assert np.mean(works) == pytest.approx(0.02, rel=0.1)


def test_measured_times_of_work_are_read_once_for_all_agents(tmp_path):
    (tmp_path / "times.csv").write_text("0.5\n")
    compute = Compute(time={"kind": "empirical", "file": "times.csv"}, per_gradient=0.1)
    read = compute.read(lambda name: tmp_path / name)
    (tmp_path / "times.csv").unlink()
    assert [read.for_agent(Streams(1), agent)(3) for agent in range(2)] == pytest.approx([0.8, 0.8])
