"""From a study to its runs: every scenario resolved, checked and keyed before the first one starts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path

from simnet.errors import ScenarioError
from simnet.scenario import Scenario
from simnet.scenario.overrides import inside, with_other_parts
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
        shown_settings = {field: settings.get(field, inside(resolved, field)) for field in varied}
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
    changes, _ = with_other_parts(base, settings)
    try:
        return base.with_(**changes)
    except ScenarioError as error:
        raise ScenarioError(f"{error} (in the run with {described(settings)})") from None


def described(settings: Settings) -> str:
    """Settings in words for a sentence."""
    return ", ".join(f"{field} = {shown(value)}" for field, value in settings.items()) or "nothing changed"
