"""Wild scenarios: a small ordinary one, in which some fields have any value that they may have, ordinary or extreme.

Everything is read off the models, so a new field, part or bound is covered as soon as it exists. Few fields change at a
time: a scenario in which everything is wild is refused for its first misfit, and tells nothing about the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from simnet.methods import METHODS
from simnet.parts.fields import Either, Number, YesNo
from simnet.scenario import Scenario
from simnet.scenario.schema import Place, Table, fields, place

HERE = Path(__file__).parents[1] / "sim"
FILES = [str(HERE / name) for name in ("cell.txt", "contacts.csv", "delay_trace.csv", "delays.csv", "fates.txt")]
FILES += [str(HERE / name) for name in ("steps.csv", "up.csv", "nowhere.csv")]
FLOATS = (0.0, 5e-324, 1e-300, 1e-30, 1e-9, 1e-3, 0.1, 0.5, 0.9, 1.0, 2.0, 10.0, 1e3, 1e6, 1e9, 1e12, 1e18, 1e30)
WHOLES = (0, 1, 2, 3, 4, 5, 10, 40, 100, 1500, 10**9, 2**31, 2**53)
WORDS = ("adult", "synthetic", "twonorm", "ringnorm", "waveform", "a9a", "x")

Path_ = tuple[str, ...]


def base(method: str) -> dict[str, Any]:
    """Four agents that learn for three rounds from eighty rows."""
    kind = "star" if METHODS[method].central else "ring"
    return {
        "name": "wild",
        "rounds": 3,
        "data": {"source": "synthetic", "rows": 120, "features": 3, "train": 80},
        "topology": {"kind": kind, "agents": 4},
        "algorithm": {"name": method},
        "privacy": {"epsilon": 20.0},
    }


def leaves(table: Table = Scenario, at: Path_ = ()) -> Iterator[tuple[Path_, Place]]:
    """Every field that can be set without choosing a kind first."""
    for name, info in fields(table).items():
        here = place(info)
        if len(here.tables) == 1 and not any(each.is_required() for each in fields(here.tables[0]).values()):
            yield from leaves(here.tables[0], (*at, name))
        elif at != () or name not in ("algorithm", "methods"):
            yield (*at, name), here


@st.composite
def wild_contents(draw: st.DrawFn) -> dict[str, Any]:
    """What the file of a wild scenario holds."""
    method = draw(st.sampled_from(sorted(METHODS)))
    content = base(method)
    for name, info in fields(METHODS[method]).items():
        if name != "name" and draw(st.integers(0, 3)) == 0:
            content["algorithm"][name] = draw(wild(place(info)))
    for path, here in draw(st.lists(st.sampled_from(LEAVES), min_size=1, max_size=6, unique_by=lambda leaf: leaf[0])):
        table = content
        for name in path[:-1]:
            table = table.setdefault(name, {})
        table[path[-1]] = draw(wild(here))
    return deepcopy(content)


def wild(here: Place) -> st.SearchStrategy[Any]:
    """Any value that may stand at a place."""
    if here.tables:
        plain = () if here.value is None else (values(here.value),)
        return st.one_of(*map(tables, here.tables), *plain)
    if here.choices:
        return st.sampled_from(here.choices)
    if here.item is not None:
        return st.lists(wild(here.item), min_size=here.length or 0, max_size=here.length or 3)
    return st.one_of(*map(values, here.checks)) if here.checks else st.sampled_from(WORDS)


@st.composite
def tables(draw: st.DrawFn, table: Table) -> dict[str, Any]:
    """A table with what it needs, and now and then something more."""
    return {
        name: draw(wild(place(info)))
        for name, info in fields(table).items()
        if info.is_required() or draw(st.integers(0, 2)) == 0
    }


def values(check: Callable[[Any], Any]) -> st.SearchStrategy[Any]:
    """What one check lets through: its bounds, and numbers of all sizes between them."""
    if isinstance(check, YesNo):
        return st.booleans()
    if isinstance(check, Either):
        return st.one_of(*map(values, check.checks))
    pool: list[Any] = [*WORDS, *FILES, *FLOATS, *WHOLES, [0], [0, 1], [0, 1, 2], [1, 2], ";", {"job": ["clerk"]}]
    if isinstance(check, Number):
        bounds = {check.low, check.high, check.least} - {math.inf, -math.inf}
        pool = [*WHOLES, *map(int, bounds)] if check.whole else [*FLOATS, *bounds]
    accepted = [value for value in pool if _accepts(check, value)]
    return st.sampled_from(accepted)


def _accepts(check: Callable[[Any], Any], value: Any) -> bool:
    try:
        check(value)
    except ValueError:
        return False
    return True


LEAVES = list(leaves())
