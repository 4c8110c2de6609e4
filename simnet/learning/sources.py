"""[data]: what is learned from. One table of all that `source` can name, and the generators of random rows.

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
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field, model_validator

from simnet.errors import DataError, ScenarioError
from simnet.learning import data_files
from simnet.learning.adult import adult
from simnet.learning.dataset import Dataset
from simnet.learning.dealing import PARTITIONS
from simnet.parts.fields import Column, Count, Finder, Label, Name, NonNegative, Number, Positive, Switch, Whole
from simnet.parts.part import Section, WordOf

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
    w = rng.standard_normal(features)
    w /= np.linalg.norm(w)
    X = rng.standard_normal((rows, features))
    margin = X @ w + label_noise * rng.standard_normal(rows)
    return Dataset("synthetic", X, np.where(margin > 0.0, 1.0, -1.0))


def twonorm(rows: int, rng: np.random.Generator) -> Dataset:
    """N((a, …, a), I) against N((−a, …, −a), I) in 20 dimensions, a = 2/√20. The best error is Φ(−2) = 2.3 %."""
    y = _coin(rows, rng)
    X = rng.standard_normal((rows, _NORM_FEATURES)) + _NORM_MEAN * y[:, np.newaxis]
    return Dataset("twonorm", X, y)


def ringnorm(rows: int, rng: np.random.Generator) -> Dataset:
    """N((a, …, a), I), positive, within N(0, 4I), negative, in 20 dimensions, a = 2/√20: no plane separates them."""
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


def _synthetic(data: Data, find: Finder, rng: np.random.Generator) -> Rows:
    noise = _LABEL_NOISE if data.label_noise is None else data.label_noise
    return synthetic(data.rows or _ROWS, data.features or _FEATURES, noise, rng), None


def _generated(draw: Callable[[int, np.random.Generator], Dataset]) -> RowSource:
    return RowSource("generated", lambda data, find, rng: (draw(data.rows or _ROWS, rng), None), ("rows",))


def _from_file(data: Data, find: Finder, rng: np.random.Generator) -> Rows:
    path, *beside = _files(data, find)
    try:
        whole = data_files.read(path, label=data.label, positive=data.positive)
        if not beside:
            return whole, None
        return whole, data_files.read(beside[0], label=data.label, positive=data.positive, features=whole.features)
    except DataError as error:
        raise ScenarioError(f"data.source = {data.source!r}: {error}") from None


def _files(data: Data, find: Finder) -> list[Path]:
    """The file of a well-known name or at a path, and the test file beside it if there is one."""
    try:
        path = data_files.named(data.source) or data_files.locate(str(find(data.source)))
    except DataError as error:
        raise ScenarioError(f"data.source = {data.source!r}: {error}") from None
    beside = data_files.test_file(path)
    return [path] if beside is None else [path, beside]


@dataclass(frozen=True)
class RowSource:
    """One source of rows."""

    line: str
    """What `simnet list` says of it."""
    read: Callable[[Data, Finder, np.random.Generator], Rows]
    fields: tuple[str, ...] = ()
    """The fields of [data] that it takes and that not every source takes."""
    files: Callable[[Data, Finder], list[Path]] = lambda data, find: []
    """The files that it reads."""


SOURCES = {
    "adult": RowSource("inside the package", lambda data, find, rng: (adult(), None)),
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


class _RowsOrShare(Number):
    """A whole number of rows, or a share of them."""

    def __call__(self, value: object) -> int | float:
        number = super().__call__(value)
        if number < 1:
            return number
        if number != int(number):
            raise ValueError(self.what)
        return int(number)


_TRAIN = _RowsOrShare("a number of rows of at least 1, or a share below 1", 0, 2**53, open_low=True)


class Data(Section):
    """What is learned from, and how it is dealt to the agents."""

    source: Name = Field(
        "adult",
        description="`adult` (inside the package), `synthetic`, `twonorm`, `ringnorm`, `waveform` (generated), a name "
        "found in `SIMNET_DATA` (`a9a`, `a8a`, `ijcnn1`, …), or a file: LIBSVM, CSV, NPZ, MAT",
    )
    train: Annotated[int | float, BeforeValidator(_TRAIN)] = Field(
        0.8, description="training rows: a number, or a share of all rows; the rest is the test set"
    )
    partition: Annotated[str, WordOf(PARTITIONS)] = Field(
        "even", description="`even` sizes, `uneven` sizes (Dirichlet), or `skewed` labels (Dirichlet)"
    )
    concentration: Positive = Field(
        1.0, description="Dirichlet parameter of `uneven` and `skewed`; small is very unequal"
    )
    rows: Count | None = Field(None, description="generated sources: rows to make (default 5,000)")
    features: Count | None = Field(None, description="`synthetic`: features per row (default 20)")
    label_noise: NonNegative | None = Field(
        None, description="`synthetic`: standard deviation of the noise inside the label's sign (default 0.1)"
    )
    seed: Whole | None = Field(
        None,
        description="seed of the generated rows and of the train/test split; default: the scenario's seed",
    )
    label: Column | None = Field(None, description="CSV: the label's column, by name or by index (default: last)")
    positive: Label | None = Field(None, description="the label that counts as +1 (default: the larger)")
    bias: Switch = Field(False, description="append a constant feature before rows are scaled")
    columns: Literal["as-they-are"] | None = Field(
        None,
        description="`as-they-are`: no row depends on another one, as ε needs it of private rows; absent: each column "
        "is divided by its largest value over all rows, as in the papers",
    )

    @model_validator(mode="after")
    def _fields_fit_the_source(self) -> Data:
        for field in ("rows", "features", "label_noise"):
            takers = [word for word, source in SOURCES.items() if field in source.fields]
            if getattr(self, field) is not None and self.source not in takers:
                raise ValueError(f"{field}: only the source {' or '.join(takers)} has it")
        return self

    @property
    def tells_peaks(self) -> bool:
        """Whether rows that may be private have been scaled by each other."""
        return self.columns is None and self.origin is FILE

    @property
    def expected_size(self) -> tuple[int, int] | None:
        """Rows and features, where they can be known before anything is read."""
        return (self.rows or _ROWS, self.features or _FEATURES) if "rows" in self.origin.fields else None

    @property
    def origin(self) -> RowSource:
        """Where the rows come from."""
        return SOURCES.get(self.source, FILE)
