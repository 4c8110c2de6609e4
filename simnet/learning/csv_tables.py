"""CSV files: from lines to features and labels.

Python's own reader takes the lines apart. Polars is faster, but its errors quote what stands in a file that may be no
data, and it unpacks a small file to gigabytes before anybody can stop it.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from sys import getsizeof

import numpy as np

from simnet.allowance import Allowance
from simnet.errors import DataError
from simnet.learning.dataset import Matrix
from simnet.learning.file_formats import COPIES, Labels, Row, allowance_of, blocks_of, number
from simnet.learning.prepared import Prepared
from simnet.learning.table_features import BLANK, CategoryColumn, Codes, NumberColumn, features
from simnet.learning.table_form import Columns, TableForm
from simnet.learning.text_lines import text_lines
from simnet.vectors import Vector

_SEPARATORS = ";\t|"
"""Tried in this order where the first line has no comma."""
_NO_NUMBER = {"", "?", "-", "na", "n/a", "nan", "null", "none"}
"""Words, in small letters, that are blanks in a column of numbers."""
_NO_WORD = {"", "?"}
"""Blanks in a column of categories and among labels."""
MOST_CATEGORIES = 1000
"""More different words than that are no categories."""
_CELLS = COPIES * 8
"""Bytes that a cell takes at the end."""
_TEXTS = 200
"""Bytes that a column takes as texts: in the header, in the first row, and in the one that comes."""
_COLUMN = 1000
"""Bytes that a column of categories takes beside its cells."""
_LONGEST, _LISTED = 40, 5
"""Characters of a cell, and columns, that an error shows."""


@dataclass(frozen=True, eq=False)
class CsvTable:
    """Features, labels as they stand in the file, and how they were made."""

    X: Matrix
    labels: Labels
    prepared: Prepared


def comma_separated(path: Path, form: TableForm | None = None) -> CsvTable:
    """The rows of a CSV file; a first line without a single number is the header."""
    form, allowance = form or TableForm(), allowance_of(path)
    words = set[int]()
    if form.categorical == "text":
        with opened(path, form, allowance) as (columns, rows):
            words = _columns_of_words(columns, rows, allowance)
    with opened(path, form, allowance) as (columns, rows):
        columns.categories |= {k: None for k in columns.numbers if k in words}
        return _Reading(columns, allowance).table(rows)


@contextmanager
def opened(path: Path, form: TableForm, allowance: Allowance) -> Iterator[tuple[Columns, Iterator[Row]]]:
    """The columns of a file, and its rows without the header."""
    with text_lines(path, allowance) as text:
        rows = _rows(path, text, form.separator, allowance)
        first = list(islice(rows, 2))
        columns = Columns.of(path, form, [cells for _, cells in first])
        yield columns, chain(first if columns.header is None else first[1:], rows)


def _rows(path: Path, text: Iterator[str], separator: str | None, allowance: Allowance) -> Iterator[Row]:
    """The rows that are not blank, with their line numbers; all have as many cells as the first."""
    before, line = next(((k, line) for k, line in enumerate(text) if line.strip()), (0, ""))
    guess = next((sign for sign in _SEPARATORS if sign in line and "," not in line), ",")
    reader = csv.reader(chain([line], text), delimiter=separator or guess)
    width = 0
    for cells in reader:
        if not cells:
            continue
        if not width:
            width = len(cells)
            allowance.need(_TEXTS * width, f"a table of {width:,} columns")
        if len(cells) != width:
            raise DataError(f"{path}, line {before + reader.line_num}: {len(cells)} cells instead of {width}")
        yield before + reader.line_num, cells


def _columns_of_words(columns: Columns, rows: Iterator[Row], allowance: Allowance) -> set[int]:
    """The columns that do not hold numbers alone."""
    found: set[int] = set()
    others = columns.numbers
    for count, (line, cells) in enumerate(rows):
        allowance.need(_CELLS * count * (columns.width - 1), "its matrix")
        words = {k for k in others if _is_word(cells[k], columns.form)}
        for column in words:
            if _has_commas(cells[column], columns.form):
                name = columns.named(column, known=columns.known)
                raise DataError(f"{columns.path}, line {line}, column {name}: not a number{_COMMAS}")
        found |= words
        others = [k for k in others if k not in words] if words else others
    return found


def _has_commas(cell: str, form: TableForm) -> bool:
    """Whether a cell would be a number if decimals came after a comma."""
    return form.decimal == "." and "," in cell and number(cell.replace(",", ".")) is not None


def _is_word(cell: str, form: TableForm) -> bool:
    return form.number(cell) is None and not is_blank(cell)


def is_blank(cell: str, *, words: bool = False) -> bool:
    """Whether nothing stands in a cell of a column of numbers, or of one of `words`."""
    return cell.strip() in _NO_WORD if words else cell.strip().casefold() in _NO_NUMBER


def blank_labels(labels: Iterable[str], form: TableForm) -> set[str]:
    """Those that are blanks: of labels that are numbers the same cells as in a column of numbers, else of words."""
    different = set(labels)
    numbers = {value for label in different if (value := form.number(label)) is not None}
    others = {label for label in different if form.number(label) is None}
    words = len(numbers) < 2 or not all(map(is_blank, others))
    return {label for label in others if is_blank(label, words=words)}


class _Reading:
    """The rows of a file as arrays, a block at a time."""

    def __init__(self, columns: Columns, allowance: Allowance) -> None:
        allowance.need(_COLUMN * len(columns.categories), f"{len(columns.categories):,} columns of categories")
        self._columns, self._allowance, self._form = columns, allowance, columns.form
        self._path, self._numbers = columns.path, columns.numbers
        self._known = {k: {word: code for code, word in enumerate(v or ())} for k, v in columns.categories.items()}
        self._labels: list[str] = []
        self._values: list[Vector] = [np.empty((0, len(self._numbers)))]
        self._codes: list[Codes] = [np.empty((0, len(self._known)), np.int32)]
        self._read = 0

    def table(self, rows: Iterator[Row]) -> CsvTable:
        """All rows; the first one alone shows whether the file is data, and nothing of it is shown before."""
        for block in blocks_of(rows):
            self._take(block)
            # Rows that are left out count too: a small file can unpack to as many as nobody waits for.
            cells = self._read * (len(self._numbers) + len(self._known))
            self._allowance.need(_CELLS * cells, "its matrix")
        self._allowance.need(4 * len(self._labels) * max(map(len, self._labels), default=0), "its labels")
        values, codes = np.concatenate(self._values), np.concatenate(self._codes)
        blank = blank_labels(self._labels, self._form)
        if blank and (self._form.missing == "drop" or self._form.unlabelled):
            there = np.array([label not in blank for label in self._labels])
            self._labels = [label for label in self._labels if label not in blank]
            values, codes = values[there], codes[there]
        labels = self._labels_found(blank)
        self._name_categories(codes)
        blanks = int(np.isnan(values).sum()) + int(np.equal(codes, BLANK).sum())
        X: Matrix = values
        if (self._known or blanks) and labels.size:
            mean = self._form.missing == "mean"
            X = features(self._together(values, codes), mean=mean, allowance=self._allowance)
        return CsvTable(X, labels, self._prepared(blanks, X.shape[1]))

    def _take(self, block: list[Row]) -> None:
        quote, self._read = self._read > 0, self._read + len(block)
        labels = [cells[self._columns.label].strip() for _, cells in block]
        values, codes = self._values_of(block, quote=quote), self._codes_of(block, quote=quote)
        if self._form.missing == "drop":
            whole = np.array(~np.isnan(values).any(axis=1) & ~np.equal(codes, BLANK).any(axis=1))
            labels = [label for label, keep in zip(labels, whole, strict=True) if keep]
            values, codes = values[whole], codes[whole]
        self._labels.extend(labels)
        self._values.append(values)
        self._codes.append(codes)

    def _values_of(self, block: list[Row], *, quote: bool) -> Vector:
        """The columns of numbers; a blank is not a number."""
        numbers, form = self._numbers, self._form
        cells = [form.plain(row[k]) for _, row in block for k in numbers]
        try:
            found = np.array(cells, dtype=np.float64)
        except ValueError:
            found = np.array(["nan" if number(cell) is None else cell for cell in cells], dtype=np.float64)
        for at in np.flatnonzero(~np.isfinite(found)).tolist():
            line, column = block[at // len(numbers)][0], numbers[at % len(numbers)]
            if not is_blank(cells[at]):
                shown = f"{cells[at][:_LONGEST]!r} is " if quote else ""
                what = "number" if number(cells[at]) is None else "finite number"
                hint = self._advice(block, column) if what == "number" else ""
                raise self._refusal(line, column, f"{shown}not a {what}{hint}", known=quote)
            if form.missing is None:
                raise self._refusal(line, column, _BLANK_ADVICE, known=quote)
        return found.reshape(len(block), len(numbers))

    def _codes_of(self, block: list[Row], *, quote: bool) -> Codes:
        """The columns of categories, each category by the number that it got when it first came."""
        found = np.empty((len(block), len(self._known)), np.int32)
        for at, (column, known) in enumerate(self._known.items()):
            words, public = [row[column].strip() for _, row in block], self._columns.categories[column]
            for word in dict.fromkeys(words) if public is None else ():
                if word not in _NO_WORD and word not in known:
                    self._allowance.take(getsizeof(word), "its words")
                    known[word] = len(known)
            if len(known) > MOST_CATEGORIES:
                why = f"there are more than {MOST_CATEGORIES:,} categories; data.drop leaves a column out"
                raise self._refusal(block[-1][0], column, why, known=quote)
            found[:, at] = [known.get(word, BLANK) for word in words]
            blank = np.flatnonzero(np.equal(found[:, at], BLANK))
            if len(blank) and self._form.missing is None:
                strange = words[blank[0]] not in _NO_WORD
                why = "none of its data.categories, so it is " if strange else ""
                raise self._refusal(block[blank[0]][0], column, why + _BLANK_ADVICE, known=quote)
        return found

    def _advice(self, block: list[Row], column: int) -> str:
        """What would be right for a column that is not of numbers, and for the others that are like it."""
        first = next(cell for _, row in block if _is_word(cell := row[column], self._form))
        if _has_commas(first, self._form):
            return _COMMAS
        words = {k: [row[k] for _, row in block if _is_word(row[k], self._form)] for k in self._numbers}
        like = [k for k, found in words.items() if found and not _has_commas(found[0], self._form)][:_LISTED]
        named = self._columns.header is not None and self._columns.known
        names = ", ".join(self._columns.named(k) if named else str(k) for k in like)
        return f"; data.categorical = [{names}] makes features of words, and data.drop leaves a column out"

    def _refusal(self, line: int, column: int, why: str, *, known: bool) -> DataError:
        name = self._columns.named(column, known=known or self._columns.known)
        return DataError(f"{self._path}, line {line}, column {name}: {why}")

    def _labels_found(self, blank: Collection[str]) -> Labels:
        """The labels as numbers if all are, else as words; a blank one is an empty word."""
        try:
            if not blank:
                return np.array(list(map(self._form.plain, self._labels)), dtype=np.float64)
        except ValueError:
            pass
        return np.array(["" if label in blank else label for label in self._labels], dtype=np.str_)

    def _name_categories(self, codes: Codes) -> None:
        """Keep the categories of the rows that are left, in an order that does not depend on which came first."""
        for at, (column, known) in enumerate(self._known.items()):
            if self._columns.categories[column] is not None:
                continue
            left = set(codes[:, at].tolist())
            words = sorted(word for word, code in known.items() if code in left)
            places = np.full(len(known) + 1, BLANK, dtype=np.int32)  # the last is that of a blank
            places[[known[word] for word in words]] = np.arange(len(words))
            codes[:, at] = places[codes[:, at]]
            self._known[column] = {word: place for place, word in enumerate(words)}

    def _together(self, values: Vector, codes: Codes) -> Sequence[NumberColumn | CategoryColumn]:
        """The columns in the order of the file."""
        found: dict[int, NumberColumn | CategoryColumn] = {}
        for at, column in enumerate(self._numbers):
            found[column] = NumberColumn(values[:, at])
        for at, (column, known) in enumerate(self._known.items()):
            found[column] = CategoryColumn(codes[:, at], len(known))
        return [found[column] for column in sorted(found)]

    def _prepared(self, blanks: int, width: int) -> Prepared:
        title = self._columns.title
        return Prepared(
            form=self._form,
            read=self._read,
            left_out=self._read - len(self._labels),
            blanks=blanks,
            numbers=tuple(map(title, self._numbers)),
            categories=tuple((title(k), len(known)) for k, known in self._known.items()),
            dropped=tuple(map(title, sorted(self._columns.dropped))),
            label=title(self._columns.label),
            features=width,
        )


_COMMAS = "; data.decimal = ',' reads it as one"
_BLANK_ADVICE = (
    "a blank; data.missing = 'drop' leaves out such rows, 'mean' fills in the mean of the column, 'category' makes a "
    "feature of being blank"
)
