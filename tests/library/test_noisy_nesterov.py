"""Accelerated noisy gossip: against plain numpy, its noise, and what loss does to the mean."""

from __future__ import annotations

import numpy as np
import pytest

from simnet import Scenario
from simnet.build import build
from simnet.record.bus import Bus
from simnet.simulate import peers_of, play

WORLD = {
    "rounds": 42,
    "task": "capped-logistic",
    "data": {"source": "synthetic", "rows": 3000, "features": 5},
    "topology": {"kind": "ring", "agents": 5},
    "algorithm": {"name": "noisy-nesterov", "step": 4.0},
    "privacy": {"epsilon": 2.0, "delta": 1e-4},
}


def played(**changes):
    built = build(Scenario.of(WORLD).with_(**changes))
    peers = peers_of(built)
    play(built, Bus(), peers)
    return built, peers


def test_without_noise_it_is_the_formula_written_in_numpy():
    _, peers = played(**{"privacy.calibration": "none"})
    rows = [each.learner.objective.dataset("") for each in peers]
    W = (np.eye(5) + np.roll(np.eye(5), 1, 0) + np.roll(np.eye(5), -1, 0)) / 3
    theta = y = np.zeros((5, 5))
    for t in range(1, 41):
        q = []
        for each, at in zip(rows, y, strict=True):
            X = each.X.toarray() if hasattr(each.X, "toarray") else each.X
            slope = -np.minimum(0.5, 1 / (1 + np.exp(each.y * (X @ at))))
            q.append(at - 4.0 * (X.T @ (each.y * slope) / each.rows + 1e-5 * at))
        n = W @ np.array(q)
        y = n + t / (t + 3) * (n - theta)
        theta = n
    assert np.allclose([peer.learner.theta for peer in peers], theta, atol=1e-9)
    assert np.allclose([peer.theta for peer in peers], theta * peers[0].factors, atol=1e-7)


def test_loss_leaves_agents_a_little_apart_and_near_where_they_would_be():
    calmly = {"privacy.calibration": "none", "algorithm.regulariser": 0.02}
    _, calm = played(**calmly)
    _, lossy = played(**calmly, **{"network.link.loss": 0.1})
    there = calm[0].theta
    for peer in lossy:
        assert np.linalg.norm(peer.theta - there) < 0.1 * np.linalg.norm(there)


def test_a_gradient_is_never_taken_farther_out_than_rounding_allows():
    _built, peers = played()
    peer = peers[0].learner
    peer.absorb(1, (np.full(5, peer.plan.limit),), ())
    peer.absorb(2, (np.full(5, peer.plan.limit),), ())
    assert np.linalg.norm(peer.ahead) <= peer.plan.limit * (1 + 1e-12)


@pytest.mark.parametrize("agents", [2, 3])
def test_capped_gradients_of_neighbouring_data_are_no_further_apart_than_is_charged(agents):
    _built, peers = played(topology={"kind": "complete", "agents": agents})
    peer, rng = peers[0].learner, np.random.default_rng(1)
    charge = dict(peer.plan.charge(1).parameters)
    data = peer.objective.dataset("")
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X.copy()
    worst = 0.0
    for trial in range(60):
        point = 30 * rng.normal(size=5)
        first, second = X.copy(), X.copy()
        first[0], second[0] = (point, -point) / np.linalg.norm(point) if trial % 2 else rng.normal(size=(2, 5))
        first[0], second[0] = (v / np.linalg.norm(v) * (1 - 1e-14) for v in (first[0], second[0]))
        y = data.y.copy()
        y[0] = -1.0
        found = []
        for rows in (first, second):
            mine = type(peer.objective).__mro__[1](rows, y, peer.objective.loss, 0.0)
            found.append(mine.clipped_gradient(point * (1 if trial % 4 == 1 else -1), peer.bound))
        worst = max(worst, float(np.linalg.norm(found[0] - found[1])))
    assert worst <= charge["sensitivity"]
    assert worst > 0.45 * charge["sensitivity"]
