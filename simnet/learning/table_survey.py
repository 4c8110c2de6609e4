"""What the columns of a CSV file hold, for who has not yet said what they are for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from simnet.learning.csv_tables import MOST_CATEGORIES, blank_labels, is_blank, opened
from simnet.learning.file_formats import allowance_of, number
from simnet.learning.table_form import Name, TableForm

_FEW = 20
"""Fewer rows show nothing about a column that has another word in each."""


@dataclass(frozen=True)
class Survey:
    """The columns of a file, by their names or, without a header, by their indices."""

    rows: int
    decimal: Literal[".", ","]
    label: Name
    labels: dict[str, int]
    """How many rows have each label, without the blanks; of more than `MOST_LABELS` the first ones."""
    unlabelled: int
    """Rows with a blank label."""
    numbers: tuple[Name, ...]
    words: tuple[Name, ...]
    blanks: dict[Name, int]
    """Blank cells of each column that has some."""
    keys: tuple[Name, ...]
    """Columns that name rows rather than describe them: another word, or the next number, in each."""


MOST_LABELS = 20
"""A column of more different values holds no labels that one would be held against the others."""


@dataclass
class _Seen:
    """What has been seen of one column."""

    blanks: int = 0
    empty: int = 0
    """cells that are blank in a column of words too"""
    commas: int = 0
    """cells that are numbers with a comma"""
    words: set[str] = field(default_factory=set)
    worded: int = 0
    counts: bool = True
    """whether every cell is the whole number after the one before"""
    last: float | None = None

    def note(self, cell: str) -> None:
        """Look at the next cell."""
        if is_blank(cell):
            self.empty += is_blank(cell, words=True)
            self.blanks, self.counts = self.blanks + 1, False
            return
        value = number(cell)
        self.counts &= value is not None and value % 1 == 0 and self.last in (None, value - 1)
        self.last = value
        if value is not None:
            return
        if "," in cell and number(cell.replace(",", ".")) is not None:
            self.commas += 1
            return
        self.worded += 1
        if len(self.words) <= MOST_CATEGORIES:
            self.words.add(cell.strip())

    def names_rows(self, rows: int) -> bool:
        """Whether it tells rows apart and nothing else."""
        different = len(self.words) > MOST_CATEGORIES or len(self.words) == self.worded == rows
        return rows >= _FEW and (self.counts or different)


def survey(path: Path, label: Name = -1, drop: Sequence[Name] = (), separator: str | None = None) -> Survey:
    """Look at all rows of a file; DataError if a column that is named is not there."""
    with opened(path, TableForm(label=label, drop=tuple(drop), separator=separator), allowance_of(path)) as (
        columns,
        rows,
    ):
        others, labels = columns.numbers, Counter[str]()
        seen = {k: _Seen() for k in others}
        count = 0
        for _, cells in rows:
            count += 1
            said = cells[columns.label].strip()
            if said in labels or len(labels) <= MOST_LABELS + 1:  # one of them may be a blank
                labels[said] += 1
            for k in others:
                seen[k].note(cells[k])
    names: dict[int, Name] = {k: k if columns.header is None else columns.header[k] for k in range(columns.width)}
    keys = [k for k in others if seen[k].names_rows(count)]
    left = [k for k in others if k not in keys]
    worded = [k for k in left if seen[k].worded]
    decimal: Literal[".", ","] = "," if any(seen[k].commas for k in left) else "."
    blank = blank_labels(labels, replace(columns.form, decimal=decimal))
    blanks = {k: seen[k].empty if k in worded else seen[k].blanks for k in left}
    return Survey(
        rows=count,
        decimal=decimal,
        label=names[columns.label],
        labels={label: labels[label] for label in sorted(labels) if label not in blank},
        unlabelled=sum(labels[label] for label in blank),
        numbers=tuple(names[k] for k in left if k not in worded),
        words=tuple(names[k] for k in worded),
        blanks={names[k]: count for k, count in blanks.items() if count},
        keys=tuple(names[k] for k in keys),
    )
