"""Adult (Becker & Kohavi 1996): does a person earn more than 50,000 dollars per year? Or: how old is it?

The package ships the 45,222 complete rows of the UCI files, training rows first, in one small file: an xz stream that
holds the columns of `COLUMNS` and then the label, one after another, as little-endian unsigned integers. A second file
has the 3,620 rows with a missing value, whose code is the number of the column's categories.
`analysis/make_adult.py` builds both. The data are under CC BY 4.0: see data/LICENSE-adult.txt.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt
import scipy

from simnet.learning.dataset import Dataset
from simnet.vectors import Vector


@dataclass(frozen=True)
class Column:
    """A column of the UCI files: a number when `values` is empty, else an index into the list of categories."""

    name: str
    dtype: str
    values: tuple[str, ...] = ()


# In the order of adult.names, categories included, so that a column that no complete row uses (workclass=Never-worked)
# is still there: 6 numbers and 99 categories make 105 features. One entry per column: name, type, categories.
_TABLE = """
age u1
workclass u1 Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked
fnlwgt <u4
education u1 Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters
    1st-4th 10th Doctorate 5th-6th Preschool
education-num u1
marital-status u1 Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent
    Married-AF-spouse
occupation u1 Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners
    Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces
relationship u1 Wife Own-child Husband Not-in-family Other-relative Unmarried
race u1 White Asian-Pac-Islander Amer-Indian-Eskimo Other Black
sex u1 Female Male
capital-gain <u4
capital-loss <u2
hours-per-week u1
native-country u1 United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India
    Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland
    France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand
    Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands
"""
COLUMNS = tuple(
    Column(name, dtype, tuple(values)) for name, dtype, *values in map(str.split, re.split(r"\n(?=\S)", _TABLE.strip()))
)
LABELS = ("<=50K", ">50K")
MISSING = "?"
_FORTY_ONE = (
    *("age", "workclass", "education-num", "marital-status", "occupation", "relationship", "race", "sex"),
    *("capital-gain", "capital-loss", "hours-per-week"),
)


def adult() -> Dataset:
    """Adult, unscaled as every source is (see `dataset.scale`): 45,222 rows × 105 features, 24.78 % positive."""
    columns, labels = _unpack("adult.xz")
    return Dataset("adult", _one_hot(COLUMNS, columns), _signs(labels))


def adult_41() -> Dataset:
    """All 48,842 people, 41 features, unscaled: as near as we come to the data of PP/IPP-ADMM, 23.93 % positive.

    The paper prints these two numbers and no list of columns. Five numbers (not `fnlwgt`, which is a weight of the
    survey) and a column for each category but the first by the alphabet make 41; `education` is left out, because
    `education-num` says the same, and `native-country`, with which there would be 81. A missing value is no category.
    Complete rows come first.
    """
    (complete, signs), (incomplete, others) = _unpack("adult.xz"), _unpack("adult-incomplete.xz")
    columns = [np.concatenate(pair) for pair in zip(complete, incomplete, strict=True)]
    used = [place for place, column in enumerate(COLUMNS) if column.name in _FORTY_ONE]
    described = [COLUMNS[place] for place in used]
    X = _one_hot(described, [columns[place] for place in used], first=False)
    return Dataset("adult-41", X, _signs(np.concatenate([signs, others])))


def adult_age() -> Dataset:
    """The same people: their ages, by what else is known of them, the income included.

    An age of 0 is −1 and one of 100 is 1. That range is public; the file has ages from 17 to 90.
    """
    (ages, *rest), labels = _unpack("adult.xz")
    described = (*COLUMNS[1:], Column("income", "u1"))
    return Dataset("adult-age", _one_hot(described, [*rest, labels]), (ages - 50) / 50, "number")


def _signs(labels: npt.NDArray[np.int64]) -> Vector:
    return np.where(labels == LABELS.index(">50K"), 1.0, -1.0)


@cache
def _decompressed(name: str) -> bytes:
    """A megabyte that a study asks for in every run."""
    return lzma.decompress((resources.files("simnet.learning") / "data" / name).read_bytes())


def _unpack(name: str) -> tuple[list[npt.NDArray[np.int64]], npt.NDArray[np.int64]]:
    data = _decompressed(name)
    dtypes = [np.dtype(column.dtype) for column in COLUMNS] + [np.dtype("u1")]
    rows = len(data) // sum(dtype.itemsize for dtype in dtypes)
    columns = []
    start = 0
    for dtype in dtypes:
        columns.append(np.frombuffer(data, dtype, count=rows, offset=start).astype(np.int64))
        start += rows * dtype.itemsize
    return columns[:-1], columns[-1]


def _one_hot(
    described: Sequence[Column], columns: list[npt.NDArray[np.int64]], *, first: bool = True
) -> scipy.sparse.csr_array[np.float64, tuple[int, int]]:
    """One feature for a number, one for each category: every row has one entry for each original column.

    Without the `first` category by the alphabet of each column, who has that one or none has only zeros there.
    """
    rows = len(columns[0])
    indices = np.empty((rows, len(columns)), dtype=np.int32)
    entries = np.empty((rows, len(columns)))
    features = 0
    for k, (column, codes) in enumerate(zip(described, columns, strict=True)):
        kept = [value for value in column.values if first or value != min(column.values)]
        known = (*column.values, MISSING)
        places = np.array([kept.index(value) if value in kept else 0 for value in known])
        there = np.array([value in kept for value in known])
        indices[:, k] = features + places[codes] if column.values else features
        entries[:, k] = there[codes] if column.values else codes
        features += max(len(kept), 1)
    indptr = np.arange(0, indices.size + 1, len(columns), dtype=np.int32)
    X = scipy.sparse.csr_array((entries.ravel(), indices.ravel(), indptr), shape=(rows, features))
    X.eliminate_zeros()
    return X
