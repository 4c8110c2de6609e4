"""From pydantic's findings to one sentence that names the field and says what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

_TYPE_WORDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "list_type": "a list",
    "tuple_type": "a list",
    "too_long": "a list of two agents",
}


def sentence(error: ValidationError, root: type[BaseModel]) -> str:
    """The first finding as a sentence; a further one is only counted."""
    findings = error.errors(include_url=False, include_context=True)
    # An unknown field explains a missing one (a misspelt name causes both), so it goes first.
    first = min(findings, key=lambda finding: finding["type"] != "extra_forbidden")
    return _one(first, root)


def _one(finding: ErrorDetails, root: type[BaseModel]) -> str:
    path = _path(finding["loc"])
    kind, context = finding["type"], finding.get("ctx", {})
    shown = _shown(finding["input"])
    if kind == "extra_forbidden":
        known = sorted(_names_at(finding["loc"][:-1], root))
        return f"{path}: there is no such field{_near(str(finding['loc'][-1]), known)}"
    if kind == "missing":
        return f"{path} is missing"
    if kind == "value_error":
        message = str(context["error"])
        inner, colon, rest = message.partition(": ")
        if colon and inner.isidentifier():  # a check over a whole table names the field that is wrong
            return f"{path}.{inner}: {rest}" if path else f"{inner}: {rest}"
        return f"{path} = {shown}: {message}"
    if kind in ("literal_error", "union_tag_invalid"):
        tag = str(context.get("discriminator", "")).strip("'")
        given = str(context.get("tag", finding["input"]))
        options = str(context.get("expected") or context["expected_tags"]).replace("'", "").replace(" or ", ", ")
        where = f"{path}.{tag}" if tag else path
        choices = [option.strip() for option in options.split(",")]
        return f"{where} = {given!r}: choose one of {', '.join(choices)}{_near(given, choices)}"
    if kind == "union_tag_not_found":
        tag = str(context["discriminator"]).strip("'")
        return f"{path}.{tag} is missing: it says which kind is meant"
    if kind in _TYPE_WORDS:
        return f"{path} = {shown}: {_TYPE_WORDS[kind]} is wanted"
    return f"{path} = {shown}: {finding['msg']}"


def _path(loc: Iterable[int | str]) -> str:
    """The dotted path as in the file: pydantic also lists the tags of unions, which are no fields."""
    return ".".join(str(part) for part in _fields_only(loc))


def _fields_only(loc: Iterable[int | str]) -> list[int | str]:
    parts: list[int | str] = []
    after_union = False
    for part in loc:
        if after_union and isinstance(part, str):
            after_union = False
            continue
        parts.append(part)
        after_union = part in UNIONS
    return parts


UNIONS = frozenset({"topology", "algorithm", "latency", "loss", "pacing", "time"})
"""Fields whose value is one of several tables, told apart by `kind` or `name`."""


def _names_at(loc: Iterable[int | str], root: type[BaseModel]) -> set[str]:
    """The fields of the table at `loc`; the tag in `loc` picks the member of a union."""
    model: Any = root
    pending: Any = None
    for part in loc:
        if pending is not None:
            model, pending = _member(pending, str(part)), None
        elif isinstance(part, str) and part in model.model_fields:
            found = _models(model.model_fields[part].annotation)
            if part in UNIONS and len(found) > 1:
                pending = found
            elif found:
                model = found[0]
    return {field.alias or name for name, field in model.model_fields.items()} if model else set()


def _member(models: list[type[BaseModel]], tag: str) -> type[BaseModel]:
    for model in models:
        for name in ("kind", "name"):
            field = model.model_fields.get(name)
            if field is not None and tag in getattr(field.annotation, "__args__", ()):
                return model
    return models[0]


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    found: list[type[BaseModel]] = []
    for inner in getattr(annotation, "__args__", ()):
        found += _models(inner)
    return found


def _near(given: str, known: list[str]) -> str:
    close = difflib.get_close_matches(given, known, n=1)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
