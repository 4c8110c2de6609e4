"""The file formats: LIBSVM text, CSV, NPZ and MATLAB 5, each from a path to a matrix and the labels as they stand.

What a reader refuses, it refuses with one sentence that names the file and, where it is known, the line and the column.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt
import scipy

from simnet.errors import DataError
from simnet.learning.dataset import Matrix

# Numbers as float64, or strings.
Labels = npt.NDArray[Any]

OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".bz2": bz2.open, ".gz": gzip.open}
_MATRIX_NAMES = ("X", "x", "data")
_LABEL_NAMES = ("y", "t", "labels", "target")
_LARGEST_INDEX = int(np.iinfo(np.int32).max)
_BLOCK = 4096


def libsvm(path: Path, features: int | None = None) -> tuple[Matrix, Labels]:
    """Lines of `label index:value index:value …`; indices start at 1 and ascend, and what is not there is 0.

    The file does not say how many columns there are; `features` does, when the last ones may be empty.
    """
    lines: list[int] = []
    labels: list[str] = []
    indices: list[str] = []
    values: list[str] = []
    ends = [0]
    with _text(path) as text:
        for number, line in enumerate(text, start=1):
            label, *entries = line.partition("#")[0].split() or [""]
            if not label:
                continue
            lines.append(number)
            labels.append(label)
            for entry in entries:
                index, _, value = entry.partition(":")
                indices.append(index)
                values.append(value)
            ends.append(len(indices))
    indptr = np.array(ends)

    def place(entry: int) -> str:
        line = lines[int(np.searchsorted(indptr, entry, side="right")) - 1]
        return f"{path}, line {line}, entry {indices[entry]}:{values[entry]}"

    y = _numbers(labels, lambda row: f"{path}, line {lines[row]}, label")
    data = _numbers(values, place)
    columns = _numbers(indices, place)
    wrong = (columns < 1) | (columns > _LARGEST_INDEX) | (columns % 1 != 0)
    if np.any(wrong):
        raise DataError(f"{place(int(np.argmax(wrong)))}: indices are whole numbers from 1 upwards")
    behind = np.diff(columns, prepend=0.0) <= 0
    behind[indptr[:-1][np.diff(indptr) > 0]] = False
    if np.any(behind):
        raise DataError(f"{place(int(np.argmax(behind)))}: the indices of a line ascend")
    width = int(columns.max(initial=0.0))
    if features is not None and features < width:
        raise DataError(f"{path}: column {width} is used, so it cannot have {features} features")
    shape = (len(y), width if features is None else features)
    return scipy.sparse.csr_array((data, columns.astype(np.int32) - 1, indptr), shape=shape), y


def comma_separated(path: Path, label: str | int) -> tuple[Matrix, Labels]:
    """Rows of numbers; the label column, found by name or counted from 0, may hold words.

    A first line without a single number is the header.
    """
    with _text(path) as text:
        rows = _table(path, text)
        line, first = next(rows, (0, []))
        header = None if any(number(cell) is not None for cell in first) else [cell.strip() for cell in first]
        at = _label_column(path, header, len(first), label)
        names = [str(k + 1) for k in range(len(first))] if header is None else [repr(name) for name in header]
        names.pop(at)
        if header is None:
            rows = chain([(line, first)], rows)
        blocks = [np.empty((0, len(names)))]
        labels: list[str] = []
        while block := list(islice(rows, _BLOCK)):
            labels.extend(cells.pop(at).strip() for _, cells in block)
            blocks.append(_block(path, names, block))
    return np.concatenate(blocks), _numbers_or_words(labels)


def npz(path: Path) -> tuple[Matrix, Labels]:
    """The arrays X and y of a NumPy archive."""
    with _foreign(path), np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return _matrix_and_labels(path, arrays)


def mat(path: Path) -> tuple[Matrix, Labels]:
    """The matrix X, x or data and the vector y, t, labels or target of a MATLAB file up to version 7."""
    from scipy.io import loadmat  # takes a tenth of a second, which no other format need wait for

    with _foreign(path):
        arrays = loadmat(path, appendmat=False, variable_names=[*_MATRIX_NAMES, *_LABEL_NAMES])
    return _matrix_and_labels(path, arrays)


def _matrix_and_labels(path: Path, arrays: Mapping[str, Any]) -> tuple[Matrix, Labels]:
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
    numbers = matrix.astype(np.float64)
    X: Matrix = numbers if isinstance(numbers, np.ndarray) else scipy.sparse.csr_array(numbers)
    if not np.all(np.isfinite(X.data if isinstance(X, scipy.sparse.csr_array) else X)):
        entries = scipy.sparse.coo_array(X)
        k = int(np.argmin(np.isfinite(entries.data)))
        row, column = int(entries.row[k]) + 1, int(entries.col[k]) + 1
        raise DataError(f"{path}, row {row}, column {column}: {entries.data[k]} is not a finite number")
    flat = np.asarray(labels).ravel()
    return X, flat if flat.dtype.kind == "U" else flat.astype(np.float64)


def _table(path: Path, text: TextIO) -> Iterator[tuple[int, list[str]]]:
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


def _block(path: Path, names: list[str], rows: list[tuple[int, list[str]]]) -> npt.NDArray[np.float64]:
    width = len(names)
    numbers = _numbers(
        [cell for _, cells in rows for cell in cells],
        lambda k: f"{path}, line {rows[k // width][0]}, column {names[k % width]}",
    )
    return numbers.reshape(len(rows), width)


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


def _numbers(cells: list[str], place: Callable[[int], str]) -> npt.NDArray[np.float64]:
    """The cells as finite numbers, or an error at the place of the first that is none."""
    try:
        numbers = np.array(cells, dtype=np.float64)
    except ValueError:
        k = next(k for k, cell in enumerate(cells) if number(cell) is None)
        raise DataError(f"{place(k)}: {cells[k]!r} is not a number") from None
    if not np.all(np.isfinite(numbers)):
        k = int(np.argmin(np.isfinite(numbers)))
        raise DataError(f"{place(k)}: {cells[k]!r} is not a finite number")
    return numbers


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
def _text(path: Path) -> Iterator[TextIO]:
    """A text file, compressed or not; what goes wrong while it is read becomes one sentence."""
    opener = OPENERS.get(path.suffix.lower(), open)
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as text:
            yield text
    except FileNotFoundError:
        raise DataError(f"there is no data file {path}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: this is not text in UTF-8") from None
    except (OSError, EOFError, lzma.LZMAError, zlib.error, csv.Error) as problem:
        raise DataError(f"{path}: the file cannot be read ({problem})") from None


@contextmanager
def _foreign(path: Path) -> Iterator[None]:
    """Binary formats are parsed by numpy and scipy, which raise almost anything on a damaged file."""
    if not path.is_file():
        raise DataError(f"there is no data file {path}")
    try:
        yield
    except NotImplementedError:
        raise DataError(f"{path}: MATLAB 7.3 files are not read; save it with -v7") from None
    except Exception as problem:
        raise DataError(f"{path}: the file is damaged or of another format ({problem})") from None
