"""From a study to its runs: every scenario resolved, checked and keyed before the first one starts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from simnet.errors import ScenarioError
from simnet.scenario import Scenario
from simnet.scenario.schema import Place, Table, fields
from simnet.scenario.toml import shown
from simnet.studies.keys import run_key
from simnet.studies.spec import Settings, Study


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study."""

    number: int
    key: str
    seed: int
    settings: Settings
    """The varied fields; None where the method or kind has no such field."""
    scenario: Scenario


def plan(study: Study) -> list[PlannedRun]:
    """All runs in the order of the file, the seeds of one setting beside each other."""
    digests: dict[Path, str] = {}
    varied = study.fields
    runs: list[PlannedRun] = []
    known: dict[str, PlannedRun] = {}
    for chosen in product(*study.axes):
        settings: Settings = {field: value for part in chosen for field, value in part.items()}
        scenario = resolve(study.base, settings)
        resolved = scenario.resolved()
        shown_settings = {field: settings.get(field, _inside(resolved, field)) for field in varied}
        if study.axes and not study.common_noise:
            scenario = with_noise_of_its_own(scenario)
        for seed in study.seeds:
            seeded = scenario.model_copy(update={"seed": seed})
            run = PlannedRun(len(runs), run_key(seeded, digests), seed, shown_settings, seeded)
            twin = known.setdefault(run.key, run)
            if twin is not run:
                raise ScenarioError(
                    f"two runs of the study are the same: {described(settings)}, and {described(twin.settings)}"
                )
            runs.append(run)
    return runs


def with_noise_of_its_own(scenario: Scenario) -> Scenario:
    """The scenario with a name for its noise that no other setting has.

    Two settings that share their noise give away more than either promises: their releases differ by what the data do.
    """
    if scenario.privacy.noise != "seed" or scenario.privacy.calibration == "none":
        return scenario
    setting = json.dumps(scenario.resolved() | {"name": "", "seed": 0}, sort_keys=True)
    return scenario.with_(**{"privacy.noise_name": sha256(setting.encode()).hexdigest()[:16]})


def resolve(base: Scenario, settings: Settings) -> Scenario:
    """The base with some fields set.

    Another method or kind keeps the fields of the base that it has and drops the others, as `Scenario.with_method`
    does.
    """
    changes: Settings = {}
    for field, value in settings.items():
        table, _, last = field.rpartition(".")
        place = _place(table)
        part = _part(place, last, value, base)
        if part is not None:
            kept = {name: each for name, each in _table(base, table).items() if name in fields(part)}
            changes[table] = kept | {last: value}
        else:
            changes[field] = value
    try:
        return base.with_(**dict(sorted(changes.items(), key=lambda change: change[0].count("."))))
    except ScenarioError as error:
        raise ScenarioError(f"{error} (in the run with {described(settings)})") from None


def _part(place: Place | None, field: str, value: object, base: Scenario) -> Table | None:
    """The part that a setting chooses; None if it sets something else, or nothing that there is."""
    if place is None or place.one_of is None or field != place.tag or not isinstance(value, str):
        return None
    try:
        return place.one_of.part(value, base.loading)
    except ValueError:  # the field itself will say what is wrong
        return None


def described(settings: Settings) -> str:
    """Settings in words for a sentence."""
    return ", ".join(f"{field} = {shown(value)}" for field, value in settings.items()) or "nothing changed"


def _place(path: str) -> Place | None:
    """What a dotted path leads to; None for a path that leads nowhere."""
    here: Place | None = Place(tables=(Scenario,))
    for part in path.split(".") if path else ():
        here = None if here is None else here.item or here.field(part)
    return here


def _table(base: Scenario, path: str) -> Mapping[str, Any]:
    """What the base says in a table."""
    found = _inside(base.content(), path)
    return found if isinstance(found, Mapping) else {}


def _inside(content: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(content, list) and part.isdecimal() and int(part) < len(content):
            content = content[int(part)]
        elif isinstance(content, Mapping):
            content = content.get(part)
        else:
            return None
    return content
