"""A data set: rows of features with labels −1 and +1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

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


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features, one row per sample, with a label of −1 or +1 for each."""

    name: str
    X: Matrix
    y: Vector

    def __post_init__(self) -> None:
        if self.y.shape != (self.X.shape[0],):
            raise DataError(f"{self.name}: {self.X.shape[0]} rows need as many labels, not {self.y.shape}")
        if not np.all(np.abs(self.y) == 1.0):
            raise DataError(f"{self.name}: labels must be -1 or +1")

    @property
    def rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def features(self) -> int:
        return int(self.X.shape[1])

    def take(self, indices: npt.NDArray[np.intp]) -> Dataset:
        """The rows at `indices`, in that order."""
        return Dataset(self.name, self.X[indices], self.y[indices])


def compact(X: Matrix) -> Matrix:
    """The same matrix in the form, dense or CSR, whose products are faster at its density."""
    nonzero = X.count_nonzero() if isinstance(X, scipy.sparse.csr_array) else np.count_nonzero(X)
    sparse = nonzero < BREAK_EVEN_DENSITY * X.shape[0] * X.shape[1]
    if isinstance(X, scipy.sparse.csr_array):
        return X if sparse else X.toarray()
    return scipy.sparse.csr_array(X) if sparse else X


def split(dataset: Dataset, train: int | float, rng: np.random.Generator) -> tuple[Dataset, Dataset]:
    """A random training set of `train` rows, or of that share of the rows if it is a fraction, and the rest."""
    if isinstance(train, float) and not 0.0 < train < 1.0:
        raise DataError(f"{dataset.name}: a training share of {train} must lie between 0 and 1")
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
    return Dataset(parts[0].name, X, np.concatenate([part.y for part in parts]))
