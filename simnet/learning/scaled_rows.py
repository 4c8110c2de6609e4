"""Second moments of rows, and rows whose columns are scaled: what float64 makes of them keeps its bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from simnet.learning.dataset import UNIT_ROUNDOFF, Dataset, Matrix, divide_rows, peaks_of
from simnet.learning.objective import LocalObjective
from simnet.vectors import Vector


def squares(X: Matrix) -> Matrix:
    """x∘x of each row."""
    return X * X if isinstance(X, np.ndarray) else scipy.sparse.csr_array(X.multiply(X))


def lengths(X: Matrix) -> Vector:
    """The norm of each row; 1 in place of 0."""
    found: Vector = np.sqrt(np.asarray(squares(X).sum(axis=1), dtype=np.float64)).ravel()
    return np.where(found > 0.0, found, 1.0)


def moments(rows: Dataset, norm: float) -> Vector:
    """The mean of x∘x, each row's shortened to `norm`: of what float64 makes of it no vector is longer."""
    u = squares(rows.X)
    margin = 1.0 + 2.0 * (rows.features + 16) * UNIT_ROUNDOFF
    shares = np.minimum(1.0, norm / (lengths(u) * margin)) / rows.rows
    found: Vector = np.asarray(u.T @ shares, dtype=np.float64).ravel()
    return found


def scaled_rows(rows: Dataset, factors: Vector) -> Dataset:
    """Sx/|Sx| of each row; a row of zeros stays one."""
    margin = 1.0 + 2.0 * (rows.features + 16) * UNIT_ROUNDOFF
    if isinstance(rows.X, np.ndarray):
        stretched: Matrix = rows.X * factors
    else:
        data, indices, indptr = rows.X.data * factors[rows.X.indices], rows.X.indices, rows.X.indptr
        stretched = scipy.sparse.csr_array((data, indices, indptr), shape=rows.X.shape)
    # Squares of entries of 1e-162 have no digits left, so a power of two first makes the largest at least a half.
    _, exponents = np.frexp(peaks_of(stretched, axis=1))
    stretched = divide_rows(stretched, np.ldexp(1.0, exponents))
    return replace(rows, X=divide_rows(stretched, lengths(stretched) * margin))


class ScaledObjective(LocalObjective):
    """The objective of another one's rows with scaled columns."""

    def __init__(self, base: LocalObjective, factors: Vector) -> None:
        rows = scaled_rows(base.dataset(""), factors)
        super().__init__(rows.X, rows.y, base.loss, base.regulariser, base.weight)
        self.made_of = (base, factors)
        """What a checkpoint makes it anew of."""
