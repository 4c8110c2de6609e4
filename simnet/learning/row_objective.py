"""What an agent's objective is, whatever is learned: a mean over rows, known by the gradient of each row.

A row's gradient is what privacy is about, so it is what an objective is made of. `Objective.clipped_gradient` shortens
each to a bound c, which makes 2c/m the sensitivity of the mean. What is shortened is the vector as it was computed: its
norm is taken a little too large, so that rounding never lets a row count for more than c.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from simnet.errors import SimnetError, TaskError
from simnet.learning.dataset import UNIT_ROUNDOFF, Dataset
from simnet.vectors import Vector

BatchKey: TypeAlias = tuple[int, int, int]
"""Rows, features and loss: what objectives have in common that are computed with in one batch."""
Choice: TypeAlias = npt.NDArray[np.bool_] | npt.NDArray[np.intp]
"""Some of the rows: a truth value for each, or their places."""


class RowGradients(NamedTuple):
    """The gradients of all rows at one point, without ever writing them down."""

    norms: Vector
    """Of each row's gradient."""
    total: Callable[[Vector], Vector]
    """Their sum, each row with its weight."""


class Objective(ABC):
    """f(θ) = (weight/m) Σ l_k(θ) + (regulariser/2)|θ|² over the m rows of one agent, θ of length `features`.

    A task of one's own writes `row_losses` and `row_gradients`. All the rest follows; where a matrix of all gradients
    is too much, `pullback` takes its place. An objective has no state that changes.
    """

    batch_key: BatchKey | None = None
    """What objectives have in common that can be solved in one batch; None for those that are solved alone."""
    bound: float | None = None
    """Where the task promises a bound on a row's gradient without a proof of ours, each row is shortened to it."""
    proven_bound: ClassVar[float] = math.inf
    """A bound that needs no such help: simnet has a proof of it, which is about this class and none that derives."""

    def __init__(
        self,
        data: Dataset,
        features: int,
        regulariser: float,
        weight: float = 1.0,
        *,
        smoothness: float | None = None,
    ) -> None:
        self.data = data
        self.rows, self.features = data.rows, features
        self.regulariser = regulariser
        self.weight = weight
        self.scale = weight / self.rows
        """The weight of one row in the gradient."""
        self.stored = self.rows * self.features
        """Numbers that a gradient is made of, for who weighs what one costs."""
        self.smoothness = smoothness
        """A bound on the eigenvalues of the loss term's Hessian, which a solver needs; None if there is none."""

    @property
    def start(self) -> Vector:
        """Where every agent begins: public, and the same for all."""
        return np.zeros(self.features)

    @property
    def steepness(self) -> float:
        """How long the terms are that add up to a loss gradient, beside those that grow with θ: at the start."""
        return float(np.linalg.norm(self.loss_gradient(self.start)))

    def dataset(self, name: str) -> Dataset:
        """The rows and labels that it was made of: it holds them, so nobody else need."""
        return self.data

    @abstractmethod
    def row_losses(self, theta: Vector) -> Vector:
        """l_k(θ) of every row, without weight and regulariser."""

    def row_gradients(self, theta: Vector) -> Vector:
        """∇l_k(θ), one row each, without weight and regulariser."""
        raise NotImplementedError(f"{type(self).__name__} has neither `row_gradients` nor `pullback`")

    def pullback(self, theta: Vector) -> RowGradients:
        """The same in two pieces: their norms, and their weighted sum."""
        gradients = self.row_gradients(theta)
        return RowGradients(np.sqrt(np.vecdot(gradients, gradients)), lambda weights: weights @ gradients)

    def mean_loss(self, theta: Vector, ceiling: float = math.inf) -> float:
        """The mean loss of the rows, without weight and regulariser; under a `ceiling` each counts from 0 to that."""
        losses = np.minimum(self.row_losses(theta), ceiling)
        if ceiling < math.inf:  # somebody else's loss may be negative, and a test's sensitivity rests on both ends
            losses = np.maximum(losses, 0.0)
        # A sum and a division: `mean` takes three times as long for as few rows as agents have in a large network.
        return float(np.add.reduce(losses)) / self.rows

    def value(self, theta: Vector) -> float:
        return self.weight * self.mean_loss(theta) + self.regulariser / 2 * float(theta.dot(theta))

    def loss_gradient(self, theta: Vector) -> Vector:
        """The gradient of the loss term alone; rows that exceed a promised bound are shortened to it."""
        if self.bound is not None:
            return self.clipped_gradient(theta, self.weight * self.bound)
        return self.pullback(theta).total(np.full(self.rows, self.scale))

    def gradient(self, theta: Vector) -> Vector:
        return self.loss_gradient(theta) + self.regulariser * theta

    def clipped_gradient(self, theta: Vector, bound: float, rows: Choice | None = None) -> Vector:
        """The mean of the rows' gradients, weight included, each shortened to norm `bound`.

        Of neighbouring data sets, which differ in one row, the means are at most 2·bound/m apart; `rounding.lengthened`
        has room for the rounding of the sum. `rows` picks some rows, as Poisson sampling does; the divisor stays m.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # a sentence follows
            norms, total = self.pullback(theta)
        # A norm of d terms, or a product of such, errs by a factor within 1 ± (d + 16)u: see `dataset.bound_rows`.
        margin = 2.0 * (self.features + 16) * UNIT_ROUNDOFF
        lengths = self.weight * norms
        if not np.isfinite(lengths).all():
            raise SimnetError(
                f"a row's gradient at a model of norm {np.linalg.norm(theta):.3g} is no finite number; smaller steps "
                "would keep the model shorter"
            )
        long = lengths * (1.0 + margin) > bound
        shares = np.full(self.rows, self.scale)
        shares[long] *= bound / (lengths[long] * (1.0 + 2.0 * margin))
        if rows is not None:
            chosen = np.zeros(self.rows)
            chosen[rows] = 1.0
            shares *= chosen
        return total(shares)


_TRIED = 4
"""Rows whose gradients are looked at one by one."""


def check_rows(objective: Objective, who: str) -> None:
    """Raise a TaskError if what somebody else's objective says of its rows does not fit together.

    A row whose gradient is longer than its norm says would count for more than any bound that it is shortened to.
    """
    if type(objective).clipped_gradient is not Objective.clipped_gradient:
        raise TaskError(f"{who}: `clipped_gradient` keeps rows to a bound, so it is not for others to write")
    for theta in (objective.start, objective.start + 1.0 / math.sqrt(objective.features)):
        norms, total = objective.pullback(theta)
        if np.shape(norms) != (objective.rows,) or np.shape(objective.row_losses(theta)) != (objective.rows,):
            raise TaskError(f"{who}: losses and gradients must be one for each of {objective.rows} rows")
        for row in range(min(objective.rows, _TRIED)):
            alone = np.zeros(objective.rows)
            alone[row] = 1.0
            gradient = total(alone)
            if gradient.shape != (objective.features,):
                raise TaskError(f"{who}: a row's gradient must have {objective.features} numbers, as a model has")
            length = float(np.linalg.norm(gradient))
            if not length <= norms[row] * (1.0 + 1e-9):
                raise TaskError(
                    f"{who}: the gradient of row {row} is {length:.4g} long, and its norm is given as {norms[row]:.4g}"
                    "; ε would be wrong"
                )


def check_apart(objective: Objective, other: Objective, who: str) -> None:
    """Raise a TaskError if rows depend on each other: the `other` objective has all rows but the last in common.

    One row would move the gradients of all, and no bound on a row's gradient bounds what that adds up to.
    """
    if not np.array_equal(objective.start, other.start):
        raise TaskError(f"{who}: where it starts depends on the rows, and agents tell it; ε would be wrong")
    for theta in (objective.start, objective.start + 1.0 / math.sqrt(objective.features)):
        (norms, total), (changed, other_total) = objective.pullback(theta), other.pullback(theta)
        pairs = [(objective.row_losses(theta)[:-1], other.row_losses(theta)[:-1]), (norms[:-1], changed[:-1])]
        for row in range(min(objective.rows - 1, _TRIED)):
            alone = np.zeros(objective.rows)
            alone[row] = 1.0
            pairs.append((total(alone), other_total(alone)))
        if not all(np.allclose(one, two, rtol=1e-9, atol=1e-12) for one, two in pairs):
            raise TaskError(
                f"{who}: the loss or the gradient of a row changes when another row is replaced; ε would be wrong"
            )
