"""Where rows come from: one table of all that `source` in [data] can name, and the generators of random rows.

Generated are a noisy linear problem, and Breiman's twonorm, ringnorm and waveform: L. Breiman, Bias, Variance, and
Arcing Classifiers, Technical Report 460, Statistics Department, University of California, Berkeley, 1996. Which class
is positive follows the files of Rätsch's benchmark. Each row draws its class, so the shares of the classes vary from
draw to draw. Features are unscaled: see `dataset.scale`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simnet.errors import DataError, ScenarioError
from simnet.learning import data_files
from simnet.learning.adult import adult
from simnet.learning.dataset import Dataset

if TYPE_CHECKING:
    from simnet.learning.data_section import Data

Find = Callable[[str], Path]
"""Finds a file that a scenario names."""
Rows = tuple[Dataset, Dataset | None]
"""All rows; and the test rows where they come from a file of their own."""

_ROWS, _FEATURES, _LABEL_NOISE = 5000, 20, 0.1
_NORM_FEATURES = 20
_NORM_MEAN = 2.0 / math.sqrt(_NORM_FEATURES)


def synthetic(rows: int, features: int, label_noise: float, rng: np.random.Generator) -> Dataset:
    """Gaussian features, labels sign(x·w + label_noise·n) with n ~ N(0, 1) and w uniform on the unit sphere.

    Because x·w ~ N(0, 1) whatever the number of features, w itself errs with probability arctan(label_noise)/π, and no
    classifier does better.
    """
    _need_rows("synthetic", rows)
    if features < 1:
        raise DataError(f"synthetic: {features} features must be at least 1")
    if not 0.0 <= label_noise < math.inf:
        raise DataError(f"synthetic: a label noise of {label_noise} must be a number from 0 upwards")
    w = rng.standard_normal(features)
    w /= np.linalg.norm(w)
    X = rng.standard_normal((rows, features))
    margin = X @ w + label_noise * rng.standard_normal(rows)
    return Dataset("synthetic", X, np.where(margin > 0.0, 1.0, -1.0))


def twonorm(rows: int, rng: np.random.Generator) -> Dataset:
    """N((a, …, a), I) against N((−a, …, −a), I) in 20 dimensions, a = 2/√20. The best error is Φ(−2) = 2.3 %."""
    _need_rows("twonorm", rows)
    y = _coin(rows, rng)
    X = rng.standard_normal((rows, _NORM_FEATURES)) + _NORM_MEAN * y[:, np.newaxis]
    return Dataset("twonorm", X, y)


def ringnorm(rows: int, rng: np.random.Generator) -> Dataset:
    """N((a, …, a), I), positive, within N(0, 4I), negative, in 20 dimensions, a = 2/√20: no plane separates them."""
    _need_rows("ringnorm", rows)
    y = _coin(rows, rng)
    inner = y[:, np.newaxis] > 0.0
    noise = rng.standard_normal((rows, _NORM_FEATURES))
    return Dataset("ringnorm", np.where(inner, _NORM_MEAN + noise, 2.0 * noise), y)


def waveform(rows: int, rng: np.random.Generator) -> Dataset:
    """Mixtures of two of three triangular waves, sampled at 21 points with unit noise, as two classes.

    x_i = u h_a(i) + (1 − u) h_b(i) + n_i, u uniform on [0, 1]; h has height and half-width 6, its peak at 7, 11 or 15.
    The three pairs are equally likely. Positive is the pair with peaks at 7 and 11, a third of the rows; the other two
    pairs are negative. The benchmark's file holds standardised columns, this function Breiman's own.
    """
    _need_rows("waveform", rows)
    points = np.arange(1, 22)
    waves = np.array([np.maximum(6.0 - np.abs(points - peak), 0.0) for peak in (7, 11, 15)])
    pairs = np.array([(0, 1), (1, 2), (0, 2)])
    drawn = rng.integers(len(pairs), size=rows)
    first, second = pairs[drawn].T
    u = rng.random((rows, 1))
    X = u * waves[first] + (1.0 - u) * waves[second] + rng.standard_normal((rows, len(points)))
    return Dataset("waveform", X, np.where(drawn == 0, 1.0, -1.0))


def _coin(rows: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return np.where(rng.random(rows) < 0.5, 1.0, -1.0)


def _need_rows(name: str, rows: int) -> None:
    if rows < 1:
        raise DataError(f"{name}: {rows} rows must be at least 1")


def _from_package(data: Data, find: Find, rng: np.random.Generator) -> Rows:
    return adult(), None


def _synthetic(data: Data, find: Find, rng: np.random.Generator) -> Rows:
    noise = _LABEL_NOISE if data.label_noise is None else data.label_noise
    return synthetic(data.rows or _ROWS, data.features or _FEATURES, noise, rng), None


def _generated(draw: Callable[[int, np.random.Generator], Dataset]) -> RowSource:
    return RowSource("generated", lambda data, find, rng: (draw(data.rows or _ROWS, rng), None), ("rows",))


def _from_file(data: Data, find: Find, rng: np.random.Generator) -> Rows:
    path, *beside = _files(data, find)
    try:
        whole = data_files.read(path, label=data.label, positive=data.positive)
        if not beside:
            return whole, None
        return whole, data_files.read(beside[0], label=data.label, positive=data.positive, features=whole.features)
    except DataError as error:
        raise ScenarioError(f"data.source = {data.source!r}: {error}") from None


def _files(data: Data, find: Find) -> list[Path]:
    """The file of a well-known name or at a path, and the test file beside it if there is one."""
    try:
        path = data_files.named(data.source) or data_files.locate(str(find(data.source)))
    except DataError as error:
        raise ScenarioError(f"data.source = {data.source!r}: {error}") from None
    beside = data_files.test_file(path)
    return [path] if beside is None else [path, beside]


def _no_files(data: Data, find: Find) -> list[Path]:
    return []


@dataclass(frozen=True)
class RowSource:
    """One source of rows."""

    line: str
    """What `simnet list` says of it."""
    read: Callable[[Data, Find, np.random.Generator], Rows]
    fields: tuple[str, ...] = ()
    """The fields of [data] that it takes and that not every source takes."""
    files: Callable[[Data, Find], list[Path]] = _no_files
    """The files that it reads."""


SOURCES = {
    "adult": RowSource("inside the package", _from_package),
    "synthetic": RowSource("generated", _synthetic, ("rows", "features", "label_noise")),
    "twonorm": _generated(twonorm),
    "ringnorm": _generated(ringnorm),
    "waveform": _generated(waveform),
    **dict.fromkeys(
        ("a9a", "a8a", "ijcnn1", "banana", "german", "image", "splice"),
        RowSource("found in SIMNET_DATA", _from_file, files=_files),
    ),
}
FILE = RowSource("LIBSVM, CSV, NPZ or MAT", _from_file, files=_files)
"""What every other name is."""
