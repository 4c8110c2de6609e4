"""What proven privacy costs on Adult: ring of 5, T = 30, η = 0.01, λ̂/N = 1e-4, ideal network, mean of 5 seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simnet import Scenario, run

IDEAL = Path(__file__).parents[2] / "scenarios" / "ideal.toml"


def summaries(method: str, epsilon: float) -> list[dict]:
    base = Scenario.load(IDEAL).with_method(method)
    base = base.with_(**{"privacy.epsilon": epsilon, "algorithm.regulariser": 1e-4})
    return [run(base.with_(seed=seed)).summary for seed in range(1, 6)]


@pytest.mark.parametrize(
    ("method", "epsilon", "error", "broadcasts"),
    [("pp-admm", 0.5, 0.190, 150), ("pp-admm", 1.0, 0.180, 150), ("ipp-admm", 1.0, 0.200, 75)],
)
def test_proven_privacy_costs_little_accuracy(method, epsilon, error, broadcasts):
    found = summaries(method, epsilon)
    assert np.mean([summary["accuracy"]["test_error"] for summary in found]) <= error
    assert all(summary["communication"]["broadcasts"] <= broadcasts for summary in found)
    for summary in found:
        assert epsilon - 1e-4 <= summary["privacy"]["proven_epsilon"] <= epsilon
