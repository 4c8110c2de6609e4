"""Run folders on a terminal: what has been run, and what came out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from simnet.cli.output import say
from simnet.cli.terminal import number
from simnet.errors import SimnetError
from simnet.record.amounts import byte_unit, in_digits

_FIGURES = {
    "method": ("algorithm",),
    "agents": ("agents",),
    "rounds": ("rounds",),
    "seed": ("seed",),
    "test_error": ("accuracy", "test_error"),
    "proven_epsilon": ("privacy", "proven_epsilon"),
    "wire_bytes": ("communication", "wire_bytes"),
    "simulated": ("time", "simulated"),
}
"""Where summary.json has them."""
_HEADINGS = ("run", "method", "agents", "rounds", "seed", "error", "ε", "{unit}", "time s")


def listed(out: Path) -> list[dict[str, Any]]:
    """The run folders in a folder or in its folders, oldest first; one that cannot be read is a sentence on stderr."""
    from simnet.record.folder import load_summary

    folders = {path.parent for pattern in ("*", "*/*") for path in out.glob(f"{pattern}/summary.json")}
    found = []
    for folder in sorted(folders, key=lambda path: ((path / "summary.json").lstat().st_mtime, path)):
        try:
            summary = load_summary(folder)
            found.append({"folder": str(folder)} | {name: _at(summary, path) for name, path in _FIGURES.items()})
        except SimnetError as error:
            say(f"simnet: {error}", err=True)
    return found


def runs_table(runs: list[dict[str, Any]]) -> Table:
    """One row per run."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    size, unit = byte_unit([run["wire_bytes"] for run in runs if isinstance(run["wire_bytes"], int)])
    for place, heading in enumerate(_HEADINGS):
        table.add_column(heading.format(unit=unit), justify="left" if place < 2 else "right", overflow="fold")
    for run in runs:
        error, epsilon, sent, time = (run[name] for name in ("test_error", "proven_epsilon", "wire_bytes", "simulated"))
        table.add_row(
            run["folder"],
            *(str(run[name]) for name in ("method", "agents", "rounds", "seed")),
            *(_figure(value, digits) for value, digits in ((error, 4), (epsilon, 3))),
            _sent(sent, size),
            _figure(time, 2),
        )
    return table


def _at(summary: dict[str, Any], path: tuple[str, ...]) -> object:
    here: object = summary
    for part in path:
        here = here.get(part) if isinstance(here, dict) else None
    finite = not isinstance(here, float) or math.isfinite(here)  # JSON has no other numbers
    return here if isinstance(here, str | int | float) and finite else None


def _figure(value: object, digits: int) -> str:
    try:
        return number(float(value) if isinstance(value, int | float) else None, digits)
    except OverflowError:  # a number of hundreds of digits, which no run writes
        return "–"


def _sent(value: object, size: float) -> str:
    try:
        return in_digits(float(value) / size) if isinstance(value, int | float) else "–"
    except OverflowError:
        return "–"
