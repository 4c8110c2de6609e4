"""Data files: where to look for them, and what they hold as a data set."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simnet.errors import DataError
from simnet.learning import file_formats
from simnet.learning.csv_tables import comma_separated
from simnet.learning.dataset import Dataset, LabelKind, Matrix, compact
from simnet.learning.prepared import Prepared
from simnet.learning.table_form import TableForm
from simnet.learning.text_lines import OPENERS

_TABLES = (".csv", ".tsv")
_MORE = (
    "; data.positive names one that counts as +1 and all others as −1, and data.labels = 'class' or 'number' is for a "
    "task that learns more"
)
_LIBSVM = ("", ".libsvm", ".svm", ".txt", ".t", ".tr", ".te", ".trn", ".tst", ".train", ".test", ".val")

# Where the data folder keeps a data set of a given name, and what the test file beside a training file is called.
_LAYOUT = ("{0}/{0}.xz", "{0}/{0}.trn.bz2", "raetsch/{0}.mat", "raetsch/{0}.csv.xz")
_TEST_SUFFIXES = {".trn.bz2": ".tst.bz2", ".xz": ".t.xz"}


def locate(path: str) -> Path:
    """The file at `path`: a relative path is looked up in the current folder, then in the folder $SIMNET_DATA."""
    wanted = Path(path).expanduser()
    for folder in (Path(), *_data_folder()):
        if (folder / wanted).is_file():
            return folder / wanted
    if wanted.is_absolute():
        raise DataError(f"there is no data file {path}")
    where = "in the current folder or in $SIMNET_DATA" if _data_folder() else "and SIMNET_DATA is not set"
    raise DataError(f"there is no data file {path} {where}")


def named(name: str) -> Path | None:
    """The file of a well-known data set, such as a9a, in the folder $SIMNET_DATA; None when it is not there."""
    candidates = [folder / place.format(name) for folder in _data_folder() for place in _LAYOUT]
    return next((path for path in candidates if path.is_file()), None)


def test_file(path: Path) -> Path | None:
    """The test file that comes with a training file: a9a.t.xz with a9a.xz, ijcnn1.tst.bz2 with ijcnn1.trn.bz2."""
    for train, test in _TEST_SUFFIXES.items():
        beside = path.with_name(path.name.removesuffix(train) + test)
        if path.name.endswith(train) and beside.is_file():
            return beside
    return None


def read(
    path: Path,
    *,
    form: TableForm | None = None,
    positive: object | None = None,
    features: int | None = None,
    labels: LabelKind = "sign",
    like: Path | None = None,
) -> Dataset:
    """The data set in a file, unscaled: LIBSVM text, CSV (both also compressed), NPZ or MATLAB, told apart by suffix.

    `form` says what the columns of a CSV file are (default: the last is the label). The label `positive` becomes +1,
    and all others −1 (default: the larger of two). `features` is the number of columns: LIBSVM text does not state it,
    and a test file may lack the last columns of its training file. With `labels = "class"` each value is a class, in
    the order of the values of the file itself, or of the training file that it is read `like`.

    The runs of a study share their data, and reading text takes longer than most of them: the last few files stay in
    memory, for as long as they do not change.
    """
    X, found, _ = _read(path, _stamp(path), form, features)
    name = path.name.partition(".")[0]
    if labels == "sign":
        return Dataset(name, X, _signs(path, found, positive))
    if positive is not None:
        raise DataError(f"{path}: only labels of two values have a positive one; leave {positive!r} out")
    if labels == "number":
        if found.dtype.kind == "U":
            raise DataError(f"{path}: labels must be numbers, not words such as {found[0]}")
        return Dataset(name, X, found, "number")
    values = np.unique(found if like is None else _read(like, _stamp(like), form, None)[1])
    places = np.minimum(np.searchsorted(values, found), len(values) - 1)
    if np.any(strange := values[places] != found):
        raise DataError(f"{path}: no training row has the label {found[int(np.argmax(strange))]}")
    return Dataset(name, X, places.astype(np.float64), "class", len(values))


def prepared(path: Path, form: TableForm | None = None) -> Prepared | None:
    """What became of the rows and columns of a CSV file; None for other files."""
    return _read(path, _stamp(path), form, None)[2] if _suffix(path) in _TABLES else None


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _suffix(path: Path) -> str:
    """What says the format of a file, whatever packs it."""
    suffixes = [suffix for suffix in map(str.lower, path.suffixes) if suffix not in OPENERS]
    return suffixes[-1] if suffixes else ""


@lru_cache(maxsize=4)
def _read(
    path: Path, stamp: tuple[int, int], form: TableForm | None, features: int | None
) -> tuple[Matrix, file_formats.Labels, Prepared | None]:
    suffix, done = _suffix(path), None
    if form is not None and suffix not in _TABLES:
        raise DataError(f"{path}: only a CSV file has columns to choose, so data.{form.said} is out of place")
    if suffix in _TABLES:
        table = comma_separated(path, form)
        X, labels, done = table.X, table.labels, table.prepared
    elif suffix == ".npz":
        X, labels = file_formats.npz(path)
    elif suffix == ".mat":
        X, labels = file_formats.mat(path)
    elif suffix in _LIBSVM:
        X, labels = file_formats.libsvm(path, features)
    else:
        raise DataError(f"{path}: a data file ends in .libsvm, .csv, .tsv, .npz or .mat, not in {suffix}")
    if done is not None and done.left_out == done.read > 0:
        raise DataError(f"{path}: each of the {done.read:,} rows has a blank; data.drop leaves a column out")
    if 0 in X.shape:
        raise DataError(f"{path}: {X.shape[0]} rows of {X.shape[1]} features are nothing to learn from")
    if features is not None and X.shape[1] != features:
        raise DataError(f"{path}: there are {X.shape[1]} features, not {features}")
    words = labels.dtype.kind == "U"
    absent = labels == "" if words else ~np.isfinite(labels)
    if np.any(absent):
        hint = "; data.unlabelled = 'drop' leaves out such rows" if done is not None and words else ""
        where = f"{path}, row {int(np.argmax(absent)) + 1}"
        raise DataError(f"{where}: there is no label, or it is not a finite number{hint}")
    return compact(X), labels, done


def _signs(path: Path, labels: file_formats.Labels, positive: object | None) -> npt.NDArray[np.float64]:
    values = np.unique(labels).tolist()
    shown = ", ".join(f"{value}" for value in values[:5]) + (", ..." if len(values) > 5 else "")
    if len(values) < 2 or (len(values) > 2 and positive is None):
        hint = _MORE if len(values) > 2 else ""
        raise DataError(f"{path}: labels must have exactly two values, not {len(values)} ({shown}){hint}")
    if positive is None:
        return np.where(labels == values[1], 1.0, -1.0)
    # A scenario may write the number 1 as "1", and a label read from text may be a word.
    same = [value for value in values if str(positive) == str(value) or file_formats.number(str(positive)) == value]
    if not same:
        raise DataError(f"{path}: no label is {positive}; they are {shown}")
    return np.where(labels == same[0], 1.0, -1.0)


def _data_folder() -> list[Path]:
    folder = os.environ.get("SIMNET_DATA")
    return [Path(folder).expanduser()] if folder else []
