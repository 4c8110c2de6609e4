"""Approximations of the inverse Hessian that learn from the gradients a solver sees: BFGS and its relatives.

The local problem has the Hessian H + μI: H belongs to the loss, and regulariser and penalty add the curvature μ. An
approximation K ≈ (H + μI)⁻¹ starts from H at one point. Then every step s that changes the gradient by y teaches it
that K y = s. From round to round H changes little, so what one round has learned serves the next. When μ changes, K is
changed with it, and what it knows of H is kept.

- `TriangleBfgs` holds one triangle of K.
- `FullBfgs` computes with all of K, so that the matrices of many small problems can be stacked. Between the solves of
  a crowd it holds one triangle.
- `LimitedBfgs` holds only the last pairs (s, y): for problems with so many features that a d × d matrix would cost more
  than the gradients that it saves.
"""

from __future__ import annotations

import math
from collections import deque
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from simnet.learning.objective import LocalObjective, Stack
from simnet.learning.row_objective import Objective
from simnet.vectors import Square, Vector

_SAMPLE = 4  # rows per feature: a Hessian of so few costs two gradients on Adult, and BFGS learns the rest
_MEMORY = 20  # pairs
_FAINT = 1e-12
"""Of the smoothness: with less curvature than rounding errors, the Hessian might have no Cholesky factor."""
NEAR = 0.05
"""The share by which μ may differ from the one that K was made for."""


InverseHessian: TypeAlias = "TriangleBfgs | LimitedBfgs"
"""K ≈ (H + μI)⁻¹, symmetric and positive definite."""


def choose(objective: Objective) -> InverseHessian:
    """The kind that makes solves of `objective` cheapest; without a Hessian there is one kind only."""
    if not isinstance(objective, LocalObjective):
        return LimitedBfgs(objective)
    if objective.batch_key is not None:
        return FullBfgs(objective)
    dense = TriangleBfgs(objective)
    return dense if objective.features <= 256 or dense.cost <= 30 else LimitedBfgs(objective)


class TriangleBfgs:
    """The upper triangle of K, started from the Hessian of a sample of the rows.

    Each rebuild uses four times as many rows as the one before: if K must be rebuilt, the sample was too small. With
    all rows the next step is Newton's.
    """

    def __init__(self, objective: LocalObjective) -> None:
        self._objective = objective
        self.curvature = 0.0
        """The μ that K was made for."""
        self._every = max(1, objective.rows // (_SAMPLE * objective.features))
        self.inverse: Square = np.empty((0, 0))
        """The upper triangle of K, by columns."""
        self.cost = self._price()
        """What `rebuild` costs, in gradients."""
        self.factorisations = 0
        """Cholesky factorisations since the beginning."""

    @property
    def size(self) -> int:
        """Numbers that `leave` writes."""
        return 4 + self._objective.features**2

    def leave(self, desk: Vector) -> None:
        """Write everything down for another of the same objective."""
        desk[:4] = self.curvature, self._every, self.cost, self.factorisations
        desk[4:].reshape(self.inverse.shape, order="F")[...] = self.inverse

    def follow(self, desk: Vector) -> None:
        """Be as the one that has left this."""
        features = self._objective.features
        self.curvature, every, self.cost, factorisations = desk[:4].tolist()
        self._every, self.factorisations = int(every), int(factorisations)
        self.inverse = desk[4:].reshape((features, features), order="F").copy(order="F")

    def _price(self) -> float:
        # Flops of a rebuild against entries read by a gradient, with the measured cost of calling either; one entry
        # of a sparse matrix takes as long as six of a dense one.
        d = self._objective.features
        flops = (self._objective.rows / self._every + d) * d * d
        entries = self._objective.stored * (6 if self._objective.sparse else 1)
        return (flops + 4e5) / (6.4 * (entries + 3e4))

    def rebuild(self, theta: Vector, curvature: float) -> None:
        """Forget what was learned and start from the Hessian at `theta`."""
        hessian = self._objective.loss_hessian(theta, self._every)
        hessian.flat[:: self._objective.features + 1] += max(curvature, _FAINT * self._objective.smoothness)
        self.inverse = self._invert(hessian.T)
        self.curvature = curvature
        self._every = max(1, self._every // 4)
        self.cost = self._price()

    def rest(self) -> None:
        """Nothing is computed with K for a while."""

    def shift(self, curvature: float) -> bool:
        """Keep what was learned but change μ; False if that is impossible."""
        if abs(curvature - self.curvature) <= NEAR * curvature:
            return True
        try:
            forward = self._invert(self.inverse)
            forward.flat[:: self._objective.features + 1] += curvature - self.curvature
            self.inverse = self._invert(forward)
        except np.linalg.LinAlgError:
            return False
        self.curvature = curvature
        return True

    def apply(self, gradient: Vector) -> Vector:
        """K times `gradient`."""
        product: Vector = scipy.linalg.blas.dsymv(1.0, self.inverse, gradient)
        return product

    def learn(self, step: Vector, change: Vector, product: float) -> None:
        """Let K map `change` to `step`; `product` is their scalar product, which must be positive."""
        # K + (1 + yᵀKy/sᵀy) ssᵀ/sᵀy − (Ky sᵀ + s yᵀK)/sᵀy is one symmetric update, −(s wᵀ + w sᵀ)/sᵀy.
        w = scipy.linalg.blas.dsymv(1.0, self.inverse, change)
        w -= (0.5 + float(w.dot(change)) / (2.0 * product)) * step
        self.inverse = scipy.linalg.blas.dsyr2(-1.0 / product, step, w, a=self.inverse, overwrite_a=True)

    def _invert(self, matrix: Square) -> Square:
        """The inverse of a positive definite matrix, upper triangles only; `matrix` is overwritten."""
        self.factorisations += 1
        factor, failed = scipy.linalg.lapack.dpotrf(matrix, clean=0, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError("not positive definite")
        inverse: Square = scipy.linalg.lapack.dpotri(factor, overwrite_c=1)[0]
        return inverse


class FullBfgs(TriangleBfgs):
    """All of K, updated in place.

    What nobody computes with is kept as one triangle, which is K to the last bit: of a crowd, K takes half of what
    there is beside the rows.
    """

    def __init__(self, objective: LocalObjective) -> None:
        self._whole: Square | None = None
        self._triangle: Vector = np.empty(0)
        super().__init__(objective)

    @property
    def inverse(self) -> Square:
        """K, whole from here on until it rests."""
        if self._whole is None:
            self._whole = self._triangle[triangle_places(self._objective.features)[1]]
        return self._whole

    @inverse.setter
    def inverse(self, inverse: Square) -> None:
        self._whole = inverse

    @property
    def triangle(self) -> Vector:
        """The upper triangle of K, row by row."""
        if self._whole is None:
            return self._triangle
        return self._whole.ravel()[triangle_places(len(self._whole))[0]]

    def rest(self, triangle: Vector | None = None) -> None:
        """Keep one triangle of K: this one, or that of what K is now."""
        self._triangle = self.triangle if triangle is None else triangle
        self._whole = None

    def apply(self, gradient: Vector) -> Vector:
        product: Vector = self.inverse.dot(gradient)
        return product

    def learn(self, step: Vector, change: Vector, product: float) -> None:
        update(self.inverse, step, change, np.array(product), np.empty((2, *self.inverse.shape)))

    def _invert(self, matrix: Square) -> Square:
        lower = super()._invert(matrix).T
        return np.ascontiguousarray(np.where(_above(len(lower)), lower.T, lower))


Places: TypeAlias = npt.NDArray[np.intp]


@cache
def triangle_places(features: int) -> tuple[Places, Places]:
    """Where a matrix has the entries of its upper triangle, row by row; where that has the entries of the matrix."""
    of_triangle = np.flatnonzero(_above(features))
    number = np.zeros((features, features), np.intp)
    number.flat[of_triangle] = np.arange(len(of_triangle))
    return of_triangle, np.maximum(number, number.T)


@cache
def _above(features: int) -> npt.NDArray[np.bool_]:
    """Which entries of a square matrix are on the diagonal or above."""
    return np.triu(np.ones((features, features), np.bool_))


def update(inverse: Stack, step: Stack, change: Stack, product: Stack, space: Stack) -> None:
    """Let K, or each K of a stack, map `change` to `step`, as `TriangleBfgs.learn` does; `space` is for two like K.

    A matrix of a stack goes through the same operations as one alone, and K stays symmetric to the last bit.
    """
    w = np.matmul(inverse, change[..., None])[..., 0]
    w -= (0.5 + np.vecdot(w, change) / (2.0 * product))[..., None] * step
    outer = np.einsum("...i,...j->...ij", step / product[..., None], w, out=space[0])  # a third faster than `multiply`
    inverse -= np.add(outer, outer.swapaxes(-1, -2), out=space[1])


class LimitedBfgs:
    """K as a multiple of the identity and the last pairs (s, y): L-BFGS, Liu and Nocedal (1989)."""

    def __init__(self, objective: Objective) -> None:
        assert objective.smoothness is not None, "a solver has asked for it"
        self._smoothness = objective.smoothness
        self._curvature = 0.0
        self._pairs: deque[tuple[Vector, Vector, float]] = deque(maxlen=_MEMORY)
        self.cost = math.inf  # it forgets by itself
        self.factorisations = 0
        self.size = 2 + _MEMORY * (2 * objective.features + 1)

    def rebuild(self, theta: Vector, curvature: float) -> None:
        self._curvature = curvature
        self._pairs.clear()

    def rest(self) -> None:
        return

    def leave(self, desk: Vector) -> None:
        desk[:2] = self._curvature, len(self._pairs)
        for place, row in zip(self._pairs, desk[2:].reshape(_MEMORY, -1), strict=False):
            row[:] = np.concatenate([*place[:2], [place[2]]])

    def follow(self, desk: Vector) -> None:
        self._curvature, pairs = float(desk[0]), int(desk[1])
        self._pairs.clear()
        for row in desk[2:].reshape(_MEMORY, -1)[:pairs].copy():
            step, change = row[:-1].reshape(2, -1)
            self._pairs.append((step, change, float(row[-1])))

    def shift(self, curvature: float) -> bool:
        delta = curvature - self._curvature
        if delta:
            moved = [(step, change + delta * step) for step, change, _ in self._pairs]
            self._pairs = deque(((s, y, float(s.dot(y))) for s, y in moved), maxlen=_MEMORY)
            self._curvature = curvature
        return True

    def apply(self, gradient: Vector) -> Vector:
        if not self._pairs:
            return gradient / (self._curvature + self._smoothness)
        result = gradient.copy()
        shares = []
        for step, change, product in reversed(self._pairs):
            share = step.dot(result) / product
            result -= share * change
            shares.append(share)
        result *= self._pairs[-1][2] / self._pairs[-1][1].dot(self._pairs[-1][1])
        for step, change, product in self._pairs:
            result += (shares.pop() - change.dot(result) / product) * step
        return result

    def learn(self, step: Vector, change: Vector, product: float) -> None:
        self._pairs.append((step, change, product))
