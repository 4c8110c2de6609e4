"""The page of a study."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from simnet.record.folder import slug
from simnet.record.metrics import Row
from simnet.report.page import COLOURS, ON_DARK, asset, bytes_of, cards, count, page, percent
from simnet.report.study_facts import FIGURES, StudyFacts
from simnet.study.results import labels

_SCRIPTS = ("format.js", "chart.js", "scatter.js", "table.js", "study.js")
_ACCENT = ("#0072B2", "#4BA3DD")


def study_page(study: StudyFacts) -> str:
    """HTML, the same for the same study."""
    names = labels(study.fields)
    varied = ", ".join(names[place] for place in _moving(study)) or "nothing but the seed"
    body = Template(asset("study.html")).substitute(
        name=html.escape(study.name),
        question=f'<p class="question">{html.escape(study.question)}</p>' if study.question else "",
        varied=html.escape(varied),
        cards=cards(_cards(study)),
    )
    return page(study.name, _ACCENT, body, _SCRIPTS, _data(study))


def _data(study: StudyFacts) -> dict[str, Any]:
    return {
        "name": slug(study.name),
        "fields": study.fields,
        "labels": labels(study.fields),
        "moving": _moving(study),
        "methods": {name: [light, ON_DARK.get(light, light)] for name, light in COLOURS.items()},
        "settings": _columns(study),
        "values": [list(row["values"]) for row in study.settings],
        "front": study.front,
        "fronts": [{"x": x, "y": y, "places": places} for (x, y), places in study.fronts.items()],
        "curves": study.curves,
        "runs": study.runs,
        "failures": study.failures,
    }


def _columns(study: StudyFacts) -> dict[str, list[Any]]:
    """One column per field, then the number of seeds, then mean, low and high of each figure."""
    rows = study.settings
    found: dict[str, list[Any]] = {
        field: [row["values"][place] for row in rows] for place, field in enumerate(study.fields)
    }
    found["seeds"] = [row["n"] for row in rows]
    found["front"] = ["yes" if place in set(study.front) else "" for place in range(len(rows))]
    for name in FIGURES:
        if any(name in row for row in rows):
            for place, end in enumerate(("", "_low", "_high")):
                found[f"{name}{end}"] = [row[name][place] for row in rows]
    return found


def _cards(study: StudyFacts) -> list[tuple[str, str, str]]:
    runs, failed = len(next(iter(study.runs.values()), [])), len(study.failures.get("error", []))
    left = study.planned - runs - failed
    seeds = max((row["n"] for row in study.settings), default=0)
    return [
        ("Runs", count(runs), f"of {count(study.planned)}" + (f", {count(left)} to do" if left else "")),
        ("Failed", count(failed), "listed at the end" if failed else "none"),
        ("Settings", count(len(study.settings)), f"up to {count(seeds)} seeds each"),
        ("Lowest error", *_best(study, "test_error", percent)),
        ("Fewest bytes", *_best(study, "wire_bytes", lambda value: bytes_of(round(value)))),
    ]


def _best(study: StudyFacts, name: str, how: Any) -> tuple[str, str]:
    known: Sequence[Row] = [row for row in study.settings if row.get(name, (None,))[0] is not None]
    if not known:
        return "–", ""
    best = min(known, key=lambda row: row[name][0])
    return how(best[name][0]), _told(study, best)


def _told(study: StudyFacts, row: Mapping[str, Any]) -> str:
    names = labels(study.fields)
    return ", ".join(f"{names[place]} {_shown(row['values'][place])}" for place in _moving(study))


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "–" if value is None else str(value)


def _moving(study: StudyFacts) -> list[int]:
    """The places of fields that really differ between settings."""
    return [place for place in range(len(study.fields)) if len({row["values"][place] for row in study.settings}) > 1]
