"""`simnet tune`: one setting of a study, chosen by a rule on rows that no report touches.

The rule: a setting counts if none of its runs failed and it keeps to the budget, of bytes on the wire and of simulated
seconds, on average over the study's seeds. Of these the least mean test error wins, or the least mean of another
figure; of equal ones the first in the study. ε is not part of it: every setting meets its own by calibration.

All runs must use rows that were set aside (`data.use = "tuning"`). What reports is the chosen scenario on all other
rows, from the first seed after those of the study on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Any

from simnet.errors import ScenarioError, SimnetError
from simnet.scenario import Scenario
from simnet.studies.results import StudyResult
from simnet.studies.runs import PlannedRun, described
from simnet.studies.spec import Settings


@dataclass(frozen=True)
class Budget:
    """What a setting may cost on average over its seeds."""

    bytes: float = math.inf
    seconds: float = math.inf


@dataclass(frozen=True)
class Choice:
    """The setting that was chosen, and among how many."""

    settings: Settings
    figure: str
    mean: float
    within: int
    """settings that keep to the budget"""
    of: int
    runs: int
    scenario: Scenario
    """what reports it: on the rows that were not set aside, from a new seed on"""

    def __str__(self) -> str:
        return (
            f"chosen among {self.within} of {self.of} settings, by the least mean {self.figure} ({self.mean:.4g}): "
            f"{described(self.settings)}"
        )


_OF_ROWS_SET_ASIDE = frozenset({"train", "partition", "concentration", "min_rows", "bias", "scale", "use", "resplit"})
"""Fields of [data] that are about rows which were set aside before: settings may differ in these."""


def refuse_rows_that_reports_touch(runs: Sequence[PlannedRun]) -> None:
    """ScenarioError unless all runs use rows that were set aside for that, and the same."""
    for run in runs:
        if run.scenario.data.use != "tuning":
            raise ScenarioError(
                "data.use: settings are chosen on rows that no report touches; set data.seed and data.tuning, and "
                f"data.use = 'tuning' (in the run with {described(run.settings)})"
            )
        first = runs[0].scenario.data
        for field in type(first).model_fields:
            if field not in _OF_ROWS_SET_ASIDE and getattr(run.scenario.data, field) != getattr(first, field):
                raise ScenarioError(
                    f"data.{field}: settings that differ in it set other rows aside, and a report on what one of them "
                    "leaves would touch those of another; give all the same"
                )


def choose(
    runs: Sequence[PlannedRun], found: StudyResult, budget: Budget | None = None, figure: str = "test_error"
) -> Choice:
    """The best setting of a study that was run."""
    refuse_rows_that_reports_touch(runs)
    budget, rows = budget or Budget(), {row["key"]: row for row in found.runs.to_dicts()}
    if figure not in found.runs.columns:
        raise SimnetError(f"--by {figure}: the runs have no such figure; {', '.join(found.headlines)} are some")
    means = list(_means(runs, rows, figure))
    kept = [each for each in means if math.isfinite(each[0]) and each[1] <= budget.bytes and each[2] <= budget.seconds]
    if not kept:
        raise SimnetError(f"none of {len(means)} settings keeps to the budget with all of its runs")
    best = min(kept, key=lambda mean: mean[0])
    return Choice(best[3].settings, figure, best[0], len(kept), len(means), len(runs), _reporting(best[3], runs))


def _means(
    runs: Sequence[PlannedRun], rows: Mapping[str, Mapping[str, Any]], figure: str
) -> Iterator[tuple[float, float, float, PlannedRun]]:
    """The means of figure, bytes and seconds of each setting, and its first run; infinite where a run has failed."""
    for _, group in groupby(runs, key=lambda run: run.settings):
        setting = list(group)
        own = [rows.get(run.key, {}) for run in setting]
        error, sent, took = (_mean([row.get(name) for row in own]) for name in (figure, "wire_bytes", "simulated"))
        yield error, sent, took, setting[0]


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else math.inf


def _reporting(run: PlannedRun, runs: Sequence[PlannedRun]) -> Scenario:
    """The scenario on the rows that were left, from a seed on that has not been tuned on."""
    content = run.scenario.content()
    del content["data"]["use"]
    content.get("privacy", {}).pop("noise_name", None)
    content["seed"] = 1 + max(each.seed for each in runs)
    return Scenario.of(content, folder=run.scenario.loading.folder)
