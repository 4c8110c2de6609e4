"""Who is checked: a part, whoever wrote it, its place in a scenario, and the small world that it is tried in."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from simnet.build import World, build
from simnet.check.outcome import Failing
from simnet.errors import ScenarioError
from simnet.methods.peer import Peer
from simnet.parts.foreign import Loading, is_reference, load
from simnet.parts.part import OneOf, Section
from simnet.scenario import Scenario
from simnet.scenario.overrides import set_path
from simnet.scenario.schema import Place, fields, place
from simnet.scenario.toml import shown
from simnet.simulate import Result, keep, play, run

METHOD = "algorithm"
"""The place of a method."""
SMALL: dict[str, Any] = {
    "name": "check",
    "seed": 1,
    "rounds": 8,
    "data": {"source": "synthetic", "rows": 660, "train": 640, "features": 3},
    "topology": {"kind": "ring", "agents": 4},
    "algorithm": {"name": "admm"},
    "network": {"link": {"latency": "5 ms"}},
    "compute": {"time": "10 ms"},
}
"""A world that runs in a few milliseconds."""


@dataclass(frozen=True)
class PartPlace:
    """A place of a scenario that holds a part: its dotted path, and what chooses among the parts there."""

    path: str
    one_of: OneOf

    @property
    def word_path(self) -> str:
        """The field that names the part."""
        return f"{self.path}.{self.one_of.tag}"


@dataclass(frozen=True, eq=False)
class Subject:
    """A part, and the content of a scenario that names it."""

    reference: str
    place: PartPlace
    part: type[Section]
    content: Mapping[str, Any]
    folder: Path | None = None

    @property
    def own_package(self) -> str:
        """What the names of its author's modules begin with."""
        top, _, rest = self.part.__module__.partition(".")
        return f"{top}.{rest.partition('.')[0]}" if top == "simnet" else top

    @cached_property
    def scenario(self) -> Scenario:
        """A scenario with the part in it. A ScenarioError says why there is none."""
        return Scenario.of(copy.deepcopy(dict(self.content)), folder=self.folder)

    @cached_property
    def world(self) -> World:
        return build(self.scenario)

    @cached_property
    def result(self) -> Result:
        """A first run of it."""
        return run(self.scenario)

    @property
    def noisy(self) -> bool:
        """Whether it says that it perturbs anything."""
        return self.world.calibration.noisy

    @cached_property
    def three_agents(self) -> dict[str, Any]:
        """The changes that leave three agents which wait for each other, and break by no fault."""
        kind = "star" if self.scenario.algorithm.central else "ring"
        pacing = {"kind": "barrier", "patience": 10.0}
        return {"topology": {"kind": kind, "agents": 3}, "network.pacing": pacing, "fault": []}


def played(world: World, peers: list[Peer]) -> Result:
    """A run of these peers instead of the world's own."""
    return keep(world, None, lambda bus: play(world, bus, peers))


def subject(reference: str, changes: Mapping[str, Any] | None = None, scenario: Path | None = None) -> Subject:
    """The part of that name.

    Args:
        reference: `my_file.py:MyMethod`, `package.module:MyMethod`, or a word of simnet's own such as `admm`.
        changes: fields of the scenario by their dotted paths.
        scenario: a scenario file in place of the small world.

    A name that leads nowhere is a ScenarioError; a class that cannot be used is `Failing`, with a sentence.
    """
    folder = None if scenario is None else scenario.parent
    try:
        where, part = _found(reference, Loading(folder))
    except ScenarioError:
        raise
    except ValueError as error:
        raise Failing(str(error)) from None
    theirs = None if scenario is None else Scenario.load(scenario)
    content = _small(reference, where, part) if theirs is None else _theirs(theirs, reference, where)
    for path, value in (changes or {}).items():
        set_path(content, path, value, Scenario)
    return Subject(reference, where, part, content, folder)


def places() -> list[PartPlace]:
    """Everywhere that a scenario names a part; of a kind that is named at many places, the links come first."""
    found = [PartPlace(".".join(map(str, at)), one_of) for at, one_of in _places(Place(tables=(Scenario,)), ())]
    return sorted(found, key=lambda each: (each.path != METHOD, "network.link." not in each.path, each.path.count(".")))


def _places(here: Place, at: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], OneOf]]:
    if here.one_of is not None:
        yield at, here.one_of
    if here.item is not None:
        yield from _places(here.item, (*at, 0))
    for table in here.tables:
        for name, info in fields(table).items():
            yield from _places(place(info), (*at, name))


def _found(reference: str, loading: Loading) -> tuple[PartPlace, type[Section]]:
    """The place of a part, and its class. A ValueError says why a part cannot be used."""
    every = places()
    for each in every:
        if reference in each.one_of.parts:
            part = each.one_of.part(reference)
            assert part is not None, "it stands in the table"
            return each, part
    _refuse_what_leads_nowhere(reference, loading)
    found = load(reference, loading)
    if found is None:
        raise ScenarioError(
            f"{shown(reference)}: no part has this name; write my_file.py:MyMethod, package.module:MyMethod, or a word "
            "that `simnet list` shows"
        )
    for each in every:
        if issubclass(found[0], each.one_of.base):
            part = each.one_of.part(reference, loading)
            assert part is not None, "it was found before"
            return each, part
    kinds = ", ".join(dict.fromkeys(each.one_of.base.__name__ for each in every))
    raise ValueError(f"{found[0].__name__} is no part: let it derive from one of {kinds} (simnet.extend has them)")


def _refuse_what_leads_nowhere(reference: str, loading: Loading) -> None:
    file, colon, _ = reference.rpartition(":")
    if not colon and reference.endswith(".py"):
        raise ScenarioError(f"{shown(reference)}: name the class too, as in {reference}:MyMethod")
    if not is_reference(reference) or not file.endswith(".py"):
        return
    beside = Path(file) if loading.folder is None else loading.folder / file
    if not beside.is_file() and not Path(file).is_file():
        raise ScenarioError(f"{shown(file)}: there is no such file here")


def _small(reference: str, where: PartPlace, part: type[Section]) -> dict[str, Any]:
    """The small world around a part."""
    content = copy.deepcopy(SMALL)
    if where.path == METHOD:
        content[METHOD] = {"name": reference}
        if getattr(part, "central", False):
            content["topology"]["kind"] = "star"
    else:
        if where.path in ("topology", "data.source"):
            content[where.path.partition(".")[0]] = {}
        set_path(content, where.path, {where.one_of.tag: reference}, Scenario)
    return content


def _theirs(scenario: Scenario, reference: str, where: PartPlace) -> dict[str, Any]:
    """A user's scenario with the part in it."""
    if any(reference == foreign.reference for foreign in scenario.foreign()):
        return scenario.content()
    if where.path == METHOD:
        return scenario.content() if scenario.algorithm.word == reference else scenario.with_method(reference).content()
    return scenario.with_(**{where.path: {where.one_of.tag: reference}}).content()
