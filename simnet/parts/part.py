"""Sections and parts: the tables of a scenario file are the objects that do the work.

A *section* is a table of the file. A *part* is a section that is chosen among several by a word, its `kind` or `name`.
There is one table per kind of part, in the module of the parts. Validation, error sentences, the reference and
`simnet list` are all read off the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from simnet.parts.fields import NamesFile


class Section(BaseModel):
    """A table of the scenario file: no unknown fields, nothing changes after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)

    def files(self) -> Iterator[str]:
        """The files that this table and those inside it name, as the scenario writes them."""
        for name, info in type(self).model_fields.items():
            value = getattr(self, name)
            if value is not None and any(isinstance(mark, NamesFile) for mark in info.metadata):
                yield value
            for inner in value if isinstance(value, tuple) else (value,):
                if isinstance(inner, Section):
                    yield from inner.files()


class Part(Section):
    """A section that is chosen by a word: it has one required field whose only value is that word."""

    @property
    def word(self) -> str:
        """What a scenario calls it."""
        tag = tag_of(type(self))
        assert tag is not None, "`table` takes nothing else"
        return tag[1]


P = TypeVar("P", bound=Section)


def tag_of(part: type[BaseModel]) -> tuple[str, str] | None:
    """The field by which a part is chosen, and its word; None for a plain section."""
    for name, info in part.model_fields.items():
        values = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
        if info.is_required() and len(values) == 1:
            return name, str(values[0])
    return None


def table(*parts: type[P]) -> dict[str, type[P]]:
    """Parts by their words, in order."""
    found: dict[str, type[P]] = {}
    for part in parts:
        tag = tag_of(part)
        if tag is None:
            raise TypeError(f"{part.__name__} has no field of one word by which a scenario could choose it")
        if tag[1] in found:
            raise TypeError(f"{part.__name__} and {found[tag[1]].__name__} are both called {tag[1]!r}")
        found[tag[1]] = part
    return found


def bare_word(value: object) -> object:
    """A bare word stands for the kind with its defaults."""
    return {"kind": value} if isinstance(value, str) else value


@dataclass(frozen=True, eq=False)
class OneOf:
    """Marks a field that holds one of the parts of a table; `short` spells out what may stand for a whole table.

    With `plain` the field may hold a plain value instead, which this check accepts and which stays what it is.
    """

    parts: Mapping[str, type[Section]]
    short: Callable[[Any], Any] | None = None
    plain: Callable[[Any], Any] | None = None

    @property
    def tag(self) -> str:
        """The field whose word chooses."""
        found = tag_of(next(iter(self.parts.values())))
        assert found is not None, "`table` takes nothing else"
        return found[0]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        every: Any = reduce(or_, self.parts.values())
        chosen = Annotated[every, Field(discriminator=self.tag)] if len(self.parts) > 1 else every
        schema = handler.generate_schema(chosen)
        if self.plain is not None:
            plain = self.plain

            def either(value: Any, parts: core_schema.ValidatorFunctionWrapHandler) -> Any:
                return parts(value) if isinstance(value, (Mapping, Section)) else plain(value)

            as_it_is = core_schema.simple_ser_schema("any")
            return core_schema.no_info_wrap_validator_function(either, schema, serialization=as_it_is)
        return schema if self.short is None else core_schema.no_info_before_validator_function(self.short, schema)


@dataclass(frozen=True, eq=False)
class WordOf:
    """Marks a text field that holds one of the words of a table whose entries have no fields of their own."""

    words: Mapping[str, Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.words))
