"""What was done to a table before anybody learns from it: for the record, and for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simnet.learning.table_form import TableForm

_LONGEST, _NAMED = 40, 12
"""Characters of a name, and columns, that a fact shows."""


@dataclass(frozen=True)
class Prepared:
    """What became of the rows and columns of a file."""

    form: TableForm
    read: int
    left_out: int
    """rows with blanks"""
    blanks: int
    """cells that were filled"""
    numbers: tuple[str, ...]
    categories: tuple[tuple[str, int], ...]
    dropped: tuple[str, ...]
    label: str
    features: int

    def counts(self) -> dict[str, int]:
        """For the record; nothing if every row and column stayed as it was."""
        if not self.form.prepares:
            return {}
        return {
            "rows": self.read,
            "rows_left_out": self.left_out,
            "blanks_filled": self.blanks,
            "columns_left_out": len(self.dropped),
            "number_columns": len(self.numbers),
            "category_columns": len(self.categories),
            "features": self.features,
        }

    def told(self) -> dict[str, str]:
        """For people."""
        left = f"; {self.left_out:,} left out for a blank" if self.left_out else ""
        filled = {
            "mean": "the mean of the column, or a category of their own",
            "category": "0 and a feature of their own",
        }
        found = {
            "rows of the file": f"{self.read:,} read{left}",
            "blanks": f"{self.blanks:,} cells: {filled[self.form.missing]}" if self.form.missing in filled else "none",
            "label": self.label,
            "columns of numbers": _some(self.numbers),
            "columns of categories": _some([f"{name} ({count})" for name, count in self.categories]),
            "columns left out": _some(self.dropped),
            "features": f"{self.features:,}",
        }
        return {fact: said for fact, said in found.items() if said not in ("", "none")}


def _some(names: Sequence[str]) -> str:
    """The first of many."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(name[:_LONGEST] for name in names[:_NAMED]) + more
