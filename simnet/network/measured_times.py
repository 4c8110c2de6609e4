"""Times from CSV files and from what `ping` prints: in which unit they are, and whether they are there and back.

Milliseconds read as seconds are the usual mistake with a measured delay, and half of all measurements are round trips.
So nothing is guessed: what a heading says (`rtt_ms`) must be said by the scenario too (`unit`, `round_trip`), and
delays without a unit that would last longer than any network takes are refused.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from math import inf, nan
from pathlib import Path
from typing import Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from simnet.allowance import Allowance, checked, read_whole
from simnet.errors import ScenarioError
from simnet.network.ping_output import HEADINGS, pings
from simnet.parts.fields import SECONDS

Times = npt.NDArray[np.float64]
Unit = Literal["us", "ms", "s", "min", "h"]

TOO_LONG = 10.0
"""Seconds: a median delay above this is taken for a forgotten unit."""

_OBJECTS = 16
"""How much more than its text the objects of a file take."""
_LONGEST = 60
"""Characters of a line that an error shows."""
_SPELLINGS = {
    "us": ("us", "usec", "microseconds", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"),
    "ms": ("ms", "msec", "millis", "milliseconds"),
    "s": ("s", "sec", "secs", "seconds"),
    "min": ("min", "minutes"),
    "h": ("h", "hours"),
}
_UNITS = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings}
_SUFFIX = re.compile(r"(?:^|[\W_])([a-z\u00b5\u03bc]+)[)\]]?$")
_ROUND_TRIP = re.compile(r"(?<![a-z])rtt(?![a-z])|round.?trip")


class Table(NamedTuple):
    """The numbers of a CSV file, row by row, with the headings if it has some."""

    headings: list[str] | None
    lines: list[int]
    rows: list[list[float]]


def read_table(path: Path, where: str, columns: int, row: str) -> Table:
    """Numbers in so many columns, with or without a line of headings; `row` says in words what a row is."""
    headings: list[str] | None = None
    lines: list[int] = []
    rows: list[list[float]] = []
    for number, cells in read_cells(path, where):
        try:
            values = [float(cell) for cell in cells]
        except ValueError:
            values = []
        if len(values) != columns:
            if not lines and headings is None and len(cells) == columns:
                headings = [cell.strip() for cell in cells]
                continue
            # A file that is no such table may be somebody's secret: it is quoted only once a row was read.
            found = f"{','.join(cells)[:_LONGEST]!r}, not" if lines else "not"
            raise ScenarioError(f"{where}: line {number} is {found} {row}")
        lines.append(number)
        rows.append(values)
    return Table(headings, lines, rows)


def read_delays(path: Path, where: str, columns: int, row: str) -> Table:
    """The same of a file that may also be what the command `ping` printed."""
    answers = pings(read_lines(path, where, "utf-8-sig"))
    if answers is None:
        return read_table(path, where, columns, row)
    return Table([*HEADINGS[-columns:]], answers.lines, answers.rows(columns))


def read_cells(path: Path, where: str) -> list[tuple[int, list[str]]]:
    """The lines of a CSV file that are not empty, with their numbers."""
    text = io.StringIO(read_text(path, where, "utf-8-sig"), newline="")
    rows = checked(csv.reader(text), _allowance(where))
    try:
        return [(number, row) for number, row in enumerate(rows, 1) if row]
    except csv.Error as error:
        raise ScenarioError(f"{where}: cannot be read ({error})") from error


def read_text(path: Path, where: str, encoding: str = "utf-8") -> str:
    """The text of a file that a scenario names."""
    try:
        return read_whole(path, _allowance(where), _OBJECTS).decode(encoding)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"this is not text in {encoding.upper()}"
        raise ScenarioError(f"{where}: cannot be read ({reason})") from error


def read_lines(path: Path, where: str, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """The lines of a file that a scenario names, with their numbers; empty ones are left out."""
    lines = checked(io.StringIO(read_text(path, where, encoding)), _allowance(where))
    return ((number, line.strip()) for number, line in enumerate(lines, 1) if line.strip())


def _allowance(where: str) -> Allowance:
    return Allowance(lambda sentence: ScenarioError(f"{where}: {sentence}"))


def delays(
    values: Sequence[float] | Times, heading: str | None, unit: Unit | None, round_trip: bool | None, where: str
) -> Times:
    """One-way delays in seconds, of numbers under this heading."""
    found = np.array(values, dtype=np.float64) * seconds_in(heading, unit, round_trip, where)
    median = np.nanmedian(found) if found.size else 0.0
    if unit is None and median > TOO_LONG:
        raise ScenarioError(
            f'{where}: half of its delays would be above {median:g} s; write unit = "ms" if they are milliseconds, '
            'unit = "s" if they are seconds indeed'
        )
    return found / 2 if round_trip else found


def seconds_in(
    heading: str | None, unit: Unit | None, round_trip: bool | None, where: str, field: str = "unit"
) -> float:
    """How many seconds one of the numbers under this heading is; refuses a heading that says what the fields do not."""
    said = _unit_of(heading)
    missing = []
    if said is not None and unit is None and said != "s":
        missing.append(f'{field} = "{said}"')
    if round_trip is None and _ROUND_TRIP.search((heading or "").lower()):
        missing.append("round_trip = true, which halves it")
    if missing:
        raise ScenarioError(f"{where}: its numbers are headed {heading!r}: write {', and '.join(missing)}")
    if said is not None and unit is not None and said != unit:
        raise ScenarioError(f'{where}: its numbers are headed {heading!r}, which is not {field} = "{unit}"')
    return float(SECONDS[unit or "s"])


def said_by(heading: str | None) -> tuple[Unit | None, bool]:
    """The unit that a heading says, and whether it says that times are there and back."""
    return cast("Unit | None", _unit_of(heading)), _ROUND_TRIP.search((heading or "").lower()) is not None


def number_or_none(cell: str) -> float:
    """A number of a cell; NaN if there is nothing in it."""
    text = cell.strip().lower()
    return nan if text in ("", "-", "na", "nan", "null", "none") else float(text)


def impossible(values: Times) -> npt.NDArray[np.bool_]:
    """Which of these are no delays."""
    return ~((values >= 0) & (values < inf))


def _unit_of(heading: str | None) -> str | None:
    found = _SUFFIX.search((heading or "").strip().lower())
    return None if found is None else _UNITS.get(found[1])
