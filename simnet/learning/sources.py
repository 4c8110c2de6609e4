"""[data]: what is learned from. One table of all that `source` can name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import scipy
from pydantic import BeforeValidator, Field, model_validator

from simnet.errors import DataError, ScenarioError
from simnet.learning import data_files
from simnet.learning.adult import adult, adult_age
from simnet.learning.dataset import Dataset, LabelKind, compact
from simnet.learning.digits import digits
from simnet.learning.generators import ringnorm, synthetic, twonorm, waveform
from simnet.learning.partitions import EVEN, AnyPartition
from simnet.parts.fields import Column, Count, Finder, Label, Name, NonNegative, Number, Positive, Switch, Whole
from simnet.parts.part import OneOf, Part, Section, table

Rows = tuple[Dataset, Dataset | None]
"""All rows; and the test rows where they come from a file of their own."""

_ROWS, _FEATURES, _LABEL_NOISE = 5000, 20, 0.1


class DataSource(Part):
    """Where rows come from. Whoever brings one says `draw`."""

    labels: ClassVar[LabelKind] = "sign"
    """What its labels are: −1 and +1, classes counted from 0, or numbers."""
    public: ClassVar[bool] = False
    """Whether anybody may see its rows: then it tells nothing that columns are scaled by all of them."""
    takes: ClassVar[tuple[str, ...]] = ()
    """The fields of [data] that it takes and that not every source takes."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Dataset | tuple[Any, Any]:
        """All rows: a data set, or features and labels as arrays. They are scaled later."""

    def read(self, find: Finder) -> Self:
        """The same with the files that it names in memory."""
        return self

    def paths(self, find: Finder) -> list[Path]:
        """The data files that it reads."""
        return []

    def load(self, data: Data, find: Finder, rng: np.random.Generator) -> Rows:
        """All rows, and the test rows where there is a file of them."""
        found = self.read(find).draw(rng)
        try:
            return found if isinstance(found, Dataset) else _tabulated(self.word, found, self.labels), None
        except (DataError, TypeError, ValueError) as error:
            raise ScenarioError(f"data.source = {self.word!r}: {error}") from None


def _tabulated(name: str, found: tuple[Any, Any], labels: LabelKind) -> Dataset:
    """Features and labels as somebody's own source gives them."""
    X, y = found
    X = X if isinstance(X, scipy.sparse.csr_array) else np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise DataError(f"features are a table of rows and columns, not of shape {X.shape}")
    if not np.isfinite(X.data if isinstance(X, scipy.sparse.csr_array) else X).all():
        raise DataError("a feature is not a finite number")
    return Dataset(name, compact(X), np.asarray(y, dtype=np.float64), labels)


class AdultIncome(DataSource):
    """Who earns more than 50,000 dollars per year? 45,222 rows of 105 features; inside the package."""

    kind: Literal["adult"]
    public: ClassVar[bool] = True

    def draw(self, rng: np.random.Generator) -> Dataset:
        return adult()


class AdultAge(DataSource):
    """How old are the same people? A number from −1 (0 years) to 1 (100); inside the package."""

    kind: Literal["adult-age"]
    labels: ClassVar[LabelKind] = "number"
    public: ClassVar[bool] = True

    def draw(self, rng: np.random.Generator) -> Dataset:
        return adult_age()


class DigitImages(DataSource):
    """Which digit is it? 1,797 images of 64 pixels in ten classes; inside the package."""

    kind: Literal["digits"]
    labels: ClassVar[LabelKind] = "class"
    public: ClassVar[bool] = True

    def draw(self, rng: np.random.Generator) -> Dataset:
        return digits()


class SyntheticRows(DataSource):
    """A noisy linear problem with Gaussian features; generated."""

    kind: Literal["synthetic"]
    public: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("rows", "features", "label_noise")

    def draw(self, rng: np.random.Generator) -> Dataset:
        return synthetic(_ROWS, _FEATURES, _LABEL_NOISE, rng)

    def load(self, data: Data, find: Finder, rng: np.random.Generator) -> Rows:
        noise = _LABEL_NOISE if data.label_noise is None else data.label_noise
        return synthetic(data.rows or _ROWS, data.features or _FEATURES, noise, rng), None


class _Breiman(DataSource):
    public: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("rows",)
    make: ClassVar[Callable[[int, np.random.Generator], Dataset]]

    def draw(self, rng: np.random.Generator) -> Dataset:
        return type(self).make(_ROWS, rng)

    def load(self, data: Data, find: Finder, rng: np.random.Generator) -> Rows:
        return type(self).make(data.rows or _ROWS, rng), None


class TwonormRows(_Breiman):
    """Breiman's two Gaussian clouds in 20 dimensions; generated."""

    kind: Literal["twonorm"]
    make = twonorm


class RingnormRows(_Breiman):
    """Breiman's Gaussian cloud within a wider one: no plane separates them; generated."""

    kind: Literal["ringnorm"]
    make = ringnorm


class WaveformRows(_Breiman):
    """Breiman's mixtures of two of three waves with noise; generated."""

    kind: Literal["waveform"]
    make = waveform


class FileRows(DataSource):
    """LIBSVM, CSV, NPZ or MAT, looked up beside the scenario and in SIMNET_DATA."""

    takes: ClassVar[tuple[str, ...]] = ("labels",)

    kind: Name
    what: ClassVar[str] = "a data file"

    @property
    def word(self) -> str:
        return self.kind

    @property
    def public(self) -> bool:  # type: ignore[override]
        """Whether it is a well-known data set."""
        return self.kind in WELL_KNOWN

    def draw(self, rng: np.random.Generator) -> Dataset:
        return self.load(Data(), Path, rng)[0]

    def load(self, data: Data, find: Finder, rng: np.random.Generator) -> Rows:
        path, *beside = self.paths(find)
        try:
            read = partial(data_files.read, label=data.label, positive=data.positive, labels=data.labels or "sign")
            whole = read(path)
            return whole, read(beside[0], features=whole.features, like=path) if beside else None
        except DataError as error:
            raise ScenarioError(f"data.source = {self.kind!r}: {error}") from None

    def paths(self, find: Finder) -> list[Path]:
        """The file of a well-known name or at a path, and the test file beside it if there is one."""
        try:
            path = data_files.named(self.kind) or data_files.locate(str(find(self.kind)))
        except DataError as error:
            raise ScenarioError(f"data.source = {self.kind!r}: {error}") from None
        beside = data_files.test_file(path)
        return [path] if beside is None else [path, beside]


WELL_KNOWN = ("a9a", "a8a", "ijcnn1", "banana", "german", "image", "splice")
"""Names of data sets that are looked up in SIMNET_DATA."""
SOURCES: dict[str, type[DataSource]] = table(
    AdultIncome, AdultAge, DigitImages, SyntheticRows, TwonormRows, RingnormRows, WaveformRows
)
AnySource = Annotated[DataSource, OneOf(SOURCES, bare=True, otherwise=FileRows)]
ADULT = AdultIncome(kind="adult")


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

    source: AnySource = Field(
        ADULT,
        description="where rows come from; also a name found in `SIMNET_DATA` (`a9a`, `a8a`, `ijcnn1`, …), or a file: "
        "LIBSVM, CSV, NPZ, MAT",
    )
    train: Annotated[int | float, BeforeValidator(_TRAIN)] = Field(
        0.8, description="training rows: a number, or a share of all rows; the rest is the test set"
    )
    partition: AnyPartition = Field(
        EVEN, description="`even` sizes, `uneven` sizes (Dirichlet), or `skewed` labels (Dirichlet)"
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
    labels: Literal["class", "number"] | None = Field(
        None, description="a file: its labels are any number of classes, or numbers; absent: they have two values"
    )
    bias: Switch = Field(False, description="append a constant feature before rows are scaled")
    columns: Literal["as-they-are"] | None = Field(
        None,
        description="`as-they-are`: no row depends on another one, as ε needs it of private rows; absent: each column "
        "is divided by its largest value over all rows, as in the papers",
    )

    @model_validator(mode="after")
    def _fields_fit_the_source(self) -> Data:
        for field in ("rows", "features", "label_noise"):
            takers = [word for word, source in SOURCES.items() if field in source.takes]
            if getattr(self, field) is not None and field not in self.source.takes:
                raise ValueError(f"{field}: only the source {' or '.join(takers)} has it")
        if self.labels is not None and "labels" not in self.source.takes:
            raise ValueError(f"labels: {self.source.word} knows what its labels are; only a file is told")
        return self

    @property
    def tells_peaks(self) -> bool:
        """Whether rows that may be private have been scaled by each other."""
        return self.columns is None and not self.source.public

    @property
    def expected_size(self) -> tuple[int, int] | None:
        """Rows and features, where they can be known before anything is read."""
        return (self.rows or _ROWS, self.features or _FEATURES) if "rows" in self.source.takes else None
