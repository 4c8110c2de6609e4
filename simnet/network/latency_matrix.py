"""A latency matrix from a CSV file: a row per sender, a column per receiver, an empty cell where nothing was measured.

A first line of names is taken as such, and so is a first column of names. The corner over the names of the rows may say
what the numbers are (`rtt_ms`), as a heading would. The diagonal is not looked at.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simnet.errors import ScenarioError
from simnet.network.measured_times import Times, Unit, delays, impossible, number_or_none, read_cells


def read_matrix(path: Path, field: str, unit: Unit | None, round_trip: bool | None) -> tuple[list[str] | None, Times]:
    """The names, if there are some, and the delays in seconds; NaN where there is no entry."""
    where = f"{field} = {path}"
    lines = read_cells(path, where)
    heading, names = None, None
    if lines and (len(lines) == len(lines[0][1]) + 1 or any(not _is_number(cell) for cell in lines[0][1])):
        names = [cell.strip() for cell in lines.pop(0)[1]]
    if lines and len(lines[0][1]) == len(lines) + 1:
        named = [row[0].strip() for _, row in lines]
        if names is not None and len(names) == len(lines) + 1:
            heading, *names = names
        if names is not None and names != named:
            raise ScenarioError(f"{where}: the names of its rows are not those of its columns")
        names, lines = named, [(number, row[1:]) for number, row in lines]
    size = len(lines)
    for number, row in lines:
        if len(row) != size:
            raise ScenarioError(
                f"{where}: line {number} has {len(row)} entries, a matrix of {size} rows has {size} each"
            )
    if size < 2 or (names is not None and len(names) != size):
        raise ScenarioError(f"{where}: holds no square matrix of at least 2 rows")
    first = lines[0][0]
    entries = np.array([[_entry(cell, number, where, quote=number > first) for cell in row] for number, row in lines])
    np.fill_diagonal(entries, np.nan)
    bad = impossible(entries) & ~np.isnan(entries)
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise ScenarioError(f"{where}: line {lines[row][0]} has {entries[row, column]:g}, not a delay of 0 or more")
    if np.isnan(entries).all():
        raise ScenarioError(f"{where}: holds no delay between two agents")
    return names, delays(entries, heading, unit, round_trip, where)


def _entry(cell: str, number: int, where: str, *, quote: bool) -> float:
    try:
        return number_or_none(cell)
    except ValueError:
        told = f"{cell[:40]!r}, not a number" if quote else "something else than numbers"
        raise ScenarioError(f"{where}: line {number} has {told}") from None


def _is_number(cell: str) -> bool:
    try:
        number_or_none(cell)
    except ValueError:
        return False
    return True
