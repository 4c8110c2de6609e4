"""From pydantic's findings to one sentence that names the field and says what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from simnet.parts.foreign import Loading
from simnet.scenario.schema import Path, Place, Table, fields, kind_of, locate, walk
from simnet.scenario.toml import dotted, key, shortened, shown

_UNKNOWN = ("extra_forbidden", "invalid_key")
_NAMED = 3
"""Kinds with a field that an error names."""


def sentence(error: ValidationError, root: Table, content: Mapping[str, Any], loading: Loading | None = None) -> str:
    """The finding that explains most, as `path = value: what would be right`, about what stands in `content`."""
    findings = error.errors(include_url=False)
    # A misspelt name is both an unknown field and a missing one: the unknown one is the mistake.
    first = min(findings, key=lambda finding: finding["type"] not in _UNKNOWN)
    if first["type"] in _UNKNOWN:
        return _unknown(first["loc"], root, loading)
    return _wrong(first, root, content, loading)


def unknown_choice(path: str, given: Any, choices: Iterable[str]) -> str:
    """The sentence about a word that is none of the choices."""
    known = tuple(choices)
    return f"{path} = {shown(given)}: {Place(choices=known).what}{_did_you_mean(given, known)}"


def _unknown(loc: tuple[str | int, ...], root: Table, loading: Loading | None) -> str:
    path, _ = locate(root, loc, loading)
    _, around = locate(root, loc[:-1], loading)
    assert around is not None, "pydantic looks only into tables that it knows"
    table, name = around.tables[0], path[-1]
    kind = kind_of(table)
    nothing = f"{kind} has no such field" if kind else "there is no such field"
    return f"{dotted(path)}: {nothing}{_where_instead(name, path[:-1], kind, table, root)}"


def _where_instead(name: str | int, at: Path, kind: str | None, table: Table, root: Table) -> str:
    """Who has the field: another kind, this table under a similar name, or another table."""
    siblings = [str(other) for path, other, found in walk(root) if path == at and name in fields(found)]
    if siblings and kind:
        others = len(siblings) - _NAMED
        named = [*siblings[:_NAMED], *([f"{others} other{'s' if others > 1 else ''}"] if others > 0 else [])]
        told = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
        return f" ({told} {'has' if len(named) == 1 else 'have'} it)"
    known = list(fields(table))
    if similar := _did_you_mean(name, known, likeness=0.8):
        return similar
    # A field of the table around a part, under this name or a similar one, is nearer than one of another section.
    around = [each for path, _, found in walk(root) if path == at[:-1] for each in fields(found)] if kind else []
    if found := _nearest(name, around, likeness=0.8):
        return f" (did you mean {dotted((*at[:-1], found))}?)"
    elsewhere = [
        (*path, name)
        for path, other, found in walk(root)
        if name in fields(found)
        and (not kind or (len(at) == 1 and not other and not any(isinstance(part, int) for part in path)))
    ]
    if elsewhere:
        return f" (did you mean {dotted(elsewhere[0])}?)"
    known = [each for each in known if each not in ("kind", "name")] if kind else known
    listed = shortened(f", choose from {', '.join(known)}", 120) if known else ", and none at all"
    return _did_you_mean(name, known) or listed


def _wrong(finding: ErrorDetails, root: Table, content: Mapping[str, Any], loading: Loading | None) -> str:
    path, place = locate(root, finding["loc"], loading)
    assert place is not None, "only an unknown field has no place"
    kind = finding["type"]
    if kind == "missing" and not isinstance(path[-1], int):
        return _missing(path, place)
    if kind == "missing":  # a list that is too short
        path, place = locate(root, finding["loc"][:-1], loading)
        assert place is not None
    if kind == "union_tag_not_found":
        return _missing((*path, str(place.tag)), Place(choices=tuple(place.kinds)))
    if kind == "union_tag_invalid":
        path, place = (*path, str(place.tag)), Place(choices=tuple(place.kinds))
    wanted = place.what
    if kind == "value_error":
        wanted = str(finding["ctx"]["error"])
        name, _, rest = wanted.partition(": ")
        inside = name.split(".")
        if rest and any(inside[0] in fields(table) for table in place.tables):
            # A check over a whole table names the field that is wrong.
            path, wanted = (*path, *inside), rest
    if place.item is not None and place.item.tables:
        wanted = f"a list of tables, each begun by [[{dotted(path)}]]"
    path, value, given = _as_written(path, content)
    if place.choices:
        return unknown_choice(dotted(path), value, place.choices)
    return f"{dotted(path)} = {shown(value)}: {wanted}" if given else f"{dotted(path)}: {wanted}"


def _missing(path: Path, place: Place) -> str:
    if place.tag:  # the table is missing altogether
        path, place = (*path, place.tag), Place(choices=tuple(place.kinds))
    return f"{dotted(path)} is missing: {place.what}"


def _as_written(path: Path, content: Any) -> tuple[Path, Any, bool]:
    """The path and value as they stand in the file, where a shorthand may stand for a table that is wrong inside."""
    here = content
    for depth, part in enumerate(path):
        if isinstance(here, Mapping):
            if part not in here:
                return path, None, False
            here = here[part]
        elif isinstance(here, (list, tuple)) and isinstance(part, int):
            here = here[part]
        else:
            return path[:depth], here, True
    return path, here, True


def _did_you_mean(given: Any, known: Iterable[str], likeness: float = 0.6) -> str:
    found = _nearest(given, known, likeness)
    return "" if found is None else f" (did you mean {key(found)}?)"


def _nearest(given: Any, known: Iterable[str], likeness: float) -> str | None:
    """The known name that is most like a given one, or that begins with it."""
    written = _plain(str(given)[:64])
    by_plain = {_plain(name): name for name in known}
    begun = [name for name in by_plain if name.startswith(written) and len(written) > 1]
    close = difflib.get_close_matches(written, by_plain, n=1, cutoff=likeness) or begun
    return by_plain[close[0]] if close else None


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-")
