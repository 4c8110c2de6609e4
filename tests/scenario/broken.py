"""Scenarios with exactly one mistake each, most of them derived from the models, so that new fields are covered.

`broken_scenarios()` are all of them; `Broken.put` makes the file, `Broken.overrides` are arguments of `--set`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from simnet.parts.fields import Number, Text, YesNo
from simnet.scenario import Scenario
from simnet.scenario.schema import Place, Table, fields, kind_of, place
from simnet.scenario.toml import dotted

VALID = b'[algorithm]\nname = "ipp-admm"\n'
HUGE = 10**400


@dataclass(frozen=True)
class Broken:
    """One mistake: where it is, what it is, what the sentence about it begins with, and what the user gives.

    `file` holds the bytes of the scenario file; without them there is no such file, or a `folder` in its place.
    """

    place: str
    label: str
    names: str
    file: bytes | None = VALID
    overrides: tuple[str, ...] = ()
    folder: bool = False

    @contextmanager
    def put(self, path: Path) -> Iterator[None]:
        """For a while, `path` is what the user points the command at."""
        if self.folder:
            path.mkdir()
        elif self.file is not None:
            path.write_bytes(self.file)
        yield
        if self.folder:
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Reach:
    """A table that a file may hold, and how to write a file that holds only it and what it needs."""

    at: tuple[str | int, ...]
    here: Place
    table: Table
    wrap: Callable[[Any], dict[str, Any]]

    @property
    def label(self) -> str:
        kind = f" ({kind_of(self.table)})" if self.here.tag else ""
        return f"{dotted(self.at) or 'the file'}{kind}"


@cache
def broken_scenarios() -> tuple[Broken, ...]:
    """Every mistake that we know how to make before a run starts."""
    found = [*_systematic(), *_WHOLE_TABLES, *_UNREADABLE, *_OVERRIDES]
    # Kinds of one union share some mistakes, such as a tag that is missing.
    return tuple({(broken.file, broken.overrides, broken.folder): broken for broken in found}.values())


def reachable() -> Iterator[Reach]:
    """Every table of every kind at every place of the file."""
    yield from _reach(Place(tables=(Scenario,)), (), lambda content: content)


@cache
def least(table: Table) -> dict[str, Any]:
    """The shortest content of a table that is valid, to be read only."""
    content = {name: _example(place(info)) for name, info in fields(table).items() if info.is_required()}
    if _valid(table, content):
        return content
    optional = {name: _example(place(info)) for name, info in fields(table).items() if name not in content}
    return next(content | {name: value} for name, value in optional.items() if _valid(table, content | {name: value}))


def _reach(here: Place, at: tuple[str | int, ...], wrap: Callable[[Any], Any]) -> Iterator[Reach]:
    if here.item is not None:
        yield from _reach(here.item, (*at, 0), lambda entry: wrap([entry]))
    for table in here.tables:
        yield Reach(at, here, table, wrap)
        for name, info in fields(table).items():
            yield from _reach(place(info), (*at, name), partial(_wrapped, wrap, table, name))


def _wrapped(wrap: Callable[[Any], Any], table: Table, name: str, value: Any) -> Any:
    return wrap(least(table) | {name: value})


def _systematic() -> Iterator[Broken]:
    for reach in reachable():
        for label, names, content in _mistakes(reach):
            text = tomli_w.dumps(reach.wrap(content)).encode()
            yield Broken(reach.label, label, dotted((*reach.at, *names)), text)


def _mistakes(reach: Reach) -> Iterator[tuple[str, tuple[str | int, ...], dict[str, Any]]]:
    """What went wrong, where inside the table, and the table."""
    good = least(reach.table)
    for unknown in ("no_such_field", "1", "Ünknown field", "a\nb"):
        yield f"unknown field {unknown!r}", (unknown,), good | {unknown: 1}
    for name, info in fields(reach.table).items():
        here = place(info)
        if name == reach.here.tag:
            other = None if reach.here.one_of is None else reach.here.one_of.otherwise
            here = Place(choices=tuple(reach.here.kinds)) if other is None else place(fields(other)[name])
        if info.is_required():
            names = (name, here.tag) if here.tag else (name,)
            yield f"no {name}", names, {other: value for other, value in good.items() if other != name}
        for value in _bad(here):
            yield f"{name} = {value!r}"[:80], (name,), good | {name: value}
        if here.item is not None:
            for value in _bad(here.item):
                entries = [value] * (here.length or 1)
                yield f"{name} = {entries!r}"[:80], (name, 0), good | {name: entries}


def _bad(here: Place) -> list[Any]:
    """Values that must not be accepted at a place, by what it says it wants."""
    if here.tables:
        any_word = here.one_of is not None and here.one_of.otherwise is not None
        return [True, "two\nlines" if any_word else "nonsense", [], date(2024, 1, 1), math.nan]
    if here.choices:
        return ["nonsense", "", here.choices[0] + "x", 5, True, [], {"x": 1}]
    if here.item is not None:
        wrong_length = [[1], [1, 2, 3]] if here.length == 2 else []
        return ["nonsense", 5, True, {"x": 1}, *wrong_length]
    check = here.checks[0]
    if isinstance(check, Number):
        return [*_bad_numbers(check)]
    if isinstance(check, Text):
        return ["", "  ", "two\nlines", "nul\0", 5, True, math.nan, [], ["x"], {"x": 1}]
    if isinstance(check, YesNo):
        return ["true", "", 0, 1, 1.0, [], {"x": True}]
    return [True, math.nan, math.inf, [], {"x": 1}, "", date(2024, 1, 1)]


def _bad_numbers(check: Number) -> Iterator[Any]:
    yield from ("many", "", "0.5 parsec", True, False, [], [1], {"x": 1}, date(2024, 1, 1))
    yield from (math.nan, math.inf, -math.inf, HUGE, -HUGE)
    if not check.units:
        yield "1"
    if math.isfinite(check.low):
        yield from (check.low - 1, check.low - 1e-9, -1e300)
        if check.open_low:
            yield check.low
    if math.isfinite(check.high):
        yield from (check.high * 2 + 1, 1e300)
        if check.open_high:
            yield check.high
    if check.whole:
        yield int(check.low) + 1.5


def _example(here: Place) -> Any:
    if here.tables:
        return least(here.tables[0])
    if here.choices:
        return here.choices[0]
    if here.item is not None:
        return [_example(here.item)] * (here.length or 1)
    for value in (0.5, 2, 1, "x", True):
        try:
            here.checks[0](value)
        except ValueError:
            continue
        return value
    raise AssertionError(f"no example of {here.what}")


def _valid(table: Table, content: dict[str, Any]) -> bool:
    try:
        table.model_validate(content)
    except ValidationError:
        return False
    return True


def _files(*mistakes: tuple[str, str, str]) -> list[Broken]:
    """(what begins the sentence, what is wrong, what the file says besides a method)"""
    return [Broken("whole tables", label, names, VALID + text.encode()) for names, label, text in mistakes]


def _sets(*mistakes: tuple[str, str]) -> list[Broken]:
    """(what begins the sentence, one argument of --set)"""
    return [Broken("overrides", repr(text)[:60], names, overrides=(text,)) for names, text in mistakes]


_WHOLE_TABLES = [
    *_files(
        (
            "network.link.latency.low",
            "bounds in the wrong order",
            "[network.link.latency]\nkind='uniform'\nlow=2\nhigh=1",
        ),
        (
            "algorithm.test",
            "a test that the paper's noise does not cover",
            "test = 'noise-free'\n[privacy]\ncalibration = 'paper'",
        ),
        ("data.rows", "rows of data that has its own", "[data]\nsource = 'adult'\nrows = 10"),
        ("data.features", "features of data that has its own", "[data]\nsource = 'twonorm'\nfeatures = 10"),
        ("network.override.0.link", "an exception to nothing", "[[network.override]]\nlatency = 1"),
        ("network.override.0.link", "an exception to two things", "[[network.override]]\nlink = [0, 1]\nagent = 1"),
        ("network.override.0.from", "an exception to half a direction", "[[network.override]]\nfrom = 0"),
        ("network.override", "one table where a list is meant", "[network.override]\nagent = 1"),
        ("network.override.1.agent", "the second exception", "[network]\noverride = [{ agent = 0 }, { agent = -1 }]"),
        ("network.link.loss", "a shorthand loss above 1", "[network.link]\nloss = 1.4"),
        ("network.link.loss", "a shorthand loss in percent", "[network.link]\nloss = '500 %'"),
        ("network.link.latency", "a shorthand time in an unknown unit", "[network.link]\nlatency = '20 m'"),
        ("network.pacing", "a shorthand pacing misspelt", "[network]\npacing = 'dead-line'"),
        ("netwrok", "a misspelt section", "[netwrok]\ncodec = 'float32'"),
        ("network.epsilon", "a field of another section", "[network]\nepsilon = 1"),
        ("data.seed", "a table a thousand levels deep", f"[data]\nseed.{'.'.join('a' * 1000)} = 1"),
        ("data.seed", "a list fifty levels deep", f"[data]\nseed = {'[' * 50}{']' * 50}"),
        ("privacy.epsilon", "a very long text", f"[privacy]\nepsilon = '{'long ' * 1000}'"),
        ("algorithm.xxx", "a very long field", f"{'x' * 5000} = 1"),
    ),
    Broken("whole tables", "an empty file", "algorithm.name", b""),
    Broken("whole tables", "an unknown method", "algorithm.name", b"[algorithm]\nname = 'adam'"),
    Broken("whole tables", "a method's name alone", "algorithm", b"algorithm = 'admm'"),
    Broken(
        "whole tables",
        "a field of another method",
        "algorithm.max_releases",
        b"[algorithm]\nname = 'admm'\nmax_releases = 3",
    ),
]

_FILE = "{file}"  # stands for the path of the scenario

_UNREADABLE = [
    Broken("unreadable files", "no such file", _FILE, None),
    Broken("unreadable files", "a folder", _FILE, None, folder=True),
    Broken("unreadable files", "Latin-1", _FILE, VALID + "[data]\nsource = 'caf\xe9'".encode("latin-1")),
    Broken("unreadable files", "UTF-16", _FILE, VALID.decode().encode("utf-16")),
    Broken("unreadable files", "binary", _FILE, bytes(range(256))),
    *(
        Broken("not TOML", repr(text)[:60], _FILE, text.encode())
        for text in (
            "algorithm",
            "[algorithm",
            "[algorithm]\nname = admm",
            "[algorithm]\nname = 'admm",
            "[algorithm]\nname = 'admm'\nname = 'admm'",
            "[algorithm]\nname = 'admm'\n[algorithm]",
            "[algorithm]\nname: 'admm'",
            "seed = 01",
            "seed = 1 2",
            "seed = .5",
            "name = 'a\nb'",
            "name = '\0'",
            "{ seed = 1 }",
            "x = { a = 1,\n b = 2 }",
            f"x = {'[' * 5000}",
            f"seed = {'1' * 5000}",
            "<xml/>",
            '{"algorithm": {"name": "admm"}}',
            "algorithm:\n  name: admm",
        )
    ),
]

_OVERRIDES = [
    *_sets(
        ("--set", ""),
        ("--set", "seed"),
        ("--set", "=3"),
        ("--set", "seed="),
        ("--set", "seed = "),
        ("--set", "network.link.loss={kind="),
        ("--set", "data.label=[1"),
        ("--set", "name='x"),
        ("--set", "seed=1\nrounds=2"),
        ("--set", f"seed={'[' * 5000}"),
        ("--set", "name=\udc80"),
        ("..:", "..=1"),
        ("algorithm..eta", "algorithm..eta=1"),
        (".seed", ".seed=1"),
        ("seed.", "seed.=1"),
        ("a.a.a", f"{'.'.join('a' * 500)}=1"),
        ("seed", "seed=-1"),
        ("seed", "seed=one"),
        ("seed", f"seed={'9' * 5000}"),
        ("seed", "seed.value=1"),
        ("rounds", "rounds=2.5"),
        ("rounds", "rounds=1e400"),
        ("epsilon", "epsilon=1"),
        ("algorthm", "algorthm.eta=1"),
        ("algorithm.etta", "algorithm.etta=1"),
        ("algorithm.name", "algorithm.name=ADAM"),
        ("topology.mean_degree", "topology={kind='ring', mean_degree=3}"),
        ("topology.kind", "topology.kind=torus"),
        ("network.link.loss.p", "network.link.loss.p=0.1"),
        ("network.link.latency", "network.link.latency=20 parsec"),
        ("network.link.latency", "network.link.latency=-1 ms"),
        ("network.link.bandwidth", "network.link.bandwidth=10 Mbit"),
        ("network.override.1", "network.override.1.agent=0"),
        ("network.override.x", "network.override.x.agent=0"),
        ("network.override.0", "network.override.0=3"),
        ('network.override."²"', "network.override.².agent=0"),
        ("data.partition", "data.partition=Even?"),
        ("log.private", "log.private=True"),
        ("log.private", "log.private=1"),
    ),
]
