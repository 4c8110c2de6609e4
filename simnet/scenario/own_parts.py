"""What a file of the user's own parts holds, in the words of the reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simnet.errors import ScenarioError
from simnet.parts.foreign import file_module, own_classes
from simnet.parts.part import OneOf, Part
from simnet.scenario import Scenario
from simnet.scenario.reference import field_cells, paragraph
from simnet.scenario.schema import Path as At
from simnet.scenario.schema import Place, fields, place
from simnet.scenario.toml import dotted


def described(path: Path) -> dict[str, dict[str, str]]:
    """Reference → what it is and where it may stand, then its fields; one line each."""
    try:
        module = file_module(path)
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    found = {f"{path.name}:{name}": _lines(cls) for name, cls in own_classes(module) if issubclass(cls, Part)}
    if not found:
        raise ScenarioError(f"{path}: holds no part; one derives from a class of simnet.extend")
    return found


def _lines(part: type[Part]) -> dict[str, str]:
    homes = (at for at, one_of in _choices(Place(tables=(Scenario,)), ()) if issubclass(part, one_of.base))
    lines = {f"for {dotted(next(homes, ('nothing',)))}": paragraph(part)}
    for name, info in fields(part).items():
        value, default, meaning = field_cells(info)
        told = "required" if default == "required" else f"default {default.strip('`')}"
        lines[name] = f"{meaning} ({value.replace('`', '')}; {told})"
    return lines


def _choices(here: Place, at: At) -> Iterator[tuple[At, OneOf]]:
    """Every place of a scenario that holds one of several parts, in the order of the reference."""
    inside = here if here.item is None else here.item
    if inside.one_of is not None:
        yield at, inside.one_of
    for table in inside.tables:
        for name, info in fields(table).items():
            yield from _choices(place(info), (*at, name))
