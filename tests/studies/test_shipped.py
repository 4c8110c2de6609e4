"""The shipped studies can be run, and the page tells of each."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from analysis.answers import ANSWERS
from analysis.studies import FIGURES, held_against, main
from simnet import study
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


def blocks() -> dict[str, str]:
    """What the page says of each study."""
    page = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- study: (\w+) -->\n(.*?)<!-- end -->", page, re.DOTALL))


@pytest.mark.parametrize("name", FIGURES)
def test_the_page_says_what_the_errors_of_each_study_are_held_against(name):
    table = pl.read_csv(ROOT / "docs" / "studies" / f"{name}.csv", infer_schema_length=None)
    told = held_against(table)
    assert told.count("0.") >= 3
    assert told in blocks()[name]


def test_at_the_lower_target_two_methods_are_late_in_a_cell_with_broadcasts_as_the_page_says():
    table = pl.read_csv(ROOT / "docs" / "studies" / "radio_times.csv", infer_schema_length=None)
    late = table.filter(
        pl.col("network") == "cell, broadcast", pl.col("target") == 0.2, pl.col("cost") == "t", pl.col("share") < 0.5
    )
    assert late["algorithm.name"].to_list() == ["m-admm", "r-admm"]


def test_a_study_that_is_not_done_leaves_its_picture_and_its_table_as_they_are(tmp_path, monkeypatch, capsys):
    small = {"rounds": 2, "data": {"rows": 200, "source": "twonorm"}, "algorithm": {"name": "admm"}}
    content = {"name": "codecs", "scenario": small, "grid": {"network": {"codec": ["float64", "int8"]}}}
    study(content, tmp_path / "results", workers=1)
    store = tmp_path / "results" / "codecs"
    plan_file = json.loads((store / "study.json").read_text(encoding="utf-8"))
    rows = plan_file["runs"]
    plan_file["runs"] = [*rows, rows[-1] | {"key": "0" * len(rows[-1]["key"])}]
    (store / "study.json").write_text(json.dumps(plan_file), encoding="utf-8")
    (tmp_path / "page.md").write_text("<!-- study: codecs -->\nold\n<!-- end -->\n", encoding="utf-8")
    places = [str(tmp_path / name) for name in ("results", "out", "page.md")]
    monkeypatch.setattr("sys.argv", ["studies", places[0], "--output", places[1], "--page", places[2]])
    main()
    assert "codecs: 1 runs are still to be done, left as it is" in capsys.readouterr().out
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == "<!-- study: codecs -->\nold\n<!-- end -->\n"
    assert list((tmp_path / "out").iterdir()) == []
