"""A scenario as a record keeps it, checked without running any code that it names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from simnet.scenario import Scenario
from simnet.scenario.schema import Place, Table, fields, place

_STAND_IN = {"name": "admm"}
"""Stands for a method of the user's own."""


def stored(content: Mapping[str, Any], foreign: Collection[str], folder: Path | None = None) -> Scenario:
    """The scenario of a record, with something of ours in place of the parts in `foreign`: nothing of them is loaded.

    A ScenarioError says what cannot be: a record that holds it was not written by simnet.
    """
    ours = _without(content, Scenario, frozenset(foreign))
    if "algorithm" in content and "algorithm" not in ours:
        ours["algorithm"] = _STAND_IN
    return Scenario.of(ours, folder=folder, only_reading=True)


def _without(content: Mapping[str, Any], table: Table, foreign: frozenset[str]) -> dict[str, Any]:
    """A table without the parts of the user's own inside it."""
    known = fields(table)
    return {
        name: kept
        for name, value in content.items()
        if (kept := _kept(value, place(known[name]) if name in known else Place(), foreign)) is not None
    }


def _kept(value: Any, here: Place, foreign: frozenset[str]) -> Any:
    """What is left of a field; None if it is a part of the user's own."""
    if here.item is not None and isinstance(value, (list, tuple)):
        return [kept for each in value if (kept := _kept(each, here.item, foreign)) is not None]
    if isinstance(value, str):
        return None if value in foreign and here.tables else value
    if not isinstance(value, Mapping) or not here.tables:
        return value
    if here.tag is None:
        return _without(value, here.tables[0], foreign)
    word = value.get(here.tag)
    if isinstance(word, str) and word in foreign:
        return None
    part = here.kinds.get(word) if isinstance(word, str) else None
    return value if part is None else _without(value, part, foreign)
