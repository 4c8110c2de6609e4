"""A data set, rows of features with labels, and its scaling to rows of norm at most 1.

Every sensitivity bound assumes that norm. Columns are divided by their largest absolute value, then rows longer than 1
are shortened to 1; `data.scale` leaves out either, and without the second no ε of a row is proven. Column maxima are
treated as public, as the papers treat them: no privacy is charged for them.
Scaling twice is not the same as scaling once: the second time the columns of shortened rows would be stretched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import scipy  # imports its parts when they are first used, and a wrong scenario is refused before

from simnet.errors import DataError
from simnet.vectors import Vector

Matrix: TypeAlias = "Vector | scipy.sparse.csr_array[np.float64, tuple[int, int]]"

# The density at which X @ w plus X.T @ v costs the same in both forms, measured at 7000 × 105 on one core: dense 250 µs
# whatever the density; CSR 220, 249, 273, 320 µs at 10, 12, 16, 20 % (35 µs less when the caller keeps X.T). They cross
# between 13 and 17 %. Adult (11.6 %, and more regular than random) takes 200 µs sparse and 290 dense.
BREAK_EVEN_DENSITY = 0.15
_SMALL = 30_000  # entries; below, calling a CSR product costs more than a dense product in full
BLOCK = 2**16
"""Rows that are scaled at a time where they are many."""
UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2


LabelKind = Literal["sign", "class", "number"]
"""What labels are: −1 and +1, or classes 0, 1, 2, …, or any numbers."""
LABELS_ARE: dict[LabelKind, str] = {
    "sign": "-1 or +1",
    "class": "classes, counted from 0",
    "number": "finite numbers",
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features, one row per sample, with a label for each.

    The number of classes is public. Whoever makes a data set of all rows need not say it: it is the largest label + 1.
    """

    name: str
    X: Matrix
    y: Vector
    labels: LabelKind = "sign"
    classes: int = 0

    def __post_init__(self) -> None:
        if self.y.shape != (self.X.shape[0],):
            raise DataError(f"{self.name}: {self.X.shape[0]} rows need as many labels, not {self.y.shape}")
        if not self.classes:
            object.__setattr__(self, "classes", self._counted())
        if not np.all(self._fit()):
            raise DataError(f"{self.name}: labels must be {LABELS_ARE[self.labels]}")

    def _counted(self) -> int:
        if self.labels == "class":
            largest = float(self.y.max(initial=0.0))
            return 1 + int(largest) if 0.0 <= largest < len(self.y) + 2**16 else 1
        return 2 if self.labels == "sign" else 1

    def _fit(self) -> npt.NDArray[np.bool_]:
        """Which labels are of their kind."""
        if self.labels == "sign":
            return np.equal(np.abs(self.y), 1.0)
        if self.labels == "number":
            return np.isfinite(self.y)
        return np.isin(self.y, np.arange(self.classes))

    @property
    def rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def features(self) -> int:
        return int(self.X.shape[1])

    def take(self, indices: npt.NDArray[np.intp]) -> Dataset:
        """The rows at `indices`, in that order."""
        return replace(self, X=self.X[indices], y=self.y[indices])

    @cached_property
    def folded(self) -> Matrix:
        """diag(y) X, whose products with a linear classifier are margins."""
        return fold_labels(self.X, self.y)

    def labelled(self, kind: LabelKind) -> Dataset:
        """The same rows with labels of another kind: signs are classes 0 and 1, and they are numbers."""
        if kind == self.labels:
            return self
        if self.labels != "sign":
            raise DataError(f"its labels are {LABELS_ARE[self.labels]}, and {LABELS_ARE[kind]} are needed")
        return Dataset(self.name, self.X, np.maximum(self.y, 0.0) if kind == "class" else self.y, kind)

    def other_label(self, label: float) -> float:
        """A label that a row with this one could have had instead: the next class, or the opposite."""
        return (label + 1.0) % self.classes if self.labels == "class" else -label


def row_bytes(dataset: Dataset) -> tuple[bytes, ...]:
    """All rows and labels as bytes: other rows, other bytes."""
    X = dataset.X
    arrays = (X.data, X.indices, X.indptr) if isinstance(X, scipy.sparse.csr_array) else (X,)
    return tuple(np.ascontiguousarray(array).tobytes() for array in (*arrays, dataset.y))


def compact(X: Matrix) -> Matrix:
    """The same matrix in the form, dense or CSR, whose products are faster at its density."""
    nonzero = X.count_nonzero() if isinstance(X, scipy.sparse.csr_array) else np.count_nonzero(X)
    sparse = nonzero < BREAK_EVEN_DENSITY * X.shape[0] * X.shape[1]
    if isinstance(X, scipy.sparse.csr_array):
        return X if sparse else X.toarray()
    return scipy.sparse.csr_array(X) if sparse else X


def fold_labels(X: Matrix, y: Vector) -> Matrix:
    """diag(y) X in the layout whose products are fastest: CSR, or dense by columns."""
    small = X.shape[0] * X.shape[1] <= _SMALL
    X = (X.toarray() if isinstance(X, scipy.sparse.csr_array) else X) if small else compact(X)
    if isinstance(X, scipy.sparse.csr_array):
        signs = np.repeat(y, np.diff(X.indptr))
        return scipy.sparse.csr_array((X.data * signs, X.indices, X.indptr), shape=X.shape)
    return np.asfortranarray(X * y[:, None], dtype=np.float64)


def split(dataset: Dataset, train: int | float, rng: np.random.Generator) -> tuple[Dataset, Dataset]:
    """A random training set of `train` rows, or of that share of the rows if it is a fraction, and the rest."""
    size = round(train * dataset.rows) if isinstance(train, float) else train
    if not 1 <= size < dataset.rows:
        raise DataError(
            f"{dataset.name}: {size} training rows of {dataset.rows} must be at least 1 and leave some for the test"
        )
    order = rng.permutation(dataset.rows)
    return dataset.take(order[:size]), dataset.take(order[size:])


def joined(parts: Sequence[Dataset]) -> Dataset:
    """The rows of all parts, under the name of the first; sparse if all are."""
    sparse = [part.X for part in parts if isinstance(part.X, scipy.sparse.csr_array)]
    X: Matrix
    if len(sparse) == len(parts):
        X = scipy.sparse.csr_array(scipy.sparse.vstack(sparse))
    else:
        X = np.vstack([part.X.toarray() if isinstance(part.X, scipy.sparse.csr_array) else part.X for part in parts])
    return replace(parts[0], X=X, y=np.concatenate([part.y for part in parts]))


def scale_columns(X: Matrix, like: Matrix) -> Matrix:
    """Divide each column by the largest absolute value of that column of `like`; leave it if that has only zeros."""
    peaks = peaks_of(like, axis=0)
    by = np.where(peaks > 0.0, peaks, 1.0)
    if isinstance(X, scipy.sparse.csr_array):
        # The stored entries of a CSR matrix, each divided by its column's peak.
        return scipy.sparse.csr_array((X.data / by[X.indices], X.indices, X.indptr), shape=X.shape)
    return X / by


def bound_rows(X: Matrix) -> Matrix:
    """Shorten rows to norm at most 1; leave shorter rows as they are.

    Sensitivity is proportional to the row norm, so "about 1" is not enough. A norm of d terms that is computed in
    float64, in any order of summation, is off by a factor within 1 ± (d + 8)u, u = 2⁻⁵³ (Higham, Accuracy and Stability
    of Numerical Algorithms, ch. 3, gives half of that). So a row is left alone up to 1 − (d + 8)u and is otherwise
    shortened to 1 − 2(d + 8)u: its true norm and every computed one are then at most 1, and a second pass changes
    nothing.
    """
    margin = (X.shape[1] + 8) * UNIT_ROUNDOFF
    # Dividing by the peak first keeps the squares of huge entries finite; a row with a peak above 1 is too long anyway.
    X = divide_rows(X, np.maximum(peaks_of(X, axis=1), 1.0))
    norms: Vector
    if isinstance(X, scipy.sparse.csr_array):
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64))
    else:
        norms = np.sqrt((X * X).sum(axis=1))
    return divide_rows(X, np.where(norms > 1.0 - margin, norms / (1.0 - 2.0 * margin), 1.0))


LONGEST_ROW = 1e9
"""How long a row may be that is not shortened: squares and products with models stay far from the limits of float64."""


def longest_row(X: Matrix) -> float:
    """A bound on the norm of every row: the largest entry times the root of how many a row has."""
    return math.sqrt(X.shape[1]) * float(peaks_of(X, axis=1).max(initial=0.0))


def scale(
    dataset: Dataset,
    *,
    bias: bool = False,
    like: Dataset | None = None,
    columns: bool = True,
    rows: bool = True,
    spare: bool = False,
) -> Dataset:
    """Scale the columns, append a bias column if asked, bound the rows, and store the result in the faster form.

    A test set in a file of its own is scaled `like` its unscaled training set: by that set's column peaks. A peak
    belongs to one row and changes all others; without `columns` no row depends on another one. Without `rows` a row
    may be of any length, and nobody may promise anything of its gradient. `spare` rows are nobody else's: where they
    are many, the result takes their place in memory.
    """
    if like is not None and like.features != dataset.features:
        raise DataError(
            f"{dataset.name}: {dataset.features} features cannot be prepared like {like.name} with {like.features}"
        )
    X = dataset.X
    if spare and not bias and like is None and isinstance(X, np.ndarray) and X.flags.c_contiguous and len(X) > BLOCK:
        _scale_in_place(X, columns=columns, rows=rows)
        return replace(dataset, X=compact(X))
    if columns:
        X = scale_columns(X, X if like is None else like.X)
    if bias:  # it counts in the row norm, so it comes before `bound_rows`
        ones = np.ones((dataset.rows, 1))
        if isinstance(X, scipy.sparse.csr_array):
            X = scipy.sparse.hstack([X, scipy.sparse.csr_array(ones)], format="csr")
        else:
            X = np.hstack([X, ones])
    return replace(dataset, X=compact(bound_rows(X) if rows else X))


def _scale_in_place(X: Vector, *, columns: bool, rows: bool) -> None:
    """The same, block by block: a row's result does not depend on the rows beside it."""
    blocks = [X[first : first + BLOCK] for first in range(0, len(X), BLOCK)]
    peaks = np.max([peaks_of(block, axis=0) for block in blocks], axis=0) if columns else np.ones(X.shape[1])
    for block in blocks:
        scaled: Matrix = scale_columns(block, peaks[np.newaxis]) if columns else block
        block[:] = cast("Vector", bound_rows(scaled) if rows else scaled)


def peaks_of(X: Matrix, axis: int) -> Vector:
    """The largest absolute value of each column (axis 0) or row (axis 1)."""
    if isinstance(X, scipy.sparse.csr_array):
        return np.asarray(abs(X).max(axis=axis).toarray(), dtype=np.float64).ravel()
    peaks: Vector = np.abs(X).max(axis=axis, initial=0.0)
    return peaks


def divide_rows(X: Matrix, by: Vector) -> Matrix:
    """Each row divided by a number of its own."""
    if isinstance(X, scipy.sparse.csr_array):
        return scipy.sparse.csr_array((X.data / np.repeat(by, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)
    return X / by[:, np.newaxis]
