"""Private ADMM as a noisy fixed-point iteration, beside the paper's federated algorithm written out with a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from simnet import Scenario, run
from simnet.build import build
from simnet.record import events
from simnet.record.bus import Bus
from simnet.record.lines import unpack
from simnet.simulate import peers_of, play

HERE = Path(__file__).parents[2] / "scenarios" / "methods"
GAMMA, RELAXATION, ROUNDS = 5.0, 0.7, 12
WORLD: dict[str, Any] = {
    "rounds": ROUNDS,
    "data": {"source": "synthetic", "rows": 1500, "features": 4},
    "topology": {"kind": "complete", "agents": 5},
    "algorithm": {"name": "noisy_fixed_point.py:NoisyFixedPoint", "gamma": GAMMA, "relaxation": RELAXATION},
    "privacy": {"epsilon": 4.0, "delta": 1e-4},
}


def world(**changes: Any) -> Scenario:
    return Scenario.of(WORLD, folder=HERE).with_(**changes)


def proximal(X: np.ndarray, y: np.ndarray, v: np.ndarray) -> np.ndarray:
    """argmin mean log(1 + exp(−y x·θ)) + |θ − v|²/(2γ), by a method for systems of equations."""

    def slope(theta: np.ndarray) -> np.ndarray:
        return X.T @ (-y / (1 + np.exp(y * (X @ theta)))) / len(y) + (theta - v) / GAMMA

    return scipy.optimize.root(slope, v, tol=1e-13).x


def rows_of(built: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    parts = [each.dataset("") for each in built.training]
    return [(X.toarray() if hasattr(X, "toarray") else np.asarray(X), y) for X, y in ((p.X, p.y) for p in parts)]


def test_without_noise_it_is_the_papers_federated_algorithm():
    built = build(world(**{"privacy.calibration": "none"}))
    peers = peers_of(built)
    play(built, Bus(), peers)
    rows = rows_of(built)
    u, z = np.zeros((5, 4)), np.zeros(4)
    for _ in range(ROUNDS):
        x = np.array([proximal(X, y, 2 * z - own) for (X, y), own in zip(rows, u, strict=True)])
        u = u + 2 * RELAXATION * (x - z)
        z = u.mean(axis=0)
    for peer, own in zip(peers, u, strict=True):
        assert np.allclose(peer.u, own, atol=2e-3)
        assert np.allclose(peer.theta, z, atol=1e-3)
    assert np.linalg.norm(z) > 0.5


def test_what_a_round_releases_is_the_proximal_point_and_noise_of_the_plan():
    built, result = build(world()), run(world())
    told = {(e.agent, e.round): unpack(e.value) for _, _, e in result.events if isinstance(e, events.ReleaseMade)}
    sigma = peers_of(built)[0].plan.rounds[0].scale
    u, noise = np.zeros((5, 4)), []
    for t in range(1, ROUNDS + 1):
        z = u.mean(axis=0)
        for agent, (X, y) in enumerate(rows_of(built)):
            x = z + (told[agent, t] - u[agent]) / (2 * RELAXATION)
            noise.append((x - proximal(X, y, 2 * z - u[agent])) / sigma)
        u = np.array([told[agent, t] for agent in range(5)])
    found = np.concatenate(noise)
    assert np.std(found) == pytest.approx(1.0, abs=4 / np.sqrt(2 * len(found)))
    assert abs(np.mean(found)) < 4 / np.sqrt(len(found))


def test_a_replaced_row_moves_the_proximal_point_by_less_than_what_is_charged():
    rng = np.random.default_rng(3)
    for _ in range(20):
        X = rng.standard_normal((30, 4))
        X /= np.linalg.norm(X, axis=1)[:, None]
        y, v = rng.choice([-1.0, 1.0], 30), 3 * rng.standard_normal(4)
        other = X.copy()
        other[0] = -X[0]
        moved = np.linalg.norm(proximal(X, y, v) - proximal(other, y, v))
        assert 0 < moved <= GAMMA * 2 / 30


def test_its_noise_is_calibrated_to_that_movement():
    size = 240  # training rows of each agent: four fifths of 1,500, among five
    charge = peers_of(build(world()))[0].plan.charge(1)
    assert dict(charge.parameters)["sensitivity"] == pytest.approx(GAMMA * (2 / size) * 1.04, rel=1e-5)
