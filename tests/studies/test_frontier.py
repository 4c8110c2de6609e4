"""The study of the frontier: what it tunes on it never reports, and its page holds what is stored."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from analysis.frontier import ENTRIES, EPSILONS, HERE
from analysis.frontier_page import MISSING, PARTS, told
from simnet.studies.runs import plan
from simnet.studies.spec import Study

DOCS = Path(__file__).parents[2] / "docs"
REPORTS = sorted(HERE.glob("[!b]*.toml"))


def test_every_entry_has_its_grid_and_every_grid_its_entry():
    assert {path.stem for path in (HERE / "tuning").glob("*.toml")} == set(ENTRIES)
    assert {path.stem for path in REPORTS} == set(PARTS)


@pytest.mark.parametrize("entry", ENTRIES)
def test_settings_are_chosen_on_rows_set_aside_at_every_epsilon(entry):
    study = Study.load(HERE / "tuning" / f"{entry}.toml")
    runs = plan(study)
    assert {run.scenario.data.use for run in runs} == {"tuning"}
    assert {run.scenario.privacy.epsilon for run in runs} == set(EPSILONS)
    assert max(study.seeds) < 100


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_reports_use_the_other_rows_and_other_seeds(path):
    runs = plan(Study.load(path))
    assert {run.scenario.data.use for run in runs} == {None}
    assert {(run.scenario.data.seed, run.scenario.data.tuning) for run in runs} == {(7, 0.5)}
    assert min(run.seed for run in runs) > 100


@pytest.mark.parametrize("name", PARTS)
def test_what_is_stored_are_the_runs_of_the_study(name):
    stored = DOCS / "frontier" / f"{name}.csv"
    if not stored.is_file():
        pytest.skip("not stored")
    runs = pl.read_csv(stored)
    planned = [
        (run.settings["name"].split(" on ")[0], run.scenario.privacy.epsilon, run.seed)
        for run in plan(Study.load(HERE / f"{name}.toml"))
    ]
    assert sorted(runs.select("entry", "epsilon", "seed").rows()) == sorted(planned)
    assert (runs["proven_epsilon"] <= runs["epsilon"] * (1 + 1e-9)).all()


def test_the_page_holds_what_the_stored_runs_say(tmp_path):
    page = (DOCS / "frontier.md").read_text(encoding="utf-8")
    assert told(page, DOCS / "frontier") == page
    assert told(page, tmp_path).count(MISSING) == len(PARTS)
