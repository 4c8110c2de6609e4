"""Formats of numbers: LIBSVM text, NPZ and MATLAB 5, each from a path to a matrix and the labels as they stand.

What a reader refuses, it refuses with one sentence that names the file and, where it is known, the line and the column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from simnet.allowance import Allowance
from simnet.errors import DataError
from simnet.learning.archives import archived_arrays, matlab_arrays
from simnet.learning.dataset import Matrix
from simnet.learning.text_lines import text_lines

# Numbers as float64, or strings.
Labels = npt.NDArray[Any]

Row = tuple[int, list[str]]
"""The number of a line, and what stands in it."""

_MATRIX_NAMES = ("X", "x", "data")
_LABEL_NAMES = ("y", "t", "labels", "target")
_LARGEST_INDEX = int(np.iinfo(np.int32).max)
_BLOCK = 4096
COPIES = 2
"""How often an array is there while it is read."""
_LONGEST = 40
"""Characters of a cell that an error shows."""


def libsvm(path: Path, features: int | None = None) -> tuple[Matrix, Labels]:
    """Lines of `label index:value index:value …`; indices start at 1 and ascend, and what is not there is 0.

    The file does not say how many columns there are; `features` does, when the last ones may be empty.
    """
    allowance = allowance_of(path)
    labels, values, columns = [np.empty(0)], [np.empty(0)], [np.empty(0, np.int32)]
    ends = [np.zeros(1, np.int64)]
    with text_lines(path, allowance) as text:
        for block in blocks_of(_entries(text)):
            known = len(labels) > 1
            found = _LibsvmBlock(path, block, quote=known)
            labels.append(found.labels)
            values.append(found.values)
            columns.append(found.columns)
            ends.append(ends[-1][-1] + found.ends)
            allowance.need(COPIES * 12 * ends[-1][-1], "its matrix")
    y, data, indices = np.concatenate(labels), np.concatenate(values), np.concatenate(columns)
    width = int(indices.max(initial=-1)) + 1
    allowance.need(8 * width, f"a model of {width:,} features")
    if features is not None and features < width:
        raise DataError(f"{path}: column {width} is used, so it cannot have {features} features")
    shape = (len(y), width if features is None else features)
    return scipy.sparse.csr_array((data, indices, np.concatenate(ends)), shape=shape), y


def _entries(text: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """The words of each line that has some, with its number."""
    for number, line in enumerate(text, start=1):
        if words := line.partition("#")[0].split():
            yield number, words


class _LibsvmBlock:
    """Some lines of LIBSVM text as numbers; `quote` says whether errors may show what stands there."""

    def __init__(self, path: Path, rows: list[tuple[int, list[str]]], *, quote: bool) -> None:
        self._path, self._rows, self._quote = path, rows, quote
        pairs = [entry.partition(":") for _, words in rows for entry in words[1:]]
        self._indices, self._values = [index for index, _, _ in pairs], [value for _, _, value in pairs]
        self.ends = np.cumsum([len(words) - 1 for _, words in rows])
        self.labels = numbers([words[0] for _, words in rows], self._label, quote=quote)
        self.values = numbers(self._values, self._place, quote=quote)
        columns = numbers(self._indices, self._place, quote=quote)
        wrong = (columns < 1) | (columns > _LARGEST_INDEX) | (columns % 1 != 0)
        if np.any(wrong):
            raise DataError(f"{self._place(int(np.argmax(wrong)))}: indices are whole numbers from 1 upwards")
        behind = np.diff(columns, prepend=0.0) <= 0
        starts = self.ends - np.diff(self.ends, prepend=0)
        behind[starts[starts < self.ends]] = False
        if np.any(behind):
            raise DataError(f"{self._place(int(np.argmax(behind)))}: the indices of a line ascend")
        self.columns = columns.astype(np.int32) - np.int32(1)

    def _label(self, row: int) -> str:
        return f"{self._path}, line {self._rows[row][0]}, label"

    def _place(self, entry: int) -> str:
        row = int(np.searchsorted(self.ends, entry, side="right"))
        before = int(self.ends[row - 1]) if row else 0
        told = f"{self._indices[entry]}:{self._values[entry]}" if self._quote else f"{entry - before + 1}"
        return f"{self._path}, line {self._rows[row][0]}, entry {told}"


def blocks_of(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Rows, many at a time; the first one alone, by which the file is known to be data, or not."""
    if first := list(islice(rows, 1)):
        yield first
    while block := list(islice(rows, _BLOCK)):
        yield block


def npz(path: Path) -> tuple[Matrix, Labels]:
    """The arrays X and y of a NumPy archive."""
    allowance = allowance_of(path)
    with _foreign(path):
        arrays = archived_arrays(path, (*_MATRIX_NAMES, *_LABEL_NAMES), allowance)
    return _matrix_and_labels(path, arrays, allowance)


def mat(path: Path) -> tuple[Matrix, Labels]:
    """The matrix X, x or data and the vector y, t, labels or target of a MATLAB file up to version 7."""
    allowance = allowance_of(path)
    with _foreign(path):
        arrays = matlab_arrays(path, (*_MATRIX_NAMES, *_LABEL_NAMES), allowance)
    return _matrix_and_labels(path, arrays, allowance)


def allowance_of(path: Path) -> Allowance:
    """What reading a file may take; errors name the file."""
    return Allowance(lambda sentence: DataError(f"{path}: {sentence}"))


def _matrix_and_labels(path: Path, arrays: Mapping[str, Any], allowance: Allowance) -> tuple[Matrix, Labels]:
    matrix = next((arrays[name] for name in _MATRIX_NAMES if name in arrays), None)
    labels = next((arrays[name] for name in _LABEL_NAMES if name in arrays), None)
    if matrix is None or labels is None:
        raise DataError(
            f"{path}: a matrix called {' or '.join(_MATRIX_NAMES)} and labels called {' or '.join(_LABEL_NAMES)} "
            "are needed"
        )
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(f"{path}: the features are not a two-dimensional array of numbers")
    if labels.dtype.kind not in "biufU" or labels.shape not in {(n := matrix.shape[0],), (n, 1), (1, n)}:
        raise DataError(f"{path}: {matrix.shape[0]} rows need as many labels, not {labels.shape} of {labels.dtype}")
    sparse = scipy.sparse.issparse(matrix)
    allowance.need(COPIES * 8 * (sum(matrix.shape) if sparse else matrix.size), "its matrix")
    X: Matrix = scipy.sparse.csr_array(matrix.astype(np.float64)) if sparse else matrix.astype(np.float64)
    if not np.all(np.isfinite(X.data if isinstance(X, scipy.sparse.csr_array) else X)):
        entries = scipy.sparse.coo_array(X)
        k = int(np.argmin(np.isfinite(entries.data)))
        row, column = int(entries.row[k]) + 1, int(entries.col[k]) + 1
        raise DataError(f"{path}, row {row}, column {column}: {entries.data[k]} is not a finite number")
    flat = np.asarray(labels).ravel()
    return X, flat if flat.dtype.kind == "U" else flat.astype(np.float64)


def numbers(cells: list[str], place: Callable[[int], str], *, quote: bool) -> npt.NDArray[np.float64]:
    """The cells as finite numbers, or an error at the place of the first that is none.

    A file that is no data may be somebody's secret: without `quote` the error does not show what stands there.
    """
    try:
        found = np.array(cells, dtype=np.float64)
    except ValueError:
        k = next(k for k, cell in enumerate(cells) if number(cell) is None)
        raise DataError(f"{place(k)}: {f'{cells[k][:_LONGEST]!r} is ' if quote else ''}not a number") from None
    if not np.all(np.isfinite(found)):
        k = int(np.argmin(np.isfinite(found)))
        raise DataError(f"{place(k)}: {f'{cells[k][:_LONGEST]!r} is ' if quote else ''}not a finite number")
    return found


def number(cell: str) -> float | None:
    """What a cell says, if that is a number."""
    try:
        return float(cell)
    except ValueError:
        return None


@contextmanager
def _foreign(path: Path) -> Iterator[None]:
    """Binary formats are parsed by numpy and scipy, which raise almost anything on a damaged file."""
    if not path.is_file():
        raise DataError(f"there is no data file {path}")
    try:
        yield
    except DataError:
        raise
    except NotImplementedError:
        raise DataError(f"{path}: MATLAB 7.3 files are not read; save it with -v7") from None
    except Exception as problem:
        raise DataError(f"{path}: the file is damaged or of another format ({problem})") from None
