"""Valid scenarios, generated from the models themselves: a new section or field is covered as soon as it exists.

    @given(scenarios(fixed={"rounds": st.integers(1, 3), "topology.kind": st.sampled_from(["ring", "star"])}))
    def test_...(scenario): ...

`fixed` gives the strategy of a field by its dotted path (entries of lists are all called 0); such a field and the
tables around it are always present, if its kind of table has it, and `st.just(ABSENT)` leaves a field out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st
from pydantic import ValidationError

from simnet.parts.fields import Either, Number, Text, YesNo
from simnet.scenario import Scenario
from simnet.scenario.schema import Place, Table, fields, place
from simnet.scenario.toml import dotted

ABSENT = object()

Fixed = Mapping[str, st.SearchStrategy[Any]]


def scenarios(fixed: Fixed | None = None) -> st.SearchStrategy[Scenario]:
    """Scenarios that load."""
    return contents(fixed).map(Scenario.of)


def contents(fixed: Fixed | None = None) -> st.SearchStrategy[dict[str, Any]]:
    """What TOML files of such scenarios hold; quantities are sometimes written with units."""
    return tables(Scenario, (), fixed or {})


@st.composite
def tables(draw: st.DrawFn, table: Table, at: tuple[str | int, ...], fixed: Fixed) -> dict[str, Any]:
    """One table of a model, with a random choice of its optional fields."""
    for _ in range(20):
        content: dict[str, Any] = {}
        for name, info in fields(table).items():
            path = (*at, name)
            if (strategy := fixed.get(dotted(path))) is not None:
                content[name] = draw(strategy)
            elif info.is_required() or _leads_to(path, fixed) or draw(st.booleans()):
                content[name] = draw(values(place(info), path, fixed))
        content = {name: value for name, value in content.items() if value is not ABSENT}
        if (
            fitting := _repaired(table, content, {name for name in content if dotted((*at, name)) in fixed})
        ) is not None:
            return fitting
    return reject()


def values(here: Place, at: tuple[str | int, ...] = (), fixed: Fixed | None = None) -> st.SearchStrategy[Any]:
    """What a file may hold at one place."""
    fixed = fixed or {}
    if here.tables:
        members = {kind: tables(table, at, fixed) for kind, table in here.kinds.items()}
        if here.tag and (kinds := fixed.get(dotted((*at, here.tag)))) is not None:
            return kinds.flatmap(lambda kind: members[kind].map(lambda content: content | {here.tag: kind}))
        plain = () if here.value is None else (accepted(here.value),)
        return st.one_of(*(members.values() or [tables(here.tables[0], at, fixed)]), *plain)
    if here.choices:
        return st.sampled_from(here.choices)
    if here.item is not None:
        entries = values(here.item, (*at, 0), fixed)
        return st.lists(entries, min_size=here.length or 0, max_size=here.length or 3)
    return st.one_of(*map(accepted, here.checks))


def accepted(check: Callable[[Any], Any]) -> st.SearchStrategy[Any]:
    """What one check lets through."""
    if isinstance(check, Number):
        return numbers(check)
    if isinstance(check, Text):
        return texts().filter(lambda text: _accepts(check, text))
    if isinstance(check, YesNo):
        return st.booleans()
    if isinstance(check, Either):
        return st.one_of(*map(accepted, check.checks))
    lists = st.lists(st.integers(0, 5), min_size=1) | st.lists(st.integers(1, 5), min_size=1)
    tables_of_words = st.dictionaries(st.sampled_from(["job", "city"]), st.just(["clerk", "nurse"]), min_size=1)
    one_of_many = st.sampled_from([";", "|", "\t"]) | tables_of_words
    anything = st.integers(1, 10**6) | st.floats(0.01, 0.99) | texts() | lists | one_of_many
    return anything.filter(lambda value: _accepts(check, value))


def numbers(check: Number) -> st.SearchStrategy[Any]:
    """Numbers within the bounds, plain or with a unit."""
    plain: st.SearchStrategy[Any]
    low = check.least or check.low
    if check.whole:
        plain = st.integers(int(check.low) + check.open_low, int(check.high) - check.open_high)
    else:
        plain = st.floats(
            None if math.isinf(low) else low,
            None if math.isinf(check.high) else check.high,
            exclude_min=check.open_low and not check.least,
            exclude_max=check.open_high,
            allow_nan=False,
            allow_infinity=False,
        )
    if not check.units:
        return plain
    units = st.sampled_from([*check.units])
    with_units = st.tuples(st.integers(0, 10**4), units).map(lambda pair: f"{pair[0]} {pair[1]}")
    return plain | with_units.filter(lambda text: _accepts(check, text))


def texts() -> st.SearchStrategy[str]:
    """Ordinary words, and texts that are hard to quote."""
    return st.sampled_from(
        ["adult", "synthetic", "a b", 'say "x"', "back\\slash", "#1", "é 模 \N{NO-BREAK SPACE}!"]
    ) | st.text(max_size=12)


def _repaired(table: Table, content: dict[str, Any], kept: set[str]) -> dict[str, Any] | None:
    """The content without the optional fields, also of tables in it, that the table's own checks complain about."""
    while True:
        try:
            table.model_validate(content)
        except ValidationError as error:
            name = str(error.errors()[0].get("ctx", {}).get("error", "")).partition(": ")[0]
            name, _, inner = name.partition(".")
            if name not in content or name in kept:
                return None
            if inner and isinstance(content[name], dict) and inner in content[name]:
                content = content | {name: {other: value for other, value in content[name].items() if other != inner}}
            elif inner or fields(table)[name].is_required():
                return None
            else:
                content = {other: value for other, value in content.items() if other != name}
        else:
            return content


def _leads_to(path: tuple[str | int, ...], fixed: Fixed) -> bool:
    return any(other.startswith(f"{dotted(path)}.") for other in fixed)


def _accepts(check: Callable[[Any], Any], value: Any) -> bool:
    try:
        check(value)
    except ValueError:
        return False
    return True
