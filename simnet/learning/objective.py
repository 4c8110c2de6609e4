"""What one agent minimises: its regularised loss, and that loss with ADMM's linear and quadratic terms.

A loss is one of a linear classifier, a function of the margin z = y θ·x. The privacy proofs (objective perturbation)
ask three things of a loss: it is convex, |l'| <= `lipschitz`, and l' is Lipschitz with constant `smoothness` (c1). A
kink of l' is allowed. The map from the minimiser to the noise, b = −∇(f + linear + quadratic), is Lipschitz and
strongly monotone, hence bi-Lipschitz, so the change of variables holds with the Jacobian that exists outside the
hyperplanes where a row sits on a kink, and these have measure zero under either data set. Every other step uses only
the two constants. So a loss need be twice differentiable only almost everywhere, and `bend` may return either one-sided
value at a kink.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import scipy

from simnet.errors import DataError
from simnet.learning.dataset import Dataset, Matrix, fold_labels
from simnet.learning.row_objective import BatchKey, Objective, RowGradients
from simnet.vectors import Square, Vector

Stack: TypeAlias = npt.NDArray[np.float64]
"""A number, a vector or a matrix for each of several problems."""

_TINY, _FEW = 4096, 256  # entries and features; a product with more entries costs more than its call
_BLOCK = 2048  # rows of a sparse matrix made dense at a time for a Hessian


HINGE_WIDTH = 0.5
"""h: the smoothed hinge is a parabola where |1 − z| <= h."""

# Arrays, which a ufunc takes as they are: to find out what to do with a Python float costs it as much as a few rows.
_ONE, _MINUS_ONE = np.array(1.0), np.array(-1.0)


class Slope(Protocol):
    """l' of an array of margins, put into `out` if that is given; it may be the margins themselves."""

    def __call__(self, z: Vector, out: Vector | None = None) -> Vector: ...


@dataclass(frozen=True)
class Loss:
    """A convex loss l with l' (`slope`) and l'' (`bend`), each applied to an array of margins."""

    name: str
    value: Callable[[Vector], Vector]
    slope: Slope
    bend: Callable[[Vector], Vector]
    lipschitz: float
    smoothness: float


def _logistic_value(z: Vector) -> Vector:
    e: Vector = np.abs(z)
    np.negative(e, out=e)
    np.exp(e, out=e)
    np.log1p(e, out=e)
    e -= np.minimum(z, 0.0)
    return e


@np.errstate(over="ignore")  # where e^z is infinite, l' is 0
def _logistic_slope(z: Vector, out: Vector | None = None) -> Vector:
    # −1/(1 + e^z): one exponential, which is most of a gradient's cost outside the matrix products.
    e: Vector = np.exp(z, out)
    np.add(e, _ONE, e)
    np.divide(_MINUS_ONE, e, e)
    return e


def _logistic_bend(z: Vector) -> Vector:
    e: Vector = np.exp(-np.abs(z))
    result: Vector = e / (1.0 + e) ** 2
    return result


def _hinge_value(z: Vector) -> Vector:
    # The parabola up to the far kink, then the straight line that continues it: 1 − z below 1 − h.
    gap = np.clip((1.0 + HINGE_WIDTH) - z, 0.0, 2.0 * HINGE_WIDTH)
    result: Vector = gap * gap / (4.0 * HINGE_WIDTH) + np.maximum((1.0 - HINGE_WIDTH) - z, 0.0)
    return result


def _hinge_slope(z: Vector, out: Vector | None = None) -> Vector:
    gap: Vector = np.clip(((1.0 + HINGE_WIDTH) - z) / (2.0 * HINGE_WIDTH), 0.0, 1.0, out=out)
    return np.negative(gap, out=gap)


def _hinge_bend(z: Vector) -> Vector:
    result: Vector = (np.abs(1.0 - z) <= HINGE_WIDTH) / (2.0 * HINGE_WIDTH)
    return result


LOGISTIC = Loss("logistic", _logistic_value, _logistic_slope, _logistic_bend, lipschitz=1.0, smoothness=0.25)
"""l(z) = log(1 + e^−z)."""

SMOOTHED_HINGE = Loss(
    "smoothed-hinge", _hinge_value, _hinge_slope, _hinge_bend, lipschitz=1.0, smoothness=1.0 / (2.0 * HINGE_WIDTH)
)
"""The support vector machine's hinge, Huberised: Chapelle, "Training a Support Vector Machine in the Primal" (2007).

l(z) = 0 for z > 1 + h, (1 + h − z)²/(4h) for |1 − z| <= h, 1 − z for z < 1 − h. l'' is 1/(2h) on the parabola, else 0.
"""

LOSSES: dict[str, Loss] = {loss.name: loss for loss in (LOGISTIC, SMOOTHED_HINGE)}


def fits_stacks(rows: int, features: int) -> bool:
    """Whether problems of this shape are small enough for stacks of them to be faster.

    A product with one row or one column is another routine for a stack of them than for one.
    """
    return min(rows, features) > 1 and features <= _FEW and rows * features <= _TINY


def unbiased(loss: Loss, epsilon: float | Vector) -> Loss:
    """A loss of randomised labels whose mean over the randomness is the loss of the true ones.

    PDML, equation (19): l̂(z) = (e^ε l(z) − l(−z))/(e^ε − 1), for labels that randomised response at ε has flipped. Its
    mean over the flips is l (Proposition 2), and |l̂'| <= L(e^ε+1)/(e^ε−1). It is convex if l''(z) = l''(−z), which
    the paper assumes: then l̂'' = l''. The logistic loss is such a one, a hinge is not.

    `epsilon` is that of all labels, or one per row; then it is a loss of all rows in their order, and of no others.
    """
    if loss is not LOGISTIC:
        raise DataError(f"loss = {loss.name}: made unbiased it would not be convex; only the logistic loss stays so")
    chosen, place = np.unique(epsilon, return_inverse=True)
    shares = np.array([1.0 / math.expm1(each) if each < 700.0 else 0.0 for each in chosen])
    share = shares[place].reshape(np.shape(epsilon))
    steepest = loss.lipschitz * (1.0 + 2.0 * float(shares.max()))

    def value(z: Vector) -> Vector:
        # l(−z) = l(z) + z
        found: Vector = loss.value(z)
        return found - share * z

    def slope(z: Vector, out: Vector | None = None) -> Vector:
        found: Vector = loss.slope(z, out)
        found -= share
        return found

    return Loss(f"unbiased {loss.name}", value, slope, loss.bend, steepest, loss.smoothness)


class LocalObjective(Objective):
    """f(θ) = (weight/m) Σ l(y θ·x) + (regulariser/2)|θ|² over the m rows of one agent.

    Labels are folded into the rows once, so that products are with A = diag(y) X alone.
    """

    def __init__(self, X: Matrix, y: Vector, loss: Loss, regulariser: float, weight: float = 1.0) -> None:
        self._hold(fold_labels(X, y), y, loss, regulariser, weight)

    @classmethod
    def folded(cls, A: Matrix, y: Vector, loss: Loss, regulariser: float, weight: float) -> LocalObjective:
        """The objective of rows whose labels have been folded in, in the layout of `fold_labels`."""
        found = cls.__new__(cls)
        found._hold(A, y, loss, regulariser, weight)
        return found

    def _hold(self, A: Matrix, y: Vector, loss: Loss, regulariser: float, weight: float) -> None:
        self.rows, self.features = int(A.shape[0]), int(A.shape[1])
        self.loss = loss
        self.regulariser = regulariser
        self.weight = weight
        self.scale = weight / self.rows
        """The weight of one row in the gradient."""
        self._scale = _as_array(self.scale)
        self._y = y
        self._A: Matrix = A
        # A copy: products with it are a tenth faster than scattering through the arrays of A.
        self._sparse_transposed = self._A.T.tocsr() if isinstance(self._A, scipy.sparse.csr_array) else None
        entries = self._A.data if isinstance(self._A, scipy.sparse.csr_array) else self._A.T.ravel()
        self.stored = entries.size
        self.smoothness: float = weight * loss.smoothness * float(entries.dot(entries)) / self.rows
        """A bound on the eigenvalues of the loss term's Hessian: c1 times the trace of AᵀA/m."""
        self.batch_key = self._batch_key()
        """None if the objective is too large for batches to be faster, or sparse."""

    def _batch_key(self) -> BatchKey | None:
        few = fits_stacks(self.rows, self.features) and not self.sparse
        return _shared_key(self.rows, self.features, id(self.loss)) if few else None

    @property
    def transposed(self) -> Matrix:
        """Aᵀ: one row per feature."""
        return cast("Matrix", self._A.T) if self._sparse_transposed is None else self._sparse_transposed

    @property
    def sparse(self) -> bool:
        return isinstance(self._A, scipy.sparse.csr_array)

    @property
    def steepness(self) -> float:
        return self.loss.lipschitz * math.sqrt(self.weight * self.smoothness / self.loss.smoothness)

    @cached_property
    def _norms(self) -> Vector:
        """Of each row."""
        squares = self._A.multiply(self._A) if isinstance(self._A, scipy.sparse.csr_array) else self._A * self._A
        return np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64))

    def dataset(self, name: str) -> Dataset:
        return Dataset(name, fold_labels(self._A, self._y), self._y)  # a label is its own inverse

    def _forward(self, theta: Vector) -> Vector:
        return cast("Vector", self._A.dot(cast("Any", theta)))

    def _backward(self, weights: Vector) -> Vector:
        return cast("Vector", self.transposed.dot(cast("Any", weights)))

    def row_losses(self, theta: Vector) -> Vector:
        """l(y θ·x) of every row, without weight and regulariser."""
        return self.loss.value(self._forward(theta))

    def pullback(self, theta: Vector) -> RowGradients:
        """A row's gradient is l'(y θ·x) y x."""
        slopes = self.loss.slope(self._forward(theta))
        return RowGradients(np.abs(slopes) * self._norms, lambda weights: self._backward(weights * slopes))

    def loss_gradient(self, theta: Vector) -> Vector:
        """The gradient of the loss term alone, (weight/m) Aᵀ l'(Aθ)."""
        margins = self._forward(theta)
        gradient = self._backward(self.loss.slope(margins, margins))
        np.multiply(gradient, self._scale, gradient)
        return gradient

    def loss_hessian(self, theta: Vector, every: int = 1) -> Square:
        """The Hessian of the loss term alone, from every `every`-th row: an estimate unless that is 1."""
        hessian = np.zeros((self.features, self.features))
        used = -(-self.rows // every)
        for first in range(0, used, _BLOCK):
            rows = self._A[first * every : (first + _BLOCK) * every : every]
            block = rows.toarray() if isinstance(rows, scipy.sparse.csr_array) else rows
            block = block * np.sqrt(self.loss.bend(block.dot(theta)))[:, None]
            hessian += block.T @ block
        hessian *= self.weight / used
        return hessian


@lru_cache(maxsize=1 << 10)
def _as_array(number: float) -> Vector:
    """A ufunc takes an array faster than a Python float; agents that are alike share one."""
    found: Vector = np.array(number)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=1 << 10)
def _shared_key(rows: int, features: int, loss: int) -> BatchKey:
    """Objectives that are alike share one key."""
    return rows, features, loss


class Measurement(NamedTuple):
    """A request for the mean loss of a model over an agent's rows, each row's counted from 0 to `ceiling`."""

    objective: Objective
    theta: Vector
    ceiling: float = math.inf

    def answer(self) -> float:
        """The mean loss, computed alone."""
        return self.objective.mean_loss(self.theta, self.ceiling)


@dataclass(frozen=True, eq=False)
class Subproblem:
    """f(θ) + linear·θ + (quadratic/2)|θ|², which an agent minimises in one round.

    ADMM's η Σ_j |½(θ_i + θ_j) − θ|² over V neighbours is quadratic = 2ηV and linear = −η Σ_j (θ_i + θ_j), but for a
    constant.
    """

    objective: Objective
    linear: Vector
    quadratic: float

    @property
    def curvature(self) -> float:
        """μ: the problem is at least this strongly convex."""
        return self.objective.regulariser + self.quadratic

    def value(self, theta: Vector) -> float:
        added = float(self.linear.dot(theta)) + self.quadratic / 2 * float(theta.dot(theta))
        return self.objective.value(theta) + added

    def gradient(self, theta: Vector) -> Vector:
        return self.objective.loss_gradient(theta) + self.curvature * theta + self.linear

    def hessian(self, theta: Vector) -> Square:
        """Of a loss of the margin."""
        assert isinstance(self.objective, LocalObjective), "noise in an objective needs `margins` of a task"
        hessian = self.objective.loss_hessian(theta)
        hessian[np.diag_indices(self.objective.features)] += self.curvature
        return hessian
