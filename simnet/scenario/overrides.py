"""`--set algorithm.eta=0.05`: change any field from outside the file."""

from __future__ import annotations

import tomllib
from typing import Any

from simnet.errors import ScenarioError


def parse_override(text: str) -> tuple[str, Any]:
    """Split `path=value`; the value is TOML, and a bare word is a string.

    >>> parse_override('network.link.loss={kind="bernoulli", p=0.2}')
    ('network.link.loss', {'kind': 'bernoulli', 'p': 0.2})
    >>> parse_override("algorithm.name=admm")
    ('algorithm.name', 'admm')
    """
    path, equals, value = text.partition("=")
    path, value = path.strip(), value.strip()
    if not equals or not path or not value:
        raise ScenarioError(f"--set {text!r}: write field=value, for example algorithm.eta=0.05")
    try:
        return path, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        if "\n" not in value and value[0] not in "{[\"'":
            return path, value
        raise ScenarioError(f"--set {text!r}: the value is not valid TOML") from None


def set_path(content: dict[str, Any], path: str, value: Any) -> None:
    """Set one field, given by its dotted path, in nested dictionaries."""
    *parents, last = path.split(".")
    here: Any = content
    for depth, key in enumerate(parents):
        if isinstance(here, list):
            here = _item(here, key, path)
            continue
        if not isinstance(here.setdefault(key, {}), (dict, list)):
            # A shorthand such as `loss = 0.05` gives way to the table that the path asks for.
            if depth == len(parents) - 1:
                here[key] = {}
            else:
                raise ScenarioError(f"{path}: {'.'.join(parents[: depth + 1])} is not a table")
        here = here[key]
    if isinstance(here, list):
        here[here.index(_item(here, last, path))] = value
    else:
        here[last] = value


def _item(items: list[Any], key: str, path: str) -> Any:
    if not key.isdecimal() or int(key) >= len(items):
        raise ScenarioError(f"{path}: {key!r} is not one of the {len(items)} entries, counted from 0")
    return items[int(key)]
