"""[data]: what is learned from, and how it is dealt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from simnet.learning.partitions import EVEN, AnyPartition
from simnet.learning.sources import ADULT, FEATURES, ROWS, SOURCES, TABLE_FIELDS, AnySource
from simnet.learning.table_form import TableForm
from simnet.parts.fields import Column, Count, FrozenTable, Label, NonNegative, Number, Positive, Switch, Whole
from simnet.parts.part import Section

Preparation = Literal["peaks", "features", "blanks", "means", "unlabelled"]
"""What may have been taken from the rows themselves: column maxima, features, which rows are whole, column means."""


@dataclass(frozen=True)
class _Checked:
    """Accepts what `right` makes something of."""

    what: str
    right: Callable[[Any], Any]

    def __call__(self, value: object) -> Any:
        try:
            return self.right(value)
        except (TypeError, ValueError, AttributeError):
            raise ValueError(self.what) from None


def _listed(value: Any) -> tuple[str | int, ...]:
    """A list of columns, not empty."""
    if (
        isinstance(value, str)
        or not value
        or any(isinstance(each, bool) or not isinstance(each, str | int) for each in value)
    ):
        raise TypeError
    return tuple(value)


def _one_sign(value: Any) -> str:
    if len(value) != 1 or value in '"\r\n':
        raise ValueError
    return str(value)


def _words(value: Any) -> dict[str, tuple[str, ...]]:
    """Texts or numbers of each column."""
    if any(isinstance(words, str) or not words for words in value.values()):
        raise ValueError
    return {str(column): tuple(dict.fromkeys(map(str, words))) for column, words in value.items()}


_CATEGORICAL = _Checked(
    'a list of columns, by name or by index, such as ["job", "city"]; or "text"',
    lambda value: value if value == "text" else _listed(value),
)
_CATEGORIES = _Checked('a list of words for each column, such as { job = ["clerk", "nurse"] }', _words)
Categories = Annotated[dict[str, tuple[str, ...]], BeforeValidator(_CATEGORIES), AfterValidator(FrozenTable)]
_SIGN = _Checked('one character, such as ";" or "\\t"', _one_sign)


class _RowsOrShare(Number):
    """A whole number of rows, or a share of them."""

    def __call__(self, value: object) -> int | float:
        number = super().__call__(value)
        if number < 1:
            return number
        if number != int(number):
            raise ValueError(self.what)
        return int(number)


_SOME = _RowsOrShare("a number of rows of at least 1, or a share below 1", 0, 2**53, open_low=True)


class Data(Section):
    """What is learned from, and how it is dealt to the agents."""

    source: AnySource = Field(
        ADULT,
        description="where rows come from; also a name found in `SIMNET_DATA` (`a9a`, `a8a`, `ijcnn1`, …), or a file: "
        "LIBSVM, CSV, NPZ, MAT",
    )
    train: Annotated[int | float, BeforeValidator(_SOME)] = Field(
        0.8, description="training rows: a number, or a share of all rows; the rest is the test set"
    )
    partition: AnyPartition = Field(
        EVEN, description="`even` sizes, `uneven` sizes (Dirichlet), or `skewed` labels (Dirichlet)"
    )
    concentration: Positive = Field(
        1.0, description="Dirichlet parameter of `uneven` and `skewed`; small is very unequal"
    )
    min_rows: Count | None = Field(
        None, description="the fewest training rows that an agent gets, however unequal the shares; default: 1"
    )
    rows: Count | None = Field(None, description="generated sources: rows to make (default 5,000)")
    features: Count | None = Field(None, description="`synthetic`: features per row (default 20)")
    label_noise: NonNegative | None = Field(
        None, description="`synthetic`: standard deviation of the noise inside the label's sign (default 0.1)"
    )
    seed: Whole | None = Field(
        None,
        description="seed of the generated rows, of what is set aside and of the train/test split; default: the "
        "scenario's seed",
    )
    resplit: Switch | None = Field(
        None,
        description="whether each seed of the scenario splits training from test rows anew, although `seed` is set; "
        "what is set aside stays the same; absent: no",
    )
    tuning: Annotated[int | float, BeforeValidator(_SOME)] | None = Field(
        None,
        description="rows set aside for choosing settings: a number, or a share of all rows; `seed` must be set, so "
        "that they are the same under every seed of the scenario; absent: none",
    )
    use: Literal["tuning"] | None = Field(
        None,
        description="`tuning`: learn from the rows set aside and test on them, and touch no other; absent: touch all "
        "others and none of them",
    )
    label: Column | None = Field(None, description="CSV: the label's column, by name or by index (default: last)")
    separator: Annotated[str, BeforeValidator(_SIGN)] | None = Field(
        None,
        description="CSV: the sign between cells; absent: the comma, or else the semicolon, tab or | of the first line",
    )
    decimal: Literal[".", ","] | None = Field(None, description="CSV: the sign before decimals; absent: the point")
    drop: tuple[Column, ...] | None = Field(None, description="CSV: columns to leave out")
    categorical: Annotated[Literal["text"] | tuple[Column, ...], BeforeValidator(_CATEGORICAL)] | None = Field(
        None,
        description="CSV: columns of categories, each of which becomes a feature of 0 and 1; `text`: every column that "
        "holds words",
    )
    categories: Categories | None = Field(
        None,
        description="CSV: the public categories of columns, by name; without them categories are those of the rows",
    )
    missing: Literal["drop", "mean", "category"] | None = Field(
        None,
        description="CSV, blank cells: `drop` leaves out such rows, `mean` fills in the mean of the column, `category` "
        "makes a feature of being blank; absent: they are refused",
    )
    unlabelled: Literal["drop"] | None = Field(
        None,
        description="CSV: `drop` leaves out rows with a blank label; absent: they are refused, or dropped by `missing`",
    )
    positive: Label | None = Field(
        None, description="the label that counts as +1, and all others as −1 (default: the larger of two)"
    )
    labels: Literal["class", "number"] | None = Field(
        None, description="a file: its labels are any number of classes, or numbers; absent: they have two values"
    )
    bias: Switch = Field(False, description="append a constant feature before rows are scaled")
    scale: Literal["rows", "columns", "none"] | None = Field(
        None,
        description="absent: each column is divided by its largest value over all rows, then rows longer than 1 are "
        "shortened to 1, on which every ε of a row rests; `rows`: only the latter, so that no row depends on another "
        "one, as ε needs it of private rows; `columns`: only the former; `none`: neither. With the last two a row may "
        "be of any length: only `admm` and, for the labels alone, `pdml` take it",
    )

    @model_validator(mode="before")
    @classmethod
    def _an_older_word(cls, given: Any) -> Any:
        """Scenarios in older logs say `columns = "as-they-are"`."""
        if isinstance(given, dict) and given.get("columns") == "as-they-are" and "scale" not in given:
            return {field: value for field, value in given.items() if field != "columns"} | {"scale": "rows"}
        return given

    @model_validator(mode="after")
    def _fields_fit_the_source(self) -> Data:
        for field in ("rows", "features", "label_noise"):
            takers = [word for word, source in SOURCES.items() if field in source.takes]
            if getattr(self, field) is not None and field not in self.source.takes:
                raise ValueError(f"{field}: only the source {' or '.join(takers)} has it")
        if self.labels is not None and "labels" not in self.source.takes:
            raise ValueError(f"labels: {self.source.word} knows what its labels are; only a file is told")
        if self.tuning is not None and self.seed is None:
            raise ValueError("tuning: without data.seed each seed sets other rows aside; set one")
        if self.resplit and self.seed is None:
            raise ValueError("resplit: without data.seed each seed of the scenario splits anew by itself; leave it out")
        if self.use is not None and self.tuning is None:
            raise ValueError("use: no rows are set aside; data.tuning says how many")
        said = next((field for field in TABLE_FIELDS if getattr(self, field)), None)
        if said is not None and said not in self.source.takes:
            raise ValueError(f"{said}: {self.source.word} has no columns to choose; only a CSV file has")
        return self

    @property
    def form(self) -> TableForm | None:
        """What it says of the columns of a CSV file; None if nothing."""
        if self.label is None and not any(getattr(self, field) for field in TABLE_FIELDS):
            return None
        return TableForm(
            label=-1 if self.label is None else self.label,
            separator=self.separator,
            decimal=self.decimal or ".",
            categorical=self.categorical or (),
            categories=tuple((self.categories or {}).items()),
            drop=self.drop or (),
            missing=self.missing,
            unlabelled=self.unlabelled,
        )

    @property
    def scales_columns(self) -> bool:
        """Whether each column is divided by its largest value."""
        return self.scale in (None, "columns")

    @property
    def bounds_rows(self) -> bool:
        """Whether no row is longer than 1."""
        return self.scale in (None, "rows")

    @property
    def tells(self) -> tuple[Preparation, ...]:
        """By what rows that may be private have been prepared by each other."""
        if self.source.public:
            return ()
        public = self.categorical != "text" and set(self.categorical or ()) <= set(self.categories or ())
        found: dict[Preparation, bool] = {
            "peaks": self.scales_columns,
            "features": not public or self.missing == "category" or (self.missing == "mean" and bool(self.categories)),
            "blanks": self.missing == "drop",
            "means": self.missing == "mean",
            "unlabelled": self.unlabelled is not None and self.missing != "drop",
        }
        return tuple(word for word, told in found.items() if told)

    @property
    def expected_size(self) -> tuple[int, int] | None:
        """Rows and features, where they can be known before anything is read."""
        return (self.rows or ROWS, self.features or FEATURES) if "rows" in self.source.takes else None
