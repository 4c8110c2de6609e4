"""The features that columns of numbers and of categories become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from simnet.allowance import Allowance
from simnet.learning.dataset import BREAK_EVEN_DENSITY, Matrix
from simnet.vectors import Vector

BLANK = -1
"""The code of a blank in a column of categories."""
_COPIES, _ENTRY = 2, 12
"""How often a sparse matrix is there while it is made, and the bytes of an entry."""

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Numbers; a blank is not a number (NaN)."""

    values: Vector

    def blank(self) -> npt.NDArray[np.bool_]:
        """Which cells are blank."""
        return np.isnan(self.values)


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """For each row the index of its category, or `BLANK`."""

    codes: Codes
    categories: int

    def blank(self) -> npt.NDArray[np.bool_]:
        """Which cells are blank."""
        return np.equal(self.codes, BLANK)


def features(columns: Sequence[NumberColumn | CategoryColumn], *, mean: bool, allowance: Allowance) -> Matrix:
    """One feature for a column of numbers, one for each category, and one for the blanks of a column that has some.

    With `mean` a blank number is the mean of its column; else it is 0, and a feature says that it is blank.
    """
    rows = len(columns[0].blank())
    allowance.need(_COPIES * _ENTRY * 2 * rows * len(columns), "its matrix")
    indices, entries, width = [], [], 0
    for column in columns:
        blank = column.blank()
        if isinstance(column, CategoryColumn):
            indices.append(width + np.where(blank, column.categories, column.codes))
            entries.append(np.ones(rows))
            width += column.categories + bool(blank.any())
            continue
        filler = column.values[~blank].mean() if mean and not blank.all() else 0.0
        indices.append(np.full(rows, width))
        entries.append(np.where(blank, filler, column.values))
        width += 1
        if blank.any() and not mean:
            indices.append(np.full(rows, width))
            entries.append(blank.astype(np.float64))
            width += 1
    if len(entries) > BREAK_EVEN_DENSITY * width:
        allowance.need(_COPIES * 8 * rows * width, "its matrix")
    shape, starts = (rows, width), np.arange(0, rows * len(entries) + 1, len(entries))
    found = scipy.sparse.csr_array((np.stack(entries, 1).ravel(), np.stack(indices, 1).ravel(), starts), shape=shape)
    found.eliminate_zeros()
    return found
