"""How good the agents' models are: on their own data, on the test set, and compared with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simnet.errors import DataError
from simnet.learning.batch_solver import BatchSolver
from simnet.learning.dataset import Matrix
from simnet.learning.objective import LocalObjective, Measurement, fold_labels
from simnet.vectors import Vector

Models = npt.NDArray[np.float64]
"""One agent's vector a row."""

_CHUNK = 2**18  # scores held at a time: 2 MB, and they stay in the cache


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The state of a run, in the papers' measures."""

    train_loss: float
    """Mean over agents of the mean loss of each agent's model on its own rows, without the regulariser."""
    test_error: float
    """Mean over agents of each model's share of errors on the test set; a score of exactly 0 is half an error."""
    objective: float
    """(1/N) Σ f_i(θ_i)."""
    consensus: float
    """Root mean square distance of the models from their mean."""
    dual_drift: float
    """|Σ λ_i|; 0 when there are no duals."""
    agent_train_loss: Vector
    agent_test_error: Vector


class Evaluator:
    """Evaluates the models of agents that hold `parts`, against one test set.

    It remembers the last models: an agent that skipped its round has the same one, and the same loss and error.
    """

    def __init__(self, parts: Sequence[LocalObjective], test_X: Matrix, test_y: Vector) -> None:
        if test_X.shape[0] == 0:
            raise DataError("the test set is empty: leave at least one row for it")
        self._parts = parts
        self._test = fold_labels(test_X, test_y)
        self._last: Models = np.full((len(parts), test_X.shape[1]), np.nan)
        self._losses, self._errors = np.zeros(len(parts)), np.zeros(len(parts))
        self._weights = np.array([part.weight for part in parts])
        self._regularisers = np.array([part.regulariser for part in parts])
        self._solver = BatchSolver()

    def evaluate(self, thetas: Models, duals: Models | None = None) -> Evaluation:
        """All measures, for one model an agent."""
        losses, errors = self._figures(thetas)
        norms = np.einsum("nd,nd->n", thetas, thetas)
        apart = thetas - thetas.mean(axis=0)
        return Evaluation(
            train_loss=float(losses.mean()),
            test_error=float(errors.mean()),
            objective=float((self._weights * losses + self._regularisers / 2 * norms).mean()),
            consensus=float(np.sqrt(np.einsum("nd,nd->n", apart, apart).mean())),
            dual_drift=0.0 if duals is None else float(np.linalg.norm(duals.sum(axis=0))),
            agent_train_loss=losses,
            agent_test_error=errors,
        )

    def _figures(self, thetas: Models) -> tuple[Vector, Vector]:
        """Train loss and test error of each model; only of those that changed they are computed."""
        if thetas.shape != self._last.shape:
            raise DataError(f"{len(self._last)} agents need as many models, not an array of shape {thetas.shape}")
        moved = np.flatnonzero((thetas != self._last).any(axis=1))
        models = thetas[moved]
        self._losses[moved] = self._solver.measure(
            [Measurement(self._parts[agent], model) for agent, model in zip(moved.tolist(), models, strict=True)]
        )
        self._errors[moved] = self.test_errors(models)
        self._last[moved] = models
        return self._losses.copy(), self._errors.copy()

    def test_errors(self, thetas: Models) -> Vector:
        """Each model's share of errors on the test set."""
        rows = self._test.shape[0]
        width = max(1, _CHUNK // rows)
        errors = np.empty(len(thetas))
        for first in range(0, len(thetas), width):
            chunk = slice(first, first + width)
            margins = self._test @ np.ascontiguousarray(thetas[chunk].T)
            # What is neither right nor a tie is wrong: a model that is not a number has no merit.
            right = np.count_nonzero(margins > 0.0, axis=0) + 0.5 * np.count_nonzero(margins == 0.0, axis=0)
            errors[chunk] = 1.0 - right / rows
        return errors
