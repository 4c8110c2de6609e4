"""A small neural network: one hidden layer of tanh units, and one score per class.

Its loss is not convex, so there is nothing to solve; methods that need a gradient for each row can learn it. A row's
gradient has no bound, since it grows with the second layer. At θ = 0 all units are alike and stay so, hence the
network begins elsewhere: at a point that is drawn from a public seed and is the same for all agents.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from simnet.learning.dataset import Dataset, LabelKind, Matrix
from simnet.learning.linear_tasks import (
    class_error,
    cross_entropies,
    laid_out,
    product,
    softmax_slopes,
    squared_lengths,
    transposed,
)
from simnet.learning.row_objective import Objective, RowGradients
from simnet.learning.task import Models, Task
from simnet.parts.fields import Count, Whole
from simnet.streams import Streams
from simnet.vectors import Vector


class Layers(NamedTuple):
    """θ in four pieces: h = tanh(Ax + a), scores = Bh + b."""

    A: Vector
    a: Vector
    B: Vector
    b: Vector

    @classmethod
    def of(cls, theta: Vector, features: int, hidden: int, classes: int) -> Layers:
        sizes = np.cumsum([hidden * features, hidden, classes * hidden])
        A, a, B, b = np.split(theta, sizes)
        return cls(A.reshape(hidden, features), a, B.reshape(classes, hidden), b)

    def forward(self, X: Matrix) -> tuple[Vector, Vector]:
        """The hidden units and the scores of every row."""
        units: Vector = np.tanh(product(X, self.A.T) + self.a)
        return units, units @ self.B.T + self.b


class NeuralTask(Task):
    """A neural network with one hidden layer and tanh units; a row's gradient has no bound, so clip it."""

    has: ClassVar[frozenset[str]] = frozenset({"gradient"})
    labels: ClassVar[LabelKind] = "class"

    kind: Literal["neural"]
    hidden: Count = Field(16, description="units of the hidden layer")
    seed: Whole = Field(1, description="seed of the public point at which all agents begin")

    def length(self, features: int, classes: int) -> int:
        return self.hidden * (features + 1) + classes * (self.hidden + 1)

    def objective(self, rows: Dataset, regulariser: float, weight: float) -> Objective:
        return NetworkObjective(self, rows, regulariser, weight)

    def errors(self, models: Models, test: Dataset) -> Vector:
        return np.array([class_error(self._scores(model, test), test.y) for model in models])

    def measures(self, models: Models, test: Dataset) -> Mapping[str, float]:
        found = [float(cross_entropies(self._scores(model, test), test.y).mean()) for model in models]
        return {"test_loss": float(np.mean(found))}

    def _scores(self, model: Vector, test: Dataset) -> Vector:
        return Layers.of(model, test.features, self.hidden, test.classes).forward(test.X)[1]


class NetworkObjective(Objective):
    """−log p_y per row, p the softmax of the network's scores.

    With s = p − e_y and t = (Bᵀs) ∘ (1 − h²), a row's gradient by (A, a, B, b) is (t xᵀ, t, s hᵀ, s). So its norm is
    √(|t|²(|x|² + 1) + |s|²(|h|² + 1)), and a weighted sum of rows needs no gradient of any single one.
    """

    def __init__(self, task: NeuralTask, data: Dataset, regulariser: float, weight: float) -> None:
        super().__init__(data, task.length(data.features, data.classes), regulariser, weight)
        self._shape = (data.features, task.hidden, data.classes)
        self._seed = task.seed
        self._X = laid_out(data.X)
        self._T, self._lengths = transposed(self._X), squared_lengths(self._X)

    @property
    def start(self) -> Vector:
        return starting_point(*self._shape, self._seed)

    def row_losses(self, theta: Vector) -> Vector:
        return cross_entropies(Layers.of(theta, *self._shape).forward(self._X)[1], self.data.y)

    def pullback(self, theta: Vector) -> RowGradients:
        layers = Layers.of(theta, *self._shape)
        units, scores = layers.forward(self._X)
        s = softmax_slopes(scores, self.data.y)
        t = (s @ layers.B) * (1.0 - units * units)
        first, second = np.vecdot(t, t) * (self._lengths + 1.0), np.vecdot(s, s) * (np.vecdot(units, units) + 1.0)

        def total(weights: Vector) -> Vector:
            outer, inner = weights[:, None] * s, weights[:, None] * t
            pieces = (product(self._T, inner).T, inner.sum(axis=0), outer.T @ units, outer.sum(axis=0))
            return np.concatenate([piece.ravel() for piece in pieces])

        return RowGradients(np.sqrt(first + second), total)


@lru_cache(maxsize=16)
def starting_point(features: int, hidden: int, classes: int, seed: int) -> Vector:
    """Weights N(0, 1) into the units, since rows are short, and N(0, 1/hidden) out of them; no offsets."""
    rng = Streams(seed).generator("start")
    A, B = rng.standard_normal((hidden, features)), rng.standard_normal((classes, hidden)) / np.sqrt(hidden)
    found = np.concatenate([A.ravel(), np.zeros(hidden), B.ravel(), np.zeros(classes)])
    found.setflags(write=False)
    return found
