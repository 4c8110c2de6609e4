"""Tasks of linear models: the classifiers of the papers, least squares, and one linear score per class."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import scipy

from simnet.learning.dataset import Dataset, LabelKind, Matrix
from simnet.learning.objective import LOGISTIC, SMOOTHED_HINGE, Loss
from simnet.learning.row_objective import Objective, RowGradients
from simnet.learning.task import MarginTask, Models, Task
from simnet.vectors import Vector


class LogisticTask(MarginTask):
    """A linear classifier with the logistic loss: L = 1, c1 = 1/4."""

    has: ClassVar[frozenset[str]] = MarginTask.has | {"unbiased"}
    lipschitz: ClassVar[float] = LOGISTIC.lipschitz
    smoothness: ClassVar[float] = LOGISTIC.smoothness

    kind: Literal["logistic"]

    @property
    def loss(self) -> Loss:
        return LOGISTIC


class SmoothedHingeTask(MarginTask):
    """A linear classifier with the hinge of support vector machines, smoothed: L = 1, c1 = 1."""

    lipschitz: ClassVar[float] = SMOOTHED_HINGE.lipschitz
    smoothness: ClassVar[float] = SMOOTHED_HINGE.smoothness

    kind: Literal["smoothed-hinge"]

    @property
    def loss(self) -> Loss:
        return SMOOTHED_HINGE


class LinearObjective(Objective):
    """A mean of losses of K linear scores Wx. θ is W, one row per score; a row's gradient is s xᵀ, s the slopes."""

    def __init__(self, data: Dataset, scores: int, regulariser: float, weight: float, bend: float) -> None:
        self._X = laid_out(data.X)
        self._T = transposed(self._X)
        lengths = squared_lengths(self._X)
        self._norms: Vector = np.sqrt(lengths)
        # The trace of the loss's Hessian is at most the bend of one row's loss times the trace of XᵀX/m.
        smoothness = weight * bend * float(lengths.sum()) / data.rows
        super().__init__(data, scores * data.features, regulariser, weight, smoothness=smoothness)

    def scores(self, theta: Vector) -> Vector:
        """Wx of every row."""
        return product(self._X, theta.reshape(-1, self._X.shape[1]).T)

    @abstractmethod
    def slopes(self, scores: Vector) -> Vector:
        """The derivative of each row's loss by its scores."""

    def pullback(self, theta: Vector) -> RowGradients:
        slopes = self.slopes(self.scores(theta))

        def total(weights: Vector) -> Vector:
            return product(self._T, weights[:, None] * slopes).T.ravel()

        return RowGradients(np.sqrt(np.vecdot(slopes, slopes)) * self._norms, total)


class SquaredErrors(LinearObjective):
    """½(θ·x − y)² per row."""

    def row_losses(self, theta: Vector) -> Vector:
        missed = self.scores(theta)[:, 0] - self.data.y
        return 0.5 * missed * missed

    def slopes(self, scores: Vector) -> Vector:
        return scores - self.data.y[:, None]


class RidgeTask(Task):
    """Least squares, with the method's regulariser: a row costs ½(θ·x − y)². A row's gradient has no bound; clip it."""

    has: ClassVar[frozenset[str]] = frozenset({"gradient", "convex", "smooth", "solve"})
    labels: ClassVar[LabelKind] = "number"
    error: ClassVar[str] = "root mean square error"

    kind: Literal["ridge"]

    @property
    def smoothness(self) -> float | None:
        """|xxᵀ| <= 1."""
        return 1.0

    def objective(self, rows: Dataset, regulariser: float, weight: float) -> Objective:
        return SquaredErrors(rows, 1, regulariser, weight, bend=1.0)

    def errors(self, models: Models, test: Dataset) -> Vector:
        found: Vector = np.sqrt(np.square(_missed(models, test)).mean(axis=0))
        return found

    def constant_error(self, answer: float, test: Dataset) -> float | None:
        return float(np.sqrt(np.square(answer - test.y).mean()))

    def measures(self, models: Models, test: Dataset) -> Mapping[str, float]:
        return {"mean_absolute_error": float(np.abs(_missed(models, test)).mean())}


def _missed(models: Models, test: Dataset) -> Vector:
    """By how much each model, one per column, misses the label of each row."""
    return product(test.X, np.ascontiguousarray(models.T)) - test.y[:, None]


class CrossEntropy(LinearObjective):
    """−log p_y per row, p the softmax of the scores."""

    proven_bound: ClassVar[float] = math.sqrt(2.0)  # see MultinomialTask

    def row_losses(self, theta: Vector) -> Vector:
        return cross_entropies(self.scores(theta), self.data.y)

    def slopes(self, scores: Vector) -> Vector:
        return softmax_slopes(scores, self.data.y)


class MultinomialTask(Task):
    """One linear score per class, and the logistic loss of their softmax; a row's gradient is at most √2 long.

    The gradient of a row by W is (p − e_y) xᵀ, p the softmax of Wx and |x| <= 1. All p_k are at least 0 and sum to 1,
    so |p − e_y|² = (1 − p_y)² + Σ_{k≠y} p_k² <= (1 − p_y)² + (Σ_{k≠y} p_k)² = 2 (1 − p_y)² <= 2.
    The Hessian is (diag p − ppᵀ) ⊗ xxᵀ, and by Gershgorin no eigenvalue of the first factor exceeds 2 p_k (1 − p_k).
    """

    has: ClassVar[frozenset[str]] = frozenset({"gradient", "convex", "smooth", "solve"})
    labels: ClassVar[LabelKind] = "class"

    kind: Literal["multinomial"]

    @property
    def gradient_bound(self) -> float | None:
        return CrossEntropy.proven_bound

    @property
    def smoothness(self) -> float | None:
        return 0.5

    def length(self, features: int, classes: int) -> int:
        return features * classes

    def objective(self, rows: Dataset, regulariser: float, weight: float) -> Objective:
        return CrossEntropy(rows, rows.classes, regulariser, weight, bend=0.5)

    def errors(self, models: Models, test: Dataset) -> Vector:
        return np.array([class_error(_scores(model, test), test.y) for model in models])

    def measures(self, models: Models, test: Dataset) -> Mapping[str, float]:
        found = [float(cross_entropies(_scores(model, test), test.y).mean()) for model in models]
        return {"test_loss": float(np.mean(found))}


def _scores(model: Vector, test: Dataset) -> Vector:
    return product(test.X, model.reshape(test.classes, test.features).T)


_DENSE = 2**24
"""Entries of a matrix that is held dense, whatever is in it: 128 MB."""


def laid_out(X: Matrix) -> Matrix:
    """X dense, or in CSR form if that would be too large.

    The shape alone decides, which is public. So a row that two data sets of one shape share goes through the same
    operations in both, and comes out the same to the last bit.
    """
    if X.shape[0] * X.shape[1] > _DENSE:
        return scipy.sparse.csr_array(X)
    return np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def transposed(X: Matrix) -> Matrix:
    """Xᵀ, in a form whose products are fast."""
    return X.T if isinstance(X, np.ndarray) else X.T.tocsr()


def squared_lengths(X: Matrix) -> Vector:
    """|x|² of each row."""
    squares = X * X if isinstance(X, np.ndarray) else X.multiply(X)
    return np.asarray(squares.sum(axis=1), dtype=np.float64)


def product(X: Matrix, dense: Vector) -> Vector:
    """X times a dense matrix, which is dense."""
    return np.asarray(X @ dense, dtype=np.float64)


def cross_entropies(scores: Vector, y: Vector) -> Vector:
    """−log p_y of each row, p the softmax of its scores."""
    top = scores.max(axis=1)
    found: Vector = np.log(np.exp(scores - top[:, None]).sum(axis=1))
    found += top - scores[np.arange(len(y)), y.astype(np.intp)]
    return found


def softmax_slopes(scores: Vector, y: Vector) -> Vector:
    """p − e_y of each row."""
    found: Vector = np.exp(scores - scores.max(axis=1)[:, None])
    found /= found.sum(axis=1)[:, None]
    found[np.arange(len(y)), y.astype(np.intp)] -= 1.0
    return found


def class_error(scores: Vector, y: Vector) -> float:
    """The share of rows whose class has not the highest score; of k that tie, each is right in one case of k."""
    best = scores == scores.max(axis=1)[:, None]
    right = best[np.arange(len(y)), y.astype(np.intp)] / np.maximum(best.sum(axis=1), 1)
    return 1.0 - float(right.sum()) / len(y)
