"""The study file: a base scenario, a grid, lists that go together, and replicates. docs/studies.md shows one.

A table as a value sets the fields that it names: `algorithm = [{name = "admm"}, {name = "pvp", noise = "gaussian"}]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from simnet.errors import ScenarioError
from simnet.parts.fields import Name, NonNegative, Number, Switch
from simnet.parts.part import Section
from simnet.scenario import Scenario
from simnet.scenario.messages import sentence
from simnet.scenario.toml import dotted, parse, shown

Settings = dict[str, Any]
"""Dotted field → value."""

MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class _TableOf:
    """Accepts a table of anything."""

    what: str

    def __call__(self, value: object) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError(self.what)
        return dict(value)


class _Replicates:
    """Accepts a number of seeds, or the seeds themselves."""

    what = "a whole number of at least 1, or a list of different seeds"
    _count = Number(what, 1, MOST_RUNS, whole=True)
    _seed = Number(what, 0, 2**53, whole=True)

    def __call__(self, value: object) -> int | tuple[int, ...]:
        if not isinstance(value, (list, tuple)):
            return int(self._count(value))
        seeds = tuple(int(self._seed(seed)) for seed in value)
        if not seeds or len(set(seeds)) < len(seeds):
            raise ValueError(self.what)
        return seeds


_Fields = Annotated[dict[str, Any], BeforeValidator(_TableOf("a table of scenario fields, each with a list of values"))]
_Inline = Annotated[dict[str, Any], BeforeValidator(_TableOf("a scenario as a table"))]


class StudyFile(Section):
    """What may stand in a study file."""

    name: Name = Field(description="what the study is called; names its folder")
    question: Name | None = Field(None, description="what it is meant to answer")
    target: NonNegative | None = Field(
        None, description="the test error whose cost is asked for: `simnet reach` and the page begin with it"
    )
    base: Name | None = Field(None, description="the scenario's file, beside the study's")
    scenario: _Inline | None = Field(None, description="the scenario itself")
    grid: _Fields = Field({}, description="fields and their values, every combination")
    zip: tuple[_Fields, ...] = Field((), description="fields and their values, those of one place together")
    common_noise: Switch = Field(
        False,
        description="all settings draw the same privacy noise, which sharpens their differences; then at most one of "
        "the runs may be published",
    )
    replicates: Annotated[int | tuple[int, ...], BeforeValidator(_Replicates())] = Field(1, description="seeds")

    @model_validator(mode="after")
    def _one_scenario(self) -> StudyFile:
        if (self.base is None) == (self.scenario is None):
            raise ValueError("base: name a scenario's file, or write the scenario under [scenario]")
        return self


@dataclass(frozen=True)
class Study:
    """A study, read and checked: every way to set each axis, and the seeds that all of them share."""

    name: str
    question: str | None
    base: Scenario
    axes: tuple[tuple[Settings, ...], ...]
    seeds: tuple[int, ...]
    common_noise: bool = False
    target: float | None = None
    """the test error whose cost is asked for"""

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a TOML file; the base scenario is looked up beside it."""
        return cls.loads(Scenario.read(path), name=str(path), folder=Path(path).parent)

    @classmethod
    def loads(cls, text: str, *, name: str = "study", folder: Path | None = None) -> Study:
        """Read TOML text."""
        return cls.of(parse(text, name), folder=folder)

    @classmethod
    def of(cls, content: Mapping[str, Any], *, folder: Path | None = None) -> Study:
        """Validate plain dictionaries shaped like the TOML file."""
        if "algorithm" in content:
            raise ScenarioError(
                "algorithm: this belongs to a scenario, which `simnet run` simulates, or under [scenario] in a study"
            )
        try:
            file = StudyFile.model_validate(content)
        except ValidationError as error:
            raise ScenarioError(sentence(error, StudyFile, content)) from None
        # Workers may start elsewhere: files that the scenario names are found from an absolute folder.
        folder = (folder or Path()).absolute()
        base = _base(file, folder)
        axes = (
            *(tuple(_settings(field, value) for value in values) for field, values in _lists("grid", file.grid)),
            *(_together(f"zip.{number}", table) for number, table in enumerate(file.zip)),
        )
        _distinct(axes)
        count = file.replicates
        seeds = count if isinstance(count, tuple) else tuple(range(base.seed, base.seed + count))
        runs = prod(map(len, (*axes, seeds)))
        if runs > MOST_RUNS:
            raise ScenarioError(f"grid: {runs:,} runs, and a study has at most {MOST_RUNS:,}")
        return cls(file.name, file.question, base, axes, seeds, file.common_noise, file.target)

    @property
    def fields(self) -> list[str]:
        """The fields that the study sets, in the order of the file."""
        return [field for fields in self.together for field in fields]

    @property
    def together(self) -> list[list[str]]:
        """The same fields, those beside each other that change together."""
        return [list(dict.fromkeys(field for settings in axis for field in settings)) for axis in self.axes]


def _base(file: StudyFile, folder: Path) -> Scenario:
    if file.base is None:
        assert file.scenario is not None
        return Scenario.of(file.scenario, folder=folder)
    path = folder / file.base
    return Scenario.loads(Scenario.read(path), name=file.base, folder=path.parent)


def _together(where: str, table: Mapping[str, Any]) -> tuple[Settings, ...]:
    columns = list(_lists(where, table))
    if not columns:
        raise ScenarioError(f"{where}: name at least one field with a list of values")
    lengths = {field: len(values) for field, values in columns}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{field} has {length}" for field, length in lengths.items())
        raise ScenarioError(f"{where}: lists that go together are equally long, but {told}")
    rows = zip(*([_settings(field, value) for value in values] for field, values in columns), strict=True)
    return tuple({field: value for part in row for field, value in part.items()} for row in rows)


def _lists(where: str, table: Mapping[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[str, list[Any]]]:
    """The fields of a table with their lists; `algorithm.eta = […]` may be one key or nested tables."""
    for name, value in table.items():
        path = (*at, *name.split("."))
        if isinstance(value, Mapping):
            yield from _lists(where, value, path)
        elif isinstance(value, (list, tuple)) and value:
            yield ".".join(path), list(value)
        else:
            raise ScenarioError(f"{where}.{dotted(path)} = {shown(value)}: a list of values, at least one")


def _settings(field: str, value: Any) -> Settings:
    """A value as settings of single fields: a table sets the fields that it names."""
    if not isinstance(value, Mapping):
        return {field: value}
    return {path: leaf for name, inside in value.items() for path, leaf in _settings(f"{field}.{name}", inside).items()}


def _distinct(axes: tuple[tuple[Settings, ...], ...]) -> None:
    seen: set[str] = set()
    for axis in axes:
        fields = {field for settings in axis for field in settings}
        if twice := sorted(fields & seen):
            raise ScenarioError(f"{twice[0]}: set by one list of the study only, here by two")
        if "seed" in fields:
            raise ScenarioError("seed: give the seeds as `replicates`, so that all settings share them")
        seen |= fields
