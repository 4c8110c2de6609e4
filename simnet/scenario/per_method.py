"""[methods.<name>]: what changes in a scenario when it is run under that method.

A table there is shaped like the scenario itself:

    [methods.m-admm]
    algorithm.penalty_growth = 1.02
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

_TAGS = ("kind", "name")


@dataclass(frozen=True)
class _Tables:
    what: str

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
            raise ValueError(self.what)
        return value


class Frozen(dict[str, dict[str, Any]]):
    """Tables that can be hashed, as the rest of a scenario can."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(json.dumps(self, sort_keys=True, default=str))


MethodTables = Annotated[
    dict[str, dict[str, Any]],
    BeforeValidator(_Tables("a table for each method, with what changes in the scenario under it")),
    AfterValidator(Frozen),
]


def merged(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`content` with the `changes` made; a table of another kind replaces the one before it."""
    found = dict(content)
    for field, value in changes.items():
        before = found.get(field)
        if isinstance(value, dict) and isinstance(before, dict) and not _other_kind(before, value):
            found[field] = merged(before, value)
        else:
            found[field] = value
    return found


def _other_kind(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return any(tag in after and after[tag] != before.get(tag) for tag in _TAGS)
