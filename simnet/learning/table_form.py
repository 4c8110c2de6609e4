"""What a scenario says of the columns of a CSV file, and which columns of a file are which by it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from simnet.errors import DataError
from simnet.learning.file_formats import number

Name = str | int
"""A column's name, or its index from 0."""
_SHOWN, _LONGEST = 20, 40
"""How many columns an error lists, and how much of each name."""


@dataclass(frozen=True)
class TableForm:
    """The fields of [data] that are about columns."""

    label: Name = -1
    separator: str | None = None
    decimal: Literal[".", ","] = "."
    categorical: Literal["text"] | tuple[Name, ...] = ()
    categories: tuple[tuple[str, tuple[str, ...]], ...] = ()
    drop: tuple[Name, ...] = ()
    missing: Literal["drop", "mean", "category"] | None = None
    unlabelled: Literal["drop"] | None = None

    @property
    def said(self) -> str:
        """The first field that is not as it is by default."""
        return next((each.name for each in fields(self) if getattr(self, each.name) != each.default), "label")

    @property
    def prepares(self) -> bool:
        """Whether rows or columns become others."""
        return bool(self.categorical or self.categories or self.drop or self.missing or self.unlabelled)

    def number(self, cell: str) -> float | None:
        """What a cell says, if that is a number."""
        return number(self.plain(cell))

    def plain(self, cell: str) -> str:
        """A number as Python writes it."""
        return cell if self.decimal == "." else cell.replace(",", ".")


@dataclass
class Columns:
    """The columns of one file by their indices: the label, those left out, those of categories, those of numbers.

    `known` says whether the file is known to be a table, so that an error may show the names of its columns: below the
    header is a row of as many cells, and one of them is a number.
    """

    path: Path
    form: TableForm
    header: list[str] | None
    width: int
    known: bool
    label: int = -1
    dropped: set[int] = field(default_factory=set)
    categories: dict[int, tuple[str, ...] | None] = field(default_factory=dict)
    """The categories of each such column, where they are public."""

    @classmethod
    def of(cls, path: Path, form: TableForm, first: list[list[str]]) -> Columns:
        """By the first two rows."""
        top = first[0] if first else []
        words = not any(form.number(cell) is not None for cell in top)
        header = [cell.strip() for cell in top] if words else None
        known = not words or (len(first) > 1 and any(form.number(cell) is not None for cell in first[1]))
        found = cls(path, form, header, len(top), known)
        found._choose()
        return found

    @property
    def numbers(self) -> list[int]:
        """The columns of numbers."""
        others = {self.label, *self.dropped, *self.categories}
        return [column for column in range(self.width) if column not in others]

    def named(self, column: int, *, known: bool = True) -> str:
        """A column in an error: by its name, or counted from 1."""
        return repr(self.header[column][:_LONGEST]) if self.header is not None and known else str(column + 1)

    def title(self, column: int) -> str:
        """What a column is called in a table."""
        return str(column) if self.header is None else self.header[column]

    def _choose(self) -> None:
        if self.width < 2:
            raise DataError(f"{self.path}: a label column and at least one column of features are needed")
        form, chosen = self.form, dict[int, str]()
        listed = () if form.categorical == "text" else form.categorical
        for which, names in (
            ("label", (form.label,)),
            ("drop", form.drop),
            ("categorical", listed),
            ("categories", tuple(name for name, _ in form.categories)),
        ):
            for name in names:
                column = self._index(which, name)
                before = chosen.setdefault(column, which)
                if before != which and (before, which) != ("categorical", "categories"):
                    raise DataError(f"{self.path}: data.{before} and data.{which} both name the column {name!r}")
        public = {self._index("categories", name): words for name, words in form.categories}
        self.label = next(column for column, which in chosen.items() if which == "label")
        self.dropped = {column for column, which in chosen.items() if which == "drop"}
        listed_columns = [column for column, which in chosen.items() if which.startswith("categor")]
        self.categories = {column: public.get(column) for column in sorted(listed_columns)}
        if len(self.dropped) == self.width - 1:
            raise DataError(f"{self.path}: data.drop leaves no column of features")

    def _index(self, which: str, name: Name) -> int:
        where = f"{self.path}: data.{which} = {name!r}"
        if isinstance(name, int):
            if -self.width <= name < self.width:
                return name % self.width
            raise DataError(f"{where}: there are {self.width} columns, counted from 0{self._listed()}")
        if self.header is None:
            raise DataError(f"{where}: the file has no header, so its columns have no names but indices from 0")
        if self.header.count(name) != 1:
            count = self.header.count(name) or "no"
            raise DataError(f"{where}: {count} column{'s are' if count != 'no' else ' is'} called that{self._listed()}")
        return self.header.index(name)

    def _listed(self) -> str:
        """The columns that there are."""
        if self.header is None or not self.known:
            return ""
        names = [self.named(column) for column in range(min(self.width, _SHOWN))]
        more = f" and {self.width - _SHOWN} more" if self.width > _SHOWN else ""
        return f"; they are {', '.join(names)}{more}"
