"""A small network: it agrees with a plain loop over units, begins at one public point, and learns what no plane can."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simnet.learning.dataset import Dataset
from simnet.learning.linear_tasks import MultinomialTask
from simnet.learning.neural import NeuralTask
from tests.learning.test_row_objective import rows_of


def plain_scores(theta: np.ndarray, x: np.ndarray, hidden: int, classes: int) -> list[float]:
    """One row through the network, number by number."""
    numbers = iter(theta.tolist())
    A = [[next(numbers) for _ in x] for _ in range(hidden)]
    a = [next(numbers) for _ in range(hidden)]
    B = [[next(numbers) for _ in range(hidden)] for _ in range(classes)]
    b = [next(numbers) for _ in range(classes)]
    units = [math.tanh(sum(w * v for w, v in zip(row, x, strict=True)) + c) for row, c in zip(A, a, strict=True)]
    return [sum(w * h for w, h in zip(row, units, strict=True)) + c for row, c in zip(B, b, strict=True)]


def test_losses_and_errors_are_those_of_a_plain_network():
    rng = np.random.default_rng(1)
    task, data = NeuralTask(kind="neural", hidden=4), rows_of("class", rng, 12)
    objective = task.made(data, 0.0, 1.0)
    theta = rng.standard_normal(objective.features)
    scores = [plain_scores(theta, x, 4, 3) for x in data.X]
    losses = [math.log(sum(map(math.exp, row))) - row[int(y)] for row, y in zip(scores, data.y, strict=True)]
    assert objective.row_losses(theta) == pytest.approx(losses, rel=1e-12)
    wrong = [max(range(3), key=row.__getitem__) != y for row, y in zip(scores, data.y, strict=True)]
    assert task.errors(theta[None], data) == pytest.approx([np.mean(wrong)])
    assert task.measures(theta[None], data)["test_loss"] == pytest.approx(np.mean(losses))


def test_all_agents_begin_at_the_same_point_which_its_seed_decides_and_no_data():
    one, other = (NeuralTask(kind="neural").made(rows_of("class", np.random.default_rng(k), 9), 0, 1) for k in (1, 2))
    assert np.array_equal(one.start, other.start)
    assert len(one.start) == one.features == NeuralTask(kind="neural").length(3, 3) == 16 * 4 + 3 * 17
    elsewhere = NeuralTask(kind="neural", seed=2).made(rows_of("class", np.random.default_rng(1), 9), 0, 1)
    assert not np.array_equal(one.start, elsewhere.start)
    assert not one.start.flags.writeable


def test_at_zero_its_units_would_never_become_different_and_at_its_start_they_do():
    objective = NeuralTask(kind="neural", hidden=3).made(rows_of("class", np.random.default_rng(3), 20), 0.0, 1.0)
    into_units = slice(0, 3 * 3)
    assert not objective.loss_gradient(np.zeros(objective.features))[into_units].any()
    assert objective.loss_gradient(objective.start)[into_units].all()


def test_it_learns_a_ring_within_a_ring_which_no_plane_divides():
    rng = np.random.default_rng(4)
    angle, y = rng.uniform(0, 2 * math.pi, 300), rng.integers(2, size=300).astype(float)
    radius = 0.3 + 0.6 * y
    data = Dataset("rings", np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), y, "class")
    task = NeuralTask(kind="neural", hidden=12)
    objective = task.made(data, 0.0, 1.0)
    theta = objective.start
    for _ in range(400):
        theta = theta - 3.0 * objective.clipped_gradient(theta, 1.0)
    assert task.errors(theta[None], data)[0] < 0.02
    plane = MultinomialTask(kind="multinomial")
    straight = plane.made(data, 0.0, 1.0)
    line = np.zeros(straight.features)
    for _ in range(400):
        line = line - 3.0 * straight.loss_gradient(line)
    assert plane.errors(line[None], data)[0] > 0.3
