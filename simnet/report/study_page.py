"""The page of a study: everything that it tells, from the study's tables."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import polars as pl

from simnet.record.amounts import told_bytes
from simnet.record.folder import slug
from simnet.record.formats import caveats_html
from simnet.record.metrics import Row
from simnet.report.page import COLOURS, asset, cards, colours, figure, page, percent
from simnet.report.reach_section import Question, question_of
from simnet.studies.results import YARDSTICKS, StudyResult, labels

FIGURES = (
    *("test_error", "train_loss", "wire_bytes", "proven_epsilon", "claimed_epsilon", "simulated", "staleness_mean"),
    *("airtime_sent", "joules", "declared_epsilon"),
)
"""What a setting is judged by: the columns of summary.json."""
OBJECTIVES = ("test_error", "wire_bytes", "proven_epsilon")
"""What the front weighs against each other; less is better."""
PAIRS = (
    ("wire_bytes", "test_error"),
    ("proven_epsilon", "test_error"),
    ("simulated", "test_error"),
    ("proven_epsilon", "wire_bytes"),
)
ALONG = ("round", "t", "wire_bytes", "proven_epsilon")
CURVES = ("test_error", "train_loss", "dual_drift", "consensus")
"""Over which columns of rounds.csv curves run, and which they show."""

_SCRIPTS = ("format.js", "chart.js", "scatter.js", "table.js", "study.js")
_ACCENT = ("#0072B2", "#4BA3DD")
_SETTINGS = 400
"""Settings whose curves a page carries."""
_POINTS = 120
"""Rounds that a curve shows."""


@dataclass(frozen=True, eq=False)
class StudyFacts:
    """A study as it stands; `settings` has one row per setting with the statistics of each figure over the seeds."""

    name: str
    question: str | None
    fields: list[str]
    planned: int
    settings: list[Row]
    caveats: list[str]
    """what the proven ε of some run does not cover"""
    yardsticks: dict[str, tuple[float, float]]
    """what test errors are held against: the least and the largest of all settings"""
    front: list[int]
    """places of the settings that none beats in error, bytes and ε together"""
    fronts: dict[tuple[str, str], list[int]]
    """the same for each pair of figures"""
    outputs: list[str]
    """the columns of the errors of further outputs"""
    reach: Question | None
    """what targets cost; None where no run has a test error"""
    curves: list[dict[str, list[float | None]]]
    """one table per setting: means over the seeds at each round, and the interval of what is shown"""
    runs: dict[str, list[Any]]
    failures: dict[str, list[Any]]


def read_study(folder: Path) -> StudyFacts:
    """The facts of a study's folder, whether its sweep has ended or not."""
    study = StudyResult.load(folder)
    settings = _settings(study)
    done = study.runs.drop([name for name in ("key", "final", "code", "resolved") if name in study.runs.columns])
    return StudyFacts(
        name=study.name,
        question=study.question,
        fields=study.fields,
        planned=study.planned.height,
        settings=settings,
        caveats=study.caveats,
        yardsticks=_yardsticks(study),
        front=_front(settings, OBJECTIVES),
        fronts={pair: _front(settings, pair) for pair in PAIRS},
        outputs=study.outputs,
        reach=question_of(study.rounds, study.fields, [row["values"] for row in settings], study.target),
        curves=[_curve(group, study.outputs) for group in _groups(study.rounds, study.fields, settings[:_SETTINGS])],
        runs=done.filter(done["error"].is_null()).drop("error").to_dict(as_series=False),
        failures=study.failures.drop("key").to_dict(as_series=False),
    )


def _settings(study: StudyResult) -> list[Row]:
    """One row per setting that has a finished run: its fields, its runs, and mean and interval (t) of every figure."""
    known = [name for name in (*FIGURES, *study.outputs) if name in study.runs.columns]
    rows: dict[tuple[Any, ...], Row] = {}
    for told in study.means(*known).to_dicts() if known else []:
        values = tuple(told[field] for field in study.fields)
        row = rows.setdefault(values, {"values": values, "n": 0})
        row["n"] = max(row["n"], told["n"])
        row[told["figure"]] = (told["mean"], told["t95_low"], told["t95_high"])
    return [row for row in rows.values() if row["n"]]


def _yardsticks(study: StudyResult) -> dict[str, tuple[float, float]]:
    found = study.yardsticks().to_dict(as_series=False)
    known = {name: [value for value in values if value is not None] for name, values in found.items() if name != "all"}
    return {name: (min(known[name]), max(known[name])) for name in YARDSTICKS if known.get(name)}


def _front(settings: Sequence[Row], figures: Sequence[str]) -> list[int]:
    """The front of the settings; a setting that has none of the figures takes no part."""
    missing = (None, None, None)
    points = [[row.get(figure, missing)[0] for figure in figures] for row in settings]
    judged = [place for place, point in enumerate(points) if any(value is not None for value in point)]
    return [judged[place] for place in front([points[place] for place in judged])]


def _groups(rounds: pl.DataFrame, fields: Sequence[str], settings: Sequence[Row]) -> list[pl.DataFrame]:
    """The rounds of each setting, in the settings' order."""
    if not fields:
        return [rounds] * len(settings)
    found = {tuple(names): group for names, group in rounds.group_by(list(fields), maintain_order=True)}
    return [found.get(row["values"], rounds.clear()) for row in settings]


def _curve(rounds: pl.DataFrame, outputs: Sequence[str]) -> dict[str, list[float | None]]:
    """Means over the seeds at each round; the interval is Student's, as in `simnet.studies.aggregate`."""
    from scipy.stats import t

    last = rounds["round"].max() or 0
    step = max(1, math.ceil(int(last) / _POINTS)) if isinstance(last, int) else 1
    shown = rounds.filter((pl.col("round") % step == 0) | (pl.col("round") == 1) | (pl.col("round") == last))
    numbers = {name for name, kind in rounds.schema.items() if kind != pl.String}
    columns = [name for name in ALONG if name in numbers]
    figures = [name for name in (*CURVES, *outputs) if name in numbers]
    table = shown.group_by("round").agg(
        *(pl.col(name).mean() for name in columns if name != "round"),
        *(pl.col(name).mean() for name in figures),
        *(pl.col(name).std().alias(f"{name}_std") for name in figures),
        *(pl.col(name).count().alias(f"{name}_n") for name in figures),
    )
    found: dict[str, list[float | None]] = {name: [] for name in (*columns, *figures)}
    found |= {f"{name}_{end}": [] for name in figures for end in ("low", "high")}
    for row in table.sort("round").to_dicts():
        for name in (*columns, *figures):
            found[name].append(_finite(row[name]))
        for name in figures:
            n, half = row[f"{name}_n"], None
            if n > 1:
                half = float(t.ppf(0.975, n - 1)) * row[f"{name}_std"] / math.sqrt(n)
            found[f"{name}_low"].append(None if half is None else _finite(row[name] - half))
            found[f"{name}_high"].append(None if half is None else _finite(row[name] + half))
    return found


def _finite(value: float | None) -> float | None:
    """A page has no word for what is too large for float64."""
    return value if value is not None and math.isfinite(value) else None


def front(points: Sequence[Sequence[float | None]]) -> list[int]:
    """The places of the points that no other point beats: none is as small in every coordinate and smaller in one.

    None is worse than every number: an ε that no proof bounds. Numbers are compared to six digits: calibration meets
    the same ε with two methods only to nine or ten.
    """
    table = np.array([[_rounded(value) for value in point] for point in points], dtype=np.float64)
    found = []
    for place, point in enumerate(table):
        as_small, smaller = (table <= point).all(axis=1), (table < point).any(axis=1)
        if not (as_small & smaller).any():
            found.append(place)
    return found


def _rounded(value: float | None) -> float:
    return math.inf if value is None else float(f"{value:.5e}")


def study_page(study: StudyFacts) -> str:
    """HTML, the same for the same study."""
    names = labels(study.fields)
    varied = ", ".join(names[place] for place in _moving(study)) or "nothing but the seed"
    body = Template(asset("study.html")).substitute(
        name=html.escape(study.name),
        question=f'<p class="question">{html.escape(study.question)}</p>' if study.question else "",
        answer=html.escape(study.reach.first) if study.reach else "",
        varied=html.escape(varied),
        caveats=caveats_html(study.caveats),
        cards=cards(_cards(study)),
    )
    return page(study.name, _ACCENT, body, _SCRIPTS, _data(study))


def _data(study: StudyFacts) -> dict[str, Any]:
    return {
        "name": slug(study.name),
        "fields": study.fields,
        "labels": labels(study.fields),
        "moving": _moving(study),
        "methods": {name: colours(name) for name in (*COLOURS, *_methods(study))},
        "settings": _columns(study),
        "values": [list(row["values"]) for row in study.settings],
        "front": study.front,
        "fronts": [{"x": x, "y": y, "places": places} for (x, y), places in study.fronts.items()],
        "outputs": study.outputs,
        "reach": None if study.reach is None else study.reach.data(),
        "curves": study.curves,
        "yardsticks": {name: sum(ends) / 2 for name, ends in study.yardsticks.items() if _one(ends)},
        "runs": study.runs,
        "failures": study.failures,
    }


def _methods(study: StudyFacts) -> list[str]:
    """The methods of a study that names some."""
    if "algorithm.name" not in study.fields:
        return []
    place = list(study.fields).index("algorithm.name")
    return sorted({str(row["values"][place]) for row in study.settings})


def _columns(study: StudyFacts) -> dict[str, list[Any]]:
    """One column per field, then the number of seeds, then mean, low and high of each figure."""
    rows = study.settings
    found: dict[str, list[Any]] = {
        field: [row["values"][place] for row in rows] for place, field in enumerate(study.fields)
    }
    found["seeds"] = [row["n"] for row in rows]
    found["front"] = ["yes" if place in set(study.front) else "" for place in range(len(rows))]
    for name in (*FIGURES, *study.outputs):
        if any(name in row for row in rows):
            for place, end in enumerate(("", "_low", "_high")):
                found[f"{name}{end}"] = [row[name][place] for row in rows]
    return found


def _cards(study: StudyFacts) -> list[tuple[str, str, str]]:
    runs, failed = len(next(iter(study.runs.values()), [])), len(study.failures.get("error", []))
    left = study.planned - runs - failed
    seeds = max((row["n"] for row in study.settings), default=0)
    return [
        ("Runs", f"{runs:,}", f"of {study.planned:,}" + (f", {left:,} to do" if left else "")),
        ("Failed", f"{failed:,}", "listed at the end" if failed else "none"),
        ("Settings", f"{len(study.settings):,}", f"up to {seeds:,} seeds each"),
        ("Lowest error", *_best(study, "test_error", figure if any(study.runs.get("test_error_is", ())) else percent)),
        *_held_against(study),
        ("Fewest bytes", *_best(study, "wire_bytes", told_bytes)),
    ]


def _held_against(study: StudyFacts) -> list[tuple[str, str, str]]:
    how = figure if any(study.runs.get("test_error_is", ())) else percent
    titles = {
        "constant": ("Constant answer", "the best that is the same for all rows"),
        "optimum": ("Optimum", "of all rows without privacy, at the runs’ regulariser"),
        "best_optimum": ("Best optimum", "of a grid of regularisers, chosen by test rows"),
    }
    return [
        (title, how(ends[0]) if _one(ends) else f"{how(ends[0])} to {how(ends[1])}", words)
        for name, (title, words) in titles.items()
        if (ends := study.yardsticks.get(name)) is not None
    ]


def _one(ends: tuple[float, float]) -> bool:
    """Whether all settings have the same yardstick, so that one line in a chart stands for it."""
    return ends[1] - ends[0] <= 0.01 * abs(ends[1])


def _best(study: StudyFacts, name: str, how: Callable[[float], str]) -> tuple[str, str]:
    known: Sequence[Row] = [row for row in study.settings if math.isfinite(_rounded(row.get(name, (None,))[0]))]
    if not known:
        return "–", ""
    best = min(known, key=lambda row: row[name][0])
    return how(best[name][0]), _told(study, best)


def _told(study: StudyFacts, row: Mapping[str, Any]) -> str:
    names = labels(study.fields)
    told = [(names[place], row["values"][place]) for place in _moving(study)]
    return ", ".join(f"{name} {_shown(value)}" for name, value in told if value is not None)


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else "–" if value is None else str(value)


def _moving(study: StudyFacts) -> list[int]:
    """The places of fields that really differ between settings."""
    return [place for place in range(len(study.fields)) if len({row["values"][place] for row in study.settings}) > 1]
