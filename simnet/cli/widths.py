"""Tables that are too wide for a terminal: they are turned, and nothing of them is cut."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Column, Table

_UNLIMITED = 10_000


def needed_by(renderable: RenderableType, out: Console) -> Measurement:
    """The least and the most characters per line that something has."""
    found = Measurement.get(out, out.options.update(width=_UNLIMITED), renderable)
    if isinstance(renderable, Table):
        each = [_column_needs(column, out) for column in renderable.columns]
        found = Measurement(found.minimum + sum(wants.minimum - rich for wants, rich in each), found.maximum)
    return found


def fitting(table: Table, out: Console) -> list[Table]:
    """The same table if it is narrow enough, else turned, a row in each column, with as many rows as fit at a time."""
    for column in table.columns:
        column.overflow = "fold"
    if len(table.columns) < 3 or not table.show_header or needed_by(table, out).minimum <= out.width:
        return [_with_whole_words(table, out)]
    headings, rows = _parts(table)
    found: list[Table] = []
    while rows:
        many = len(rows)
        while many > 1 and needed_by(_turned(table, headings, rows[:many]), out).minimum > out.width:
            many -= 1
        found.append(_turned(table, headings, rows[:many]))
        rows = rows[many:]
    for each in found:
        _with_whole_words(each, out)
    for later in found[1:]:
        later.title = None
    for earlier in found[:-1]:
        earlier.caption = None
    return found or [table]


def _with_whole_words(table: Table, out: Console) -> Table:
    """The same table with widths in which no word is broken, where there is room for that.

    Left alone, a table takes what is missing from its widest columns, even if a word is broken by it.
    """
    needed = needed_by(table, out)
    if needed.maximum <= out.width or not _breaks_words(table, out):
        return table
    each = [_column_needs(column, out) for column in table.columns]
    beside = needed.minimum - sum(wants.minimum for wants, _ in each)
    room = out.width - beside
    level = max(wants.maximum for wants, _ in each)
    while level and sum(_at_most(level, wants) for wants, _ in each) > room:
        level -= 1
    if level:
        left = room - sum(_at_most(level, wants) for wants, _ in each)
        for column, (wants, _) in reversed(list(zip(table.columns, each, strict=True))):
            column.width = _at_most(level, wants)
            more = min(left, _at_most(level + 1, wants) - column.width)
            column.width, left = column.width + more, left - more
    return table


def _breaks_words(table: Table, out: Console) -> bool:
    """Whether some word is not whole in the table as Rich sets it."""
    with out.capture() as captured:
        out.print(table)
    told = captured.get()
    cells = (str(cell) for column in table.columns for cell in (column.header, *column.cells))
    return any(word not in told for cell in cells for word in cell.split())


def _at_most(level: int, wants: Measurement) -> int:
    """A width of at most `level`, unless a word is longer."""
    return max(wants.minimum, min(wants.maximum, level))


def _column_needs(column: Column, out: Console) -> tuple[Measurement, int]:
    """The least and the most characters that a column takes beside its padding; and the least for all that Rich knows.

    Rich measures a column that must not be wrapped as if it might be.
    """
    needs = [needed_by(cell, out) for cell in (column.header, *column.cells)]
    least, most = max(each.minimum for each in needs), max(each.maximum for each in needs)
    return Measurement(most if column.no_wrap else least, most), least


def _parts(table: Table) -> tuple[list[RenderableType], list[tuple[RenderableType, ...]]]:
    """The headings, and the rows."""
    cells = [tuple(column.cells) for column in table.columns]
    return [column.header for column in table.columns], list(zip(*cells, strict=True))


def _turned(table: Table, headings: list[RenderableType], rows: list[tuple[RenderableType, ...]]) -> Table:
    found = Table(title=table.title, caption=table.caption, box=table.box)
    for place, heading in enumerate((headings[0], *(row[0] for row in rows))):
        found.add_column(heading, style="" if place else "bold", justify="right" if place else "left", overflow="fold")
    for place, heading in enumerate(headings[1:], start=1):
        found.add_row(heading, *(row[place] for row in rows))
    return found
