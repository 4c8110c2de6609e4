"""The page of two runs: both networks replayed on one clock, curves in the same charts, figures side by side."""

from __future__ import annotations

import html
from collections.abc import Mapping
from string import Template
from typing import Any

from simnet.errors import SimnetError
from simnet.record.fitness import uncovered
from simnet.record.formats import caveats_html
from simnet.report.page import asset, colours, page
from simnet.report.run_facts import RunFacts
from simnet.report.run_page import card_entries, replay_data

_SCRIPTS = ("format.js", "chart.js", "table.js", "replay.js", "pair.js")


def pair_page(first: RunFacts, second: RunFacts) -> str:
    """HTML, the same for the same runs."""
    runs = first, second
    still = [run.summary["time"]["simulated"] == 0 for run in runs]
    if len(set(still)) > 1:
        raise SimnetError("--beside: one of the runs takes no simulated time, so no clock can move both")
    names = _names(*(run.summary for run in runs))
    tables = [{name: figure for name, figure, _ in card_entries(run.summary)} for run in runs]
    figures = list(dict.fromkeys(name for table in tables for name in table))
    data = {
        "runs": [
            {"called": name, "colours": colours(run.summary["algorithm"])} | replay_data(run)
            for name, run in zip(names, runs, strict=True)
        ],
        "timeless": still[0],
        "figures": {"name": figures}
        | {
            key: [table.get(name, "–") for name in figures]
            for key, table in zip(("first", "second"), tables, strict=True)
        },
    }
    scenarios = dict.fromkeys(run.summary["scenario"] for run in runs)
    title = " and ".join(scenarios)
    body = Template(asset("pair.html")).substitute(
        title=html.escape(title),
        first=html.escape(names[0]),
        second=html.escape(names[1]),
        caveats=caveats_html(uncovered(run.summary["privacy"] for run in runs)),
    )
    return page(title, colours(first.summary["algorithm"]), body, _SCRIPTS, data)


def _names(*summaries: Mapping[str, Any]) -> list[str]:
    """What tells the runs apart, in few words."""
    for fields in (("algorithm",), ("scenario",), ("algorithm", "seed"), ("scenario", "seed"), ("algorithm", "digest")):
        names = [
            ", ".join(f"seed {each[field]}" if field == "seed" else str(each[field])[:40] for field in fields)
            for each in summaries
        ]
        if len(set(names)) > 1:
            return names
    return [f"{name} ({place})" for name, place in zip(names, ("first", "second"), strict=True)]
