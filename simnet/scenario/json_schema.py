"""The scenario file as a JSON Schema, by which editors complete fields and mark mistakes; `simnet schema` prints it.

It says less than simnet checks: rules between fields, files, and parts of a user's own are left to `simnet explain`. It
never refuses what simnet accepts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pydantic.fields import FieldInfo

from simnet.parts.fields import Either, Number, OneOrSeveral, Text, YesNo
from simnet.scenario import Scenario
from simnet.scenario.reference import paragraph
from simnet.scenario.schema import Place, Table, fields, place

Schema = dict[str, Any]
DIALECT = "http://json-schema.org/draft-07/schema#"
"""What editors of TOML read."""
_OWN_PART = {"type": "string", "pattern": ":"}
"""A part of a user's own: my_file.py:Class, or package.module:Class."""


def scenario_schema() -> Schema:
    """The schema of a scenario's file."""
    writer = _Writer()
    found = writer.scenario()
    return {"$schema": DIALECT, "title": "A scenario for simnet", **found, "definitions": writer.definitions}


def study_schema(root: Table) -> Schema:
    """The schema of a study's file, whose fields are those of `root`; `scenario` is a scenario inside it."""
    writer = _Writer()
    writer.definitions["scenario"] = writer.scenario()
    found = writer.table(root, {})
    found["properties"]["scenario"] |= {"$ref": "#/definitions/scenario"}
    return {"$schema": DIALECT, "title": "A study for simnet", **found, "definitions": writer.definitions}


class _Writer:
    """Writes each table once, among the definitions."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._names: dict[tuple[Table, str | None], str] = {}

    def scenario(self) -> Schema:
        """A whole scenario; who only reads its schema may meet one with an audit."""
        found = self.table(Scenario, {})
        found["properties"]["audit"] = {"type": "object", "description": "what `simnet audit` attacks, and how"}
        return found

    def table(self, table: Table, word: Schema) -> Schema:
        """A table with its fields; `word` is what its tag must be."""
        known = fields(table)
        properties = {name: self._field(info) for name, info in known.items() if name not in word}
        required = [*word, *(name for name, info in known.items() if info.is_required() and name not in word)]
        found: Schema = {"type": "object", "description": paragraph(table), "properties": {**word, **properties}}
        return found | {"additionalProperties": False} | ({"required": required} if required else {})

    def _reference(self, table: Table, tag: str | None = None, word: Schema | None = None) -> Schema:
        """The place of a table among the definitions."""
        key = table, None if word is None else repr(word)
        if key not in self._names:
            name = table.__name__.strip("_")
            name += "" if name not in self.definitions else str(len(self.definitions))
            self._names[key], self.definitions[name] = name, {}
            self.definitions[name] = self.table(table, {} if tag is None or word is None else {tag: word})
        return {"$ref": f"#/definitions/{self._names[key]}"}

    def _field(self, info: FieldInfo) -> Schema:
        found = self._place(place(info))
        if "$ref" in found:  # beside a reference nothing counts
            found = {"allOf": [found]}
        return found | ({"description": info.description} if info.description else {}) | _default(info)

    def _place(self, here: Place) -> Schema:
        """What one place accepts."""
        if here.tables:
            return self._tables(here)
        if here.checks:
            return _checked(here.checks[-1])
        if here.choices:
            return {"enum": [*here.choices]}
        if here.item is not None:
            sizes = {} if here.length is None else {"minItems": here.length, "maxItems": here.length}
            return {"type": "array", "items": self._place(here.item), **sizes}
        return {}

    def _tables(self, here: Place) -> Schema:
        """One table, or one of several by their tag; what may stand for one in short is not looked into."""
        in_short: list[Schema] = [{"not": {"type": "object"}}] if here.checks or here.value is not None else []
        if here.one_of is None or here.tag is None:
            choices = [*map(self._reference, here.tables), *in_short]
            return choices[0] if len(choices) == 1 else {"anyOf": choices}
        tag = here.tag
        listed = [self._reference(table, tag, {"const": kind}) for kind, table in here.kinds.items()]
        own = {"type": "object", "properties": {tag: _OWN_PART}, "required": [tag]}
        choices = [*listed, own, _OWN_PART]
        if here.one_of.otherwise is not None:
            choices += [self._reference(here.one_of.otherwise, tag, {"type": "string"}), {"type": "string"}]
        elif here.one_of.bare:
            choices.append({"enum": [*here.kinds]})
        else:
            choices += in_short
        return {"anyOf": choices}


def _default(info: FieldInfo) -> Schema:
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    return {"default": default} if isinstance(default, (str, int, float)) else {}


def _checked(check: Callable[[Any], Any]) -> Schema:
    """A plain value, by the check that it must pass."""
    match check:
        case Number():
            return _number(check)
        case Text():
            return {"type": "string", "minLength": 1}
        case YesNo():
            return {"type": "boolean"}
        case Either():
            return {"anyOf": [_checked(each) for each in check.checks]}
        case OneOrSeveral():
            one = _number(check.check)
            return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}
        case _:
            return {"description": what} if (what := getattr(check, "what", None)) else {}


def _number(check: Number) -> Schema:
    """A number within bounds; where units are known, also a text."""
    bounds: Schema = {}
    if check.low > -math.inf:
        bounds["exclusiveMinimum" if check.open_low else "minimum"] = check.low
    if check.high < math.inf:
        bounds["exclusiveMaximum" if check.open_high else "maximum"] = check.high
    # A whole number may be written as 1e3, which TOML takes for a float.
    number = {"type": "number", **({"multipleOf": 1} if check.whole else {}), **bounds}
    if not check.units:
        return number
    units = "|".join(sorted(check.units, key=len, reverse=True))
    return {"anyOf": [number, {"type": "string", "pattern": rf"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*({units})?\s*$"}]}
