"""The shipped studies can be run, and the page tells of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.answers import ANSWERS
from analysis.studies import FIGURES, held_against
from simnet.studies.runs import plan
from simnet.studies.spec import Study

ROOT = Path(__file__).parents[2]
STUDIES = sorted((ROOT / "scenarios" / "studies").glob("*.toml"))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_shipped_study_asks_a_question_and_all_its_runs_are_valid(path):
    study = Study.load(path)
    assert study.name == path.stem
    assert study.question.endswith("?")
    assert 10 <= len(plan(study)) <= 400


def test_every_shipped_study_has_a_figure_an_answer_and_a_place_on_the_page():
    names = {path.stem for path in STUDIES}
    assert names == set(FIGURES) == set(ANSWERS)
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    for name in names:
        assert f"<!-- study: {name} -->" in page
        assert f"](studies/{name}.png)" in page
        for kind in ("png", "csv"):
            assert (ROOT / "docs" / "studies" / f"{name}.{kind}").stat().st_size > 0


def test_the_page_says_what_its_errors_are_held_against():
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    assert f"<!-- study: yardsticks -->\n{held_against()}<!-- end -->" in page
