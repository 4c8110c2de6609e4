"""What may stand at each place of a scenario file, read off the models.

Sentences, overrides and the reference ask here, so that a new section, field or kind needs no edit in any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from simnet.parts.foreign import Loading, is_reference
from simnet.parts.part import OneOf, WordOf, bare_word, tag_of

Table = type[BaseModel]
Path = tuple[str | int, ...]

_PLAIN_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Place:
    """What one place accepts: a table, perhaps one of several parts; a word; a list; or what its checks let through."""

    tables: tuple[Table, ...] = ()
    choices: tuple[str, ...] = ()
    item: Place | None = None
    length: int | None = None
    plain: tuple[type, ...] = ()
    checks: tuple[Callable[[Any], Any], ...] = ()
    value: Callable[[Any], Any] | None = None
    """the check of a plain value that may stand in place of the tables"""
    default: Any = None
    one_of: OneOf | None = None
    """what chooses among the tables"""
    chosen: bool = False

    @property
    def what(self) -> str:
        """What would be right here, in words."""
        for check in self.checks:
            if words := getattr(check, "what", None):
                return str(words)
        if self.tables:
            table = f"a table whose {self.tag} is one of {', '.join(self.kinds)}" if self.tag else "a table"
            if self.one_of is not None and self.one_of.bare:
                other = self.one_of.otherwise
                words = [*self.kinds, *(() if other is None else (getattr(other, "what", "another word"),))]
                return f"one of {', '.join(words)}, or a table with that {self.tag}"
            return table if self.value is None else f"{getattr(self.value, 'what', 'a value')}, or {table}"
        if self.choices:
            words = ", ".join(self.choices)
            return f"choose one of {words}" if len(self.choices) > 1 else f"only {words} is possible"
        if self.item is not None:
            if self.item.tables:
                return "a list of tables"
            entries = f"a list of {self.length}, each" if self.length else "a list, each entry"
            return f"{entries} {self.item.what}"
        return " or ".join(_PLAIN_WORDS[kind] for kind in self.plain) or "something else"

    @property
    def tag(self) -> str | None:
        """The field whose word chooses among the tables; None if they are no parts."""
        tag = tag_of(self.tables[0]) if self.tables else None
        return None if tag is None else tag[0]

    @property
    def kinds(self) -> dict[str, Table]:
        """The parts by their words."""
        return {word: table for table in self.tables if (word := kind_of(table)) is not None}

    def field(self, name: str) -> Place | None:
        """The place of a field, in the first table that has it."""
        for table in self.tables:
            if name in fields(table):
                return place(fields(table)[name])
        return None

    def spelled_out(self, value: object) -> Any:
        """A shorthand (`loss = 0.05`) as the table that it stands for; anything else as it is."""
        if self.tables and not isinstance(value, dict):
            for check in self.checks:
                value = check(value)
        return value


def fields(table: Table) -> dict[str, FieldInfo]:
    """The fields of a table by their names in the file."""
    return {info.alias or name: info for name, info in table.model_fields.items()}


def kind_of(table: Table) -> str | None:
    """The word that chooses this table; None if it is no part."""
    tag = tag_of(table)
    return None if tag is None else tag[1]


def place(info: FieldInfo) -> Place:
    """The place of one field."""
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    return replace(_place(info.annotation, (info, *info.metadata)), default=default)


def locate(root: Table, loc: Iterable[str | int], loading: Loading | None = None) -> tuple[Path, Place | None]:
    """Follow pydantic's `loc`: the path as in the file, and the place there; no place for an unknown field.

    Pydantic also lists the tags of unions and the names of Python types, which are no part of the path.
    """
    path: Path = ()
    here: Place | None = Place(tables=(root,))
    for part in loc:
        if here is None:
            break
        if here.one_of is not None and not here.chosen and (len(here.tables) > 1 or is_reference(part)):
            chosen = here.one_of.part(str(part), loading)
            assert chosen is not None, "pydantic looks only into tables that it knows"
            here = replace(here, tables=(chosen,), chosen=True)
        elif here.tables:
            path, here = (*path, part), here.field(str(part))
        elif here.item is not None and isinstance(part, int):
            path, here = (*path, part), here.item
    return path, here


def walk(root: Table, at: Path = ()) -> Iterator[tuple[Path, str | None, Table]]:
    """Every table that a file may hold: its path, its kind where there are several, and its model."""
    yield from _walk(Place(tables=(root,)), at)


def _walk(here: Place, at: Path) -> Iterator[tuple[Path, str | None, Table]]:
    if here.item is not None:
        yield from _walk(here.item, (*at, 0))
    for table in here.tables:
        yield at, kind_of(table), table
        for name, info in fields(table).items():
            yield from _walk(place(info), (*at, name))


def _place(annotation: Any, metadata: tuple[Any, ...]) -> Place:
    checks: tuple[Any, ...] = tuple(found.func for found in metadata if isinstance(found, BeforeValidator))
    origin, inside = get_origin(annotation), get_args(annotation)
    for found in metadata:
        if isinstance(found, OneOf):
            short = (found.short,) if found.short is not None else (bare_word,) if found.bare else ()
            return Place(tables=found.classes, checks=(*short, *checks), value=found.plain, one_of=found)
        if isinstance(found, WordOf):
            return Place(choices=tuple(found.words), checks=checks)
    if origin is Annotated:
        return _place(inside[0], (*annotation.__metadata__, *metadata))
    if origin is Literal:
        return Place(choices=tuple(map(str, inside)), checks=checks)
    if origin in (list, tuple):
        fixed = origin is tuple and inside[-1] is not Ellipsis
        return Place(item=_place(inside[0], ()), length=len(inside) if fixed else None, checks=checks)
    if origin in (Union, UnionType):
        members = tuple(member for member in inside if member is not NoneType)
        return _place(members[0], metadata) if len(members) == 1 else Place(plain=_plain(members), checks=checks)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Place(tables=(annotation,), checks=checks)
    return Place(plain=_plain((annotation,)), checks=checks)


def _plain(kinds: tuple[Any, ...]) -> tuple[type, ...]:
    return tuple(kind for kind in kinds if kind in _PLAIN_WORDS)
