"""The papers' duals against healing and edge duals on networks that lose messages.

Ten agents on a 4-regular graph, 4,000 rows of 20 Gaussian features, λ̂/N = 0.01, η = 0.1, 300 rounds; the measure is the
distance of the worst agent's model to the centralised optimum, relative to its norm.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from simnet import Scenario, run
from simnet.build import deal_data
from simnet.record.events import ReleaseMade
from simnet.record.lines import unpack
from tests.portions import some

TICKS = {"network.pacing": {"kind": "deadline", "period": 1.0}, "compute.time": 0.1}


def scenario(**changes: Any) -> Scenario:
    return Scenario.of(
        {
            "seed": 3,
            "rounds": 300,
            "data": {"source": "synthetic", "rows": 5000, "train": 4000, "features": 20, "bias": False},
            "topology": {"kind": "regular", "agents": 10, "degree": 4},
            "algorithm": {"name": "admm", "eta": 0.1, "regulariser": 0.01, "tolerance": 1e-7},
        }
    ).with_(**changes)


@cache
def optimum() -> np.ndarray:
    """The minimiser of Σ_i f_i by quasi-Newton steps on all the rows."""
    parts = [(np.asarray(part.X), part.y) for part in deal_data(scenario(), 10).parts]

    def total(theta):
        value, gradient = 0.05 * theta @ theta, 0.1 * theta
        for X, y in parts:
            margins = y * (X @ theta)
            value += np.logaddexp(0, -margins).mean()
            gradient = gradient - X.T @ (y / (1 + np.exp(margins))) / len(y)
        return value, gradient

    options = {"gtol": 1e-11, "ftol": 1e-16, "maxiter": 5000}
    return minimize(total, np.zeros(20), jac=True, method="L-BFGS-B", options=options).x


def distance(duals: str, **changes: Any) -> float:
    last = {}
    for _, _, event in run(scenario(**{"algorithm.duals": duals} | changes)).events:
        if isinstance(event, ReleaseMade):
            last[event.agent] = unpack(event.value)
    best = optimum()
    return max(np.linalg.norm(model - best) for model in last.values()) / np.linalg.norm(best)


@pytest.mark.parametrize(
    ("duals", "rate", "at_most"), some([("healing", 0.3, 2e-2), ("healing", 0.1, 5e-3), ("edge", 0.3, 2e-2)], 2)
)
def test_healing_and_edge_duals_find_the_optimum_through_loss(duals, rate, at_most):
    assert distance(duals, **{"network.link.loss": rate}) < at_most


def test_the_papers_duals_do_not():
    assert distance("node", **{"network.link.loss": 0.1}) > 0.5


@pytest.mark.parametrize(
    ("changes", "at_most"),
    [
        ({"network.link.loss": {"kind": "bursts", "rate": 0.1, "length": 5}}, 5e-2),
        ({"fault": [{"kind": "partition", "agents": [0, 1, 2, 3], "at": 50, "duration": 20}]}, 5e-3),
        ({"fault": [{"kind": "crash", "agent": 4, "at": 50.5, "duration": 20, "state": "kept"}]}, 1e-2),
        ({"fault": [{"kind": "crash", "agent": 4, "at": 50.5, "duration": 20, "state": "lost"}]}, 1e-2),
    ],
    ids=["bursts", "partition", "crash", "crash without state"],
)
def test_healing_duals_survive(changes, at_most):
    assert distance("healing", **TICKS, **changes) < at_most


def test_the_papers_duals_do_not_survive_a_crash_that_takes_the_state():
    crash = {"kind": "crash", "agent": 4, "at": 50.5, "duration": 20, "state": "lost"}
    assert distance("node", **TICKS, fault=[crash]) > 0.1


def test_healing_duals_work_with_models_of_one_byte_an_entry():
    assert distance("healing", **{"network.codec": "int8", "network.link.loss": 0.1}) < 2e-2
