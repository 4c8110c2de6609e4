"""Changes to a scenario from outside its own fields: `--set algorithm.eta=0.05`, and [methods.<name>].

A table of [methods.<name>] is what changes under that method. It is shaped like the scenario itself:

    [methods.m-admm]
    algorithm.penalty_growth = 1.02
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from simnet.errors import ScenarioError
from simnet.printable import escaped
from simnet.scenario.schema import Place, Table, fields
from simnet.scenario.toml import dotted, key, parse, shortened, shown

if TYPE_CHECKING:
    from simnet.scenario import Scenario

_DEEPEST = 32
_TAGS = ("kind", "name")


def parse_override(text: str) -> tuple[str, Any]:
    """Split `path=value`; the value is TOML, and a bare word or quantity is a string.

    >>> parse_override('network.link.loss={kind="bernoulli", p=0.2}')
    ('network.link.loss', {'kind': 'bernoulli', 'p': 0.2})
    >>> parse_override("algorithm.name=admm")
    ('algorithm.name', 'admm')
    >>> parse_override("network.link.latency=20 ms")
    ('network.link.latency', '20 ms')
    """
    path, equals, value = text.partition("=")
    path, value = path.strip(), value.strip()
    if not equals or not path or not value:
        raise ScenarioError(f"--set {shown(text)}: write field=value, for example algorithm.eta=0.05")
    try:
        found = parse(f"value = {value}", "value")
        if list(found) == ["value"]:
            return path, found["value"]
    except ScenarioError:
        if value.isprintable() and value[0] not in "{[\"'":
            return path, value
    raise ScenarioError(f"--set {shown(text)}: the value is not valid TOML")


def set_path(content: dict[str, Any], path: str, value: Any, root: Table) -> None:
    """Set one field, given by its dotted path, in `content` shaped like a file of `root`.

    Tables on the way are made where they are absent, with the kind that they have by default, and a shorthand such as
    `loss = 0.05` gives way to the table that it stands for. The entry after a list's last one is a new entry.
    """
    parts = [part.strip() for part in path.split(".")]
    if not all(parts) or len(parts) > _DEEPEST:
        raise ScenarioError(f"{shortened(escaped(path), 80)}: write a dotted path, for example algorithm.eta")
    here: Any = content
    place: Place | None = Place(tables=(root,))
    for depth, part in enumerate(parts[:-1]):
        slot = _slot(here, part, path)
        place = None if place is None else place.item or place.field(part)
        here[slot] = _opened(here[slot], place, parts[depth + 1])
        if not isinstance(here[slot], (dict, list)):
            raise ScenarioError(f"{dotted(parts)}: {dotted(parts[: depth + 1])} = {shown(here[slot])} is not a table")
        here = here[slot]
    here[_slot(here, parts[-1], path)] = value


def _slot(here: dict[str, Any] | list[Any], part: str, path: str) -> Any:
    """Where in `here` the part is, with room made for it."""
    if isinstance(here, dict):
        here.setdefault(part, None)
        return part
    if not (part.isascii() and part.isdecimal() and len(part) < 10) or int(part) > len(here):
        raise ScenarioError(f"{dotted(path.split('.'))}: the list has no entry {key(part)}, and {len(here)} adds one")
    if int(part) == len(here):
        here.append(None)
    return int(part)


def _opened(value: Any, place: Place | None, part: str) -> Any:
    """The value as a table or list into which the part can be set."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if value is not None:
        return value if place is None else place.spelled_out(value)
    if place is not None and place.item is not None:
        return []
    if place is not None and place.tag and place.default is not None and part != place.tag:
        return {place.tag: getattr(place.default, place.tag)}
    return {}


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


def with_other_parts(base: Scenario, settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Settings that choose another part, with the fields of the base that it has as well; and those it has not.

    Changes of tables come before changes inside them.
    """
    changes: dict[str, Any] = {}
    dropped: list[str] = []
    for field, value in settings.items():
        table, _, last = field.rpartition(".")
        part = _chosen(_place_of(table, type(base)), last, value, base)
        if part is None:
            changes[field] = value
            continue
        before = inside(base.content(), table)
        before = before if isinstance(before, Mapping) else {}
        changes[table] = {name: each for name, each in before.items() if name in fields(part)} | {last: value}
        dropped += [f"{table}.{name}" for name in before if name not in changes[table]]
    return dict(sorted(changes.items(), key=lambda change: change[0].count("."))), dropped


def _chosen(place: Place | None, field: str, value: object, base: Scenario) -> Table | None:
    """The part that a setting chooses; None if it sets something else, or nothing that there is."""
    if place is None or place.one_of is None or field != place.tag or not isinstance(value, str):
        return None
    try:
        return place.one_of.part(value, base.loading)
    except ValueError:  # the field itself will say what is wrong
        return None


def _place_of(path: str, root: Table) -> Place | None:
    """What a dotted path leads to; None for a path that leads nowhere."""
    here: Place | None = Place(tables=(root,))
    for part in path.split(".") if path else ():
        here = None if here is None else here.item or here.field(part)
    return here


def inside(content: Any, path: str) -> Any:
    """What stands at a dotted path; None if nothing does."""
    for part in path.split("."):
        if isinstance(content, list) and part.isdecimal() and int(part) < len(content):
            content = content[int(part)]
        elif isinstance(content, Mapping):
            content = content.get(part)
        else:
            return None
    return content
