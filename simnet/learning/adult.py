"""Adult (Becker & Kohavi 1996): does a person earn more than 50,000 dollars per year? Or: how old is it?

The package ships the 45,222 complete rows of the UCI files, training rows first, in one small file: an xz stream that
holds the columns of `COLUMNS` and then the label, one after another, as little-endian unsigned integers.
`analysis/make_adult.py` builds it. The data are under CC BY 4.0: see data/LICENSE-adult.txt.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np
import numpy.typing as npt
import scipy

from simnet.learning.dataset import Dataset


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


def adult() -> Dataset:
    """Adult, unscaled as every source is (see `dataset.scale`): 45,222 rows × 105 features, 24.78 % positive."""
    columns, labels = _unpack()
    return Dataset("adult", _one_hot(COLUMNS, columns), np.where(labels == LABELS.index(">50K"), 1.0, -1.0))


def adult_age() -> Dataset:
    """The same people: their ages, by what else is known of them, the income included.

    An age of 0 is −1 and one of 100 is 1. That range is public; the file has ages from 17 to 90.
    """
    (ages, *rest), labels = _unpack()
    described = (*COLUMNS[1:], Column("income", "u1"))
    return Dataset("adult-age", _one_hot(described, [*rest, labels]), (ages - 50) / 50, "number")


def _unpack() -> tuple[list[npt.NDArray[np.int64]], npt.NDArray[np.int64]]:
    data = lzma.decompress((resources.files("simnet.learning") / "data" / "adult.xz").read_bytes())
    dtypes = [np.dtype(column.dtype) for column in COLUMNS] + [np.dtype("u1")]
    rows = len(data) // sum(dtype.itemsize for dtype in dtypes)
    columns = []
    start = 0
    for dtype in dtypes:
        columns.append(np.frombuffer(data, dtype, count=rows, offset=start).astype(np.int64))
        start += rows * dtype.itemsize
    return columns[:-1], columns[-1]


def _one_hot(
    described: Sequence[Column], columns: list[npt.NDArray[np.int64]]
) -> scipy.sparse.csr_array[np.float64, tuple[int, int]]:
    """One feature for a number, one for each category: every row has one entry for each original column."""
    rows = len(columns[0])
    indices = np.empty((rows, len(columns)), dtype=np.int32)
    entries = np.empty((rows, len(columns)))
    features = 0
    for k, (column, codes) in enumerate(zip(described, columns, strict=True)):
        indices[:, k] = features + codes if column.values else features
        entries[:, k] = 1.0 if column.values else codes
        features += max(len(column.values), 1)
    indptr = np.arange(0, indices.size + 1, len(columns), dtype=np.int32)
    X = scipy.sparse.csr_array((entries.ravel(), indices.ravel(), indptr), shape=(rows, features))
    X.eliminate_zeros()
    return X
