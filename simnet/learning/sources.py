"""Where rows come from: one table of all that `data.source` can name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import scipy

from simnet.errors import DataError, ScenarioError
from simnet.learning import data_files
from simnet.learning.adult import adult, adult_41, adult_age
from simnet.learning.dataset import Dataset, LabelKind, compact
from simnet.learning.digits import digits
from simnet.learning.generators import ringnorm, synthetic, twonorm, waveform
from simnet.parts.fields import Finder, Name
from simnet.parts.part import OneOf, Part, table

if TYPE_CHECKING:
    from simnet.learning.data_section import Data
    from simnet.learning.prepared import Prepared

Rows = tuple[Dataset, Dataset | None]
"""All rows; and the test rows where they come from a file of their own."""

Found = TypeVar("Found")

ROWS, FEATURES, LABEL_NOISE = 5000, 20, 0.1
"""What is generated if [data] does not say."""
TABLE_FIELDS = ("separator", "decimal", "categorical", "categories", "drop", "missing", "unlabelled")
"""The fields of [data] that are about the columns of a CSV file."""


class DataSource(Part):
    """Where rows come from. One of your own implements `draw`."""

    labels: ClassVar[LabelKind] = "sign"
    """What its labels are: −1 and +1, classes counted from 0, or numbers."""
    public: ClassVar[bool] = False
    """Whether anybody may see its rows: then it tells nothing that columns are scaled by all of them."""
    takes: ClassVar[tuple[str, ...]] = ()
    """The fields of [data] that it takes and that not every source takes."""

    generated: ClassVar[bool] = False
    """Whether its rows are drawn anew whenever they are asked for, and nobody else holds them."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Dataset | tuple[Any, Any]:
        """All rows: a data set, or features and labels as arrays. They are scaled later."""

    def read(self, find: Finder) -> Self:
        """The same with the files that it names in memory."""
        return self

    def paths(self, find: Finder) -> list[Path]:
        """The data files that it reads."""
        return []

    def prepared(self, data: Data, find: Finder) -> Prepared | None:
        """What became of the rows and columns of a table, where they were in one."""
        return None

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


class AdultFortyOne(DataSource):
    """The same question over all 48,842 rows in 41 features, the size that one paper states; inside the package."""

    kind: Literal["adult-41"]
    public: ClassVar[bool] = True

    def draw(self, rng: np.random.Generator) -> Dataset:
        return adult_41()


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
    generated: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("rows", "features", "label_noise")

    def draw(self, rng: np.random.Generator) -> Dataset:
        return synthetic(ROWS, FEATURES, LABEL_NOISE, rng)

    def load(self, data: Data, find: Finder, rng: np.random.Generator) -> Rows:
        noise = LABEL_NOISE if data.label_noise is None else data.label_noise
        return synthetic(data.rows or ROWS, data.features or FEATURES, noise, rng), None


class _Breiman(DataSource):
    public: ClassVar[bool] = True
    generated: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("rows",)
    make: ClassVar[Callable[[int, np.random.Generator], Dataset]]

    def draw(self, rng: np.random.Generator) -> Dataset:
        return type(self).make(ROWS, rng)

    def load(self, data: Data, find: Finder, rng: np.random.Generator) -> Rows:
        return type(self).make(data.rows or ROWS, rng), None


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

    takes: ClassVar[tuple[str, ...]] = ("labels", *TABLE_FIELDS)

    kind: Name
    what: ClassVar[str] = "a data file"

    @property
    def word(self) -> str:
        return self.kind

    @property
    def public(self) -> bool:  # type: ignore[override]
        """Whether it is a well-known data set."""
        return self.kind in WELL_KNOWN

    def draw(self, rng: np.random.Generator) -> Dataset | tuple[Any, Any]:
        return self._told(lambda: data_files.read(self.paths(Path)[0]))

    def load(self, data: Data, find: Finder, rng: np.random.Generator) -> Rows:
        path, *beside = self.paths(find)
        read = partial(data_files.read, form=data.form, positive=data.positive, labels=data.labels or "sign")

        def rows() -> Rows:
            whole = read(path)
            return whole, read(beside[0], features=whole.features, like=path) if beside else None

        return self._told(rows)

    def prepared(self, data: Data, find: Finder) -> Prepared | None:
        return self._told(lambda: data_files.prepared(self.paths(find)[0], data.form))

    def paths(self, find: Finder) -> list[Path]:
        """The file of a well-known name or at a path, and the test file beside it if there is one."""
        path = self._told(lambda: data_files.named(self.kind) or data_files.locate(str(find(self.kind))))
        beside = data_files.test_file(path)
        return [path] if beside is None else [path, beside]

    def _told(self, read: Callable[[], Found]) -> Found:
        try:
            return read()
        except DataError as error:
            raise ScenarioError(f"data.source = {self.kind!r}: {error}") from None


WELL_KNOWN = ("a9a", "a8a", "ijcnn1", "banana", "german", "image", "splice")
"""Names of data sets that are looked up in SIMNET_DATA."""
SOURCES: dict[str, type[DataSource]] = table(
    AdultIncome, AdultFortyOne, AdultAge, DigitImages, SyntheticRows, TwonormRows, RingnormRows, WaveformRows
)
AnySource = Annotated[DataSource, OneOf(SOURCES, bare=True, otherwise=FileRows)]
ADULT = AdultIncome(kind="adult")
