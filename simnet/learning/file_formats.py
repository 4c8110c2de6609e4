"""The file formats: LIBSVM text, CSV, NPZ and MATLAB 5, each from a path to a matrix and the labels as they stand.

What a reader refuses, it refuses with one sentence that names the file and, where it is known, the line and the column.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
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
_COPIES = 2
"""How often an array is there while it is read."""
_LONGEST = 40
"""Characters of a cell that an error shows."""


def libsvm(path: Path, features: int | None = None) -> tuple[Matrix, Labels]:
    """Lines of `label index:value index:value …`; indices start at 1 and ascend, and what is not there is 0.

    The file does not say how many columns there are; `features` does, when the last ones may be empty.
    """
    allowance = _allowance(path)
    labels, values, columns = [np.empty(0)], [np.empty(0)], [np.empty(0, np.int32)]
    ends = [np.zeros(1, np.int64)]
    with text_lines(path, allowance) as text:
        for block in _blocks(_entries(text)):
            known = len(labels) > 1
            found = _LibsvmBlock(path, block, quote=known)
            labels.append(found.labels)
            values.append(found.values)
            columns.append(found.columns)
            ends.append(ends[-1][-1] + found.ends)
            allowance.need(_COPIES * 12 * ends[-1][-1], "its matrix")
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


def comma_separated(path: Path, label: str | int) -> tuple[Matrix, Labels]:
    """Rows of numbers; the label column, found by name or counted from 0, may hold words.

    A first line without a single number is the header.
    """
    allowance = _allowance(path)
    with text_lines(path, allowance) as text:
        rows = _table(path, text)
        line, first = next(rows, (0, []))
        header = None if any(number(cell) is not None for cell in first) else [cell.strip() for cell in first]
        at = _label_column(path, header, len(first), label)
        names = [str(k + 1) for k in range(len(first))] if header is None else [repr(name) for name in header]
        plain = [str(k + 1) for k in range(len(first))]
        for each in (names, plain):
            each.pop(at)
        if header is None:
            rows = chain([(line, first)], rows)
        blocks = [np.empty((0, len(names)))]
        labels: list[str] = []
        for block in _blocks(rows):
            known = len(blocks) > 1
            labels.extend(cells.pop(at).strip() for _, cells in block)
            blocks.append(_block(path, names if known else plain, block, quote=known))
            allowance.need(_COPIES * 8 * len(names) * len(labels), "its matrix")
    allowance.need(4 * len(labels) * max(map(len, labels), default=0), "its labels")
    return np.concatenate(blocks), _numbers_or_words(labels)


def _blocks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Rows, many at a time; the first one alone, by which the file is known to be data, or not."""
    if first := list(islice(rows, 1)):
        yield first
    while block := list(islice(rows, _BLOCK)):
        yield block


def npz(path: Path) -> tuple[Matrix, Labels]:
    """The arrays X and y of a NumPy archive."""
    allowance = _allowance(path)
    with _foreign(path):
        arrays = archived_arrays(path, (*_MATRIX_NAMES, *_LABEL_NAMES), allowance)
    return _matrix_and_labels(path, arrays, allowance)


def mat(path: Path) -> tuple[Matrix, Labels]:
    """The matrix X, x or data and the vector y, t, labels or target of a MATLAB file up to version 7."""
    allowance = _allowance(path)
    with _foreign(path):
        arrays = matlab_arrays(path, (*_MATRIX_NAMES, *_LABEL_NAMES), allowance)
    return _matrix_and_labels(path, arrays, allowance)


def _allowance(path: Path) -> Allowance:
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
    allowance.need(_COPIES * 8 * (sum(matrix.shape) if sparse else matrix.size), "its matrix")
    X: Matrix = scipy.sparse.csr_array(matrix.astype(np.float64)) if sparse else matrix.astype(np.float64)
    if not np.all(np.isfinite(X.data if isinstance(X, scipy.sparse.csr_array) else X)):
        entries = scipy.sparse.coo_array(X)
        k = int(np.argmin(np.isfinite(entries.data)))
        row, column = int(entries.row[k]) + 1, int(entries.col[k]) + 1
        raise DataError(f"{path}, row {row}, column {column}: {entries.data[k]} is not a finite number")
    flat = np.asarray(labels).ravel()
    return X, flat if flat.dtype.kind == "U" else flat.astype(np.float64)


def _table(path: Path, text: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, with their line numbers; all have as many cells as the first."""
    reader = csv.reader(text)
    width = 0
    for cells in reader:
        if not cells:
            continue
        width = width or len(cells)
        if len(cells) != width:
            raise DataError(f"{path}, line {reader.line_num}: {len(cells)} cells instead of {width}")
        yield reader.line_num, cells


def _block(path: Path, names: list[str], rows: list[Row], *, quote: bool) -> npt.NDArray[np.float64]:
    width = len(names)
    found = numbers(
        [cell for _, cells in rows for cell in cells],
        lambda k: f"{path}, line {rows[k // width][0]}, column {names[k % width]}",
        quote=quote,
    )
    return found.reshape(len(rows), width)


def _label_column(path: Path, header: list[str] | None, width: int, label: str | int) -> int:
    if width < 2:
        raise DataError(f"{path}: a label column and at least one column of features are needed")
    if isinstance(label, int):
        if -width <= label < width:
            return label % width
        raise DataError(f"{path}: there is no column {label} to take labels from; {width} are counted from 0")
    if header is None:
        raise DataError(f"{path}: without a header the label column is chosen by its number, not by {label!r}")
    if header.count(label) != 1:
        raise DataError(f"{path}: {header.count(label)} columns are called {label!r}, and labels come from one")
    return header.index(label)


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


def _numbers_or_words(cells: list[str]) -> Labels:
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array(cells, dtype=np.str_)


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
