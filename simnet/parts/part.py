"""Sections and parts: the tables of a scenario file are the objects that do the work.

A *section* is a table of the file. A *part* is a section that is chosen among several by a word, its `kind` or `name`.
There is one table per kind of part, in the module of the parts. Validation, error sentences, the reference and
`simnet list` are all read off the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, ValidationError, ValidationInfo, create_model
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from simnet.parts.fields import NamesFile
from simnet.parts.foreign import Foreign, Loading, is_reference, load


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

    def foreign(self) -> Iterator[Foreign]:
        """The parts of the user's own among this table and those inside it."""
        if isinstance(self, Part) and self.bound is not None:
            yield self.bound
        for name in type(self).model_fields:
            value = getattr(self, name)
            for inner in value if isinstance(value, tuple) else (value,):
                if isinstance(inner, Section):
                    yield from inner.foreign()


class Part(Section):
    """A section that is chosen by a word: it has one required field whose only value is that word.

    A user's own class leaves that field out: its word is the reference by which a scenario names it.
    """

    bound: ClassVar[Foreign | None] = None
    """What binds a part of the user's own to the record."""
    says: ClassVar[tuple[str, ...]] = ()
    """Methods of its kind of which it must say at least one itself; the first is the simple one."""

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


class PartTable(dict[str, type[P]]):
    """Parts by their words. One that stands as a reference is followed when somebody asks for it."""

    def __getitem__(self, word: str) -> type[P]:
        part: Any = super().__getitem__(word)
        if isinstance(part, str):
            found = load(part, Loading())
            assert found is not None, "a table holds classes and references"
            part = found[0]
            self[word] = part
        return cast("type[P]", part)

    def get(self, word: str, default: Any = None) -> Any:
        found = super().get(word, default)
        return self[word] if isinstance(found, str) else found

    def values(self) -> Any:
        return [self[word] for word in self]

    def items(self) -> Any:
        return [(word, self[word]) for word in self]

    @property
    def known(self) -> tuple[type[P], ...]:
        """The parts whose classes are known without following a reference."""
        return tuple(part for part in super().values() if isinstance(part, type))


def table(*parts: type[P] | tuple[str, str]) -> PartTable[P]:
    """Parts by their words, in order; a word with a reference stands for a part that is loaded when it is asked for."""
    found: PartTable[P] = PartTable()
    for part in parts:
        if isinstance(part, tuple):
            cast("dict[str, Any]", found)[part[0]] = part[1]
            continue
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

    With `plain` the field may hold a plain value instead, which this check accepts and which stays what it is. With
    `bare` a word stands for its part with all defaults, and such a part is written as its word; any word that is
    nobody's stands for the part `otherwise`, if there is one. An entry of the table may be a reference, which is
    followed when its word is first used; `unfit` says why a user's own part cannot be used here.
    """

    parts: Mapping[str, type[Section]]
    short: Callable[[Any], Any] | None = None
    plain: Callable[[Any], Any] | None = None
    bare: bool = False
    unfit: Callable[[Any], str | None] | None = None
    otherwise: type[Section] | None = None
    of: type[Section] | None = None
    """what a user's own part derives from, if that is not the nearest class that all parts have in common"""

    @property
    def tag(self) -> str:
        """The field whose word chooses."""
        found = tag_of(self._here[0])
        assert found is not None, "`table` takes nothing else"
        return found[0]

    @cached_property
    def _here(self) -> tuple[type[Section], ...]:
        """The parts whose classes are known without following a reference."""
        return self.parts.known if isinstance(self.parts, PartTable) else tuple(self.parts.values())

    @cached_property
    def base(self) -> type[Section]:
        """What all parts of the table are."""
        if self.of is not None:
            return self.of
        return next(cls for cls in self._here[0].__mro__ if all(issubclass(part, cls) for part in self._here))

    @property
    def classes(self) -> tuple[type[Section], ...]:
        """All parts of the table, references followed."""
        return tuple(self.parts.values())

    def part(self, word: str, loading: Loading | None = None) -> type[Section] | None:
        """The part of that word: of the table, or the user's own; None if there is none. A ValueError says why not."""
        listed = self.parts.get(word)
        if listed is not None:
            return listed
        loading = loading or Loading()
        if self.otherwise is not None and not loading.allowed and not is_reference(word):
            return self.otherwise
        found = load(word, loading)
        if found is None:
            return self.otherwise
        cls, bound = found
        if not issubclass(cls, self.base):
            raise ValueError(f"{cls.__name__} is none: it does not derive from {self.base.__name__}")
        if missing := sorted(getattr(cls, "__abstractmethods__", ())):
            raise ValueError(f"{cls.__name__} does not say {', '.join(missing)}")
        says = getattr(self.base, "says", ())
        if says and all(getattr(cls, name) is getattr(self.base, name) for name in says):
            raise ValueError(f"{cls.__name__} does not say {says[0]}")
        if self.unfit is not None and (reason := self.unfit(cls)):
            raise ValueError(f"{cls.__name__} cannot be used here: {reason}")
        return _tagged(cls, self.tag, bound)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        every: Any = reduce(or_, self._here)
        chosen = Annotated[every, Field(discriminator=self.tag)] if len(self._here) > 1 else every
        schema = handler.generate_schema(chosen)
        if len(self._here) == 1 < len(self.parts):  # the others are references: a word is needed all the same
            tag = tag_of(self._here[0])
            assert tag is not None
            schema = core_schema.tagged_union_schema({tag[1]: schema}, discriminator=tag[0])
        return core_schema.with_info_wrap_validator_function(
            self._validated,
            schema,
            serialization=core_schema.wrap_serializer_function_ser_schema(
                self._written, info_arg=True, schema=core_schema.any_schema()
            ),
        )

    def _validated(self, value: Any, listed: core_schema.ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        if isinstance(value, str) and (self.bare or is_reference(value)):
            value = {self.tag: value}
        if self.plain is not None and not isinstance(value, (Mapping, Section)):
            return self.plain(value)
        if self.short is not None:
            value = self.short(value)
        if isinstance(value, self.base) and not isinstance(value, self._here):
            if tag_of(type(value)) is None and type(value) is not self.otherwise:
                raise ValueError(
                    f"{type(value).__name__} has no word here: name it as my_file.py:{type(value).__name__}"
                )
            return value
        word = value.get(self.tag) if isinstance(value, Mapping) else None
        if not isinstance(word, str) or self.parts.get(word) in self._here:
            return listed(value)
        try:
            part = self.part(word, info.context)
        except ValueError as error:
            raise ValueError(f"{self.tag}: {error}") from None
        return listed(value) if part is None else _checked(part, word, value, info.context)

    def _written(self, value: Any, handler: Any, info: core_schema.SerializationInfo) -> Any:
        if not isinstance(value, Section):
            return value
        if self.bare and value.model_fields_set <= {self.tag}:
            return getattr(value, self.tag)
        return value.model_dump(
            mode=info.mode,
            by_alias=info.by_alias,
            exclude_unset=info.exclude_unset,
            exclude_none=info.exclude_none,
        )


@cache
def _tagged(cls: type[Section], tag: str, bound: Foreign) -> type[Section]:
    """The user's class with the field by which a scenario chooses it."""
    derive: Any = create_model
    word = (Literal.__getitem__(bound.reference), ...)
    made = derive(cls.__name__, __base__=cls, __module__=cls.__module__, __doc__=cls.__doc__, **{tag: word})
    made.bound = bound
    return cast("type[Section]", made)


def _checked(part: type[Section], word: str, value: Any, context: Any) -> Any:
    """The value as that part. Errors are placed as pydantic places those of a listed part: behind its word."""
    try:
        return part.model_validate(value, context=context)
    except ValidationError as error:
        placed = [
            InitErrorDetails(
                type=found["type"], loc=(word, *found["loc"]), input=found["input"], ctx=found.get("ctx", {})
            )
            for found in error.errors(include_url=False)
        ]
        raise ValidationError.from_exception_data(error.title, placed) from None


@dataclass(frozen=True, eq=False)
class WordOf:
    """Marks a text field that holds one of the words of a table whose entries have no fields of their own."""

    words: Mapping[str, Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.words))
