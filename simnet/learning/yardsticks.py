"""What a test error is held against: an answer that looks at no features, and the optimum of all rows without privacy.

- `constant`: the error of the best answer that is the same for all rows: the commonest class of the training rows, or
  the mean of their numbers.
- `optimum`: the error of the minimiser of Σ f_i, the objectives of all agents as the run regularises them. It is what
  ADMM without noise converges to, on any network that loses nothing.
- `best_optimum`: the least error of such a minimiser over the regularisers of `GRID`. It is chosen by the test rows, so
  it is a little too good: a bound on what this kind of model reaches, not what somebody would have reached.

All are facts of the rows, computed without noise. So they do not go into an event log, and not into a record that is
given away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import scipy

from simnet.errors import SimnetError
from simnet.learning.dataset import Dataset, joined
from simnet.learning.inverse_hessian import choose
from simnet.learning.row_objective import Objective
from simnet.learning.solver import Solver
from simnet.learning.task import Task
from simnet.memo import NOTHING, Known
from simnet.threads import one_thread
from simnet.vectors import Square, Vector

GRID: Final = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Weights of ½|θ|² beside a mean loss of weight 1: public, and the same for every data set."""
LARGEST: Final = 10_000_000
"""Training rows times the length of a model, up to which optima are computed where there is a Hessian."""
LARGEST_SEARCH: Final = 1_000_000
"""The same where there are only gradients."""
FEW: Final = 256
"""Numbers of a model up to which there is a Hessian."""
MOST_AGENTS: Final = 1_000
_ACCURACY = 1e-3
"""The largest gradient norm over the regulariser: how far a minimiser may be from the true one."""


@dataclass(frozen=True)
class Yardsticks:
    """Test errors in the run's own measure; None where there is none, and `absent` says why."""

    constant: float | None = None
    optimum: float | None = None
    regulariser: float | None = None
    """Of the run's objectives, beside a loss of weight 1."""
    best_optimum: float | None = None
    best_regulariser: float | None = None
    absent: str | None = None

    def figures(self) -> dict[str, Any]:
        """What summary.json tells under `yardsticks`."""
        return asdict(self)


def yardsticks(objectives: Sequence[Objective], test: Dataset, task: Task, known: Known = NOTHING) -> Yardsticks:
    """The yardsticks of a run whose agents have these objectives on their own rows; `known` is of rows and task."""
    if len(objectives) > MOST_AGENTS:
        return Yardsticks(absent=f"not computed for more than {MOST_AGENTS:,} agents")
    length = objectives[0].features
    quick = length <= FEW and ("margins" in task.has or task.labels == "number")
    most = LARGEST if quick else LARGEST_SEARCH
    if sum(each.rows for each in objectives) * length > most:
        return Yardsticks(absent=f"not computed for more than {most:,} training rows times numbers in such a model")
    try:
        own = objectives[0].regulariser / objectives[0].weight
        with np.errstate(all="ignore"), one_thread():
            return known.recall("yardsticks", own, make=lambda: _computed(objectives, test, task, own, known))
    except Exception as error:  # whatever somebody's own task does, a yardstick ends no run
        return Yardsticks(absent=f"not computed: {type(error).__name__}: {error}")


def _computed(objectives: Sequence[Objective], test: Dataset, task: Task, own: float, known: Known) -> Yardsticks:
    parts = [each.dataset("training rows") for each in objectives]
    constant = task.constant_error(_answer(parts, task), test)
    if "solve" not in task.has:
        return Yardsticks(constant, absent=f"no optimum is known of the task {task.word}: its loss is not convex")
    found = _Optima(parts, test, task)
    grid = known.recall("optima", make=lambda: {each: found.error(each) for each in GRID})
    found.begin_again()  # so that it does not matter whether the grid was known already
    at_own: float | str = "no optimum of the run's own: its objectives have no regulariser"
    if own > 0.0:
        at_own = grid[own] if own in grid else found.error(own)
    reached = [(error, -each) for each, error in grid.items() if not isinstance(error, str)]
    best, at = min(reached, default=(None, None))
    return Yardsticks(
        constant,
        None if isinstance(at_own, str) else at_own,
        own,
        best,
        None if at is None else -at,
        next((why for why in (at_own, *grid.values()) if isinstance(why, str)), None),
    )


def _answer(parts: Sequence[Dataset], task: Task) -> float:
    labels = np.concatenate([part.y for part in parts])
    if task.labels == "number":
        return float(labels.mean())
    values, counts = np.unique(labels, return_counts=True)
    return float(values[counts.argmax()])


class _Optima:
    """Test errors of the minimisers of (1/N) Σ_i (1/m_i) Σ_k l_k(θ) + (regulariser/2)|θ|²."""

    def __init__(self, parts: Sequence[Dataset], test: Dataset, task: Task) -> None:
        self._parts, self._test, self._task = parts, test, task
        self._squares: _Squares | None = None
        self.begin_again()

    def begin_again(self) -> None:
        """Forget where the last search ended."""
        self._solver: Solver | None = None
        self._theta: Vector | None = None

    def error(self, regulariser: float) -> float | str:
        """The error of the minimiser, or why there is none."""
        try:
            error = float(self._task.errors(self._minimiser(regulariser)[None, :], self._test)[0])
        except (SimnetError, ArithmeticError) as reason:
            return f"no optimum at the regulariser {regulariser:g}: {reason}"
        return error if np.isfinite(error) else f"no optimum at the regulariser {regulariser:g}: its error is no number"

    def _minimiser(self, regulariser: float) -> Vector:
        if self._solver is None:
            rows = joined(self._parts)
            inner = self._task.made(rows, 0.0, 1.0)
            pooled = _Weighted(inner, rows, self._parts)
            self._solver, self._theta = Solver(pooled), inner.start
            self._solver.inverse_hessian = choose(inner)
            if rows.labels == "number" and inner.features == rows.features:
                self._squares = _Squares(rows, pooled.weights)
        assert self._theta is not None
        start = self._theta if self._squares is None else self._squares.minimiser(regulariser)
        tolerance = _ACCURACY * regulariser
        self._theta = self._solver.solve(np.zeros_like(start), regulariser, start, tolerance).theta
        return self._theta


class _Squares:
    """The same for least squares, in closed form: where a search for a model of numbers begins, and mostly ends."""

    def __init__(self, rows: Dataset, weights: Vector) -> None:
        # A product of a diagonal matrix with X is dense or sparse as X is.
        weighted: Any = (scipy.sparse.diags_array(weights) @ rows.X).T
        gram = weighted @ rows.X
        self._gram: Square = np.asarray(gram if isinstance(gram, np.ndarray) else gram.toarray(), dtype=np.float64)
        self._towards: Vector = np.asarray(weighted @ rows.y, dtype=np.float64)

    def minimiser(self, regulariser: float) -> Vector:
        found = np.linalg.solve(self._gram + regulariser * np.eye(len(self._gram)), self._towards)
        return np.asarray(found, dtype=np.float64)


class _Weighted(Objective):
    """The rows of all agents in one objective, each agent with the same weight, however many rows it has."""

    def __init__(self, inner: Objective, rows: Dataset, parts: Sequence[Dataset]) -> None:
        self._inner = inner
        self.weights = np.concatenate([np.full(part.rows, 1.0 / (len(parts) * part.rows)) for part in parts])
        assert inner.smoothness is not None, "the task says that it can be solved"
        smoothness = inner.smoothness * rows.rows * float(self.weights.max())
        super().__init__(rows, inner.features, 0.0, smoothness=smoothness)

    def row_losses(self, theta: Vector) -> Vector:
        return self._inner.row_losses(theta)

    def loss_gradient(self, theta: Vector) -> Vector:
        return self._inner.pullback(theta).total(self.weights)
