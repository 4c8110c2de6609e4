"""The tutorial is true: its commands run one after another, and print what the page and the notebook show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from analysis.make_tutorial import BLOCK, NOTEBOOK, PAGE, filled, notebook, play, source, steady

TEXT = PAGE.read_text(encoding="utf-8")
STORED = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
CODE = [cell for cell in STORED["cells"] if cell["cell_type"] == "code"]
SOURCES = ["".join(cell["source"]) for cell in CODE]
PRINTED = ["".join(line for output in cell["outputs"] for line in output["text"]) for cell in CODE]


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> tuple[Path, list[str]]:
    """The folder after all cells of the notebook, and what they printed."""
    folder = tmp_path_factory.mktemp("tutorial")
    return folder, play(SOURCES, folder)


def test_every_cell_prints_what_the_notebook_holds(played):
    for code, stored, printed in zip(SOURCES, PRINTED, played[1], strict=True):
        assert steady(printed) == steady(stored), f"{code}\nrun: python -m analysis.make_tutorial"


def test_the_page_and_the_notebook_are_one():
    assert [source(block) for block in BLOCK.finditer(TEXT)] == SOURCES
    assert filled(TEXT, PRINTED) == TEXT
    assert notebook(TEXT, PRINTED) == STORED


def test_the_page_uses_every_command_that_it_is_about():
    used = set(re.findall(r"\bsimnet (\w+)", "\n".join(SOURCES)))
    assert used >= {"init", "check", "explain", "compare", "sweep", "report", "live", "audit", "publish", "log"}


def test_the_method_has_forty_lines(played):
    method = (played[0] / "my_method.py").read_text(encoding="utf-8")
    assert len([line for line in method.splitlines() if line.strip()]) < 40


def test_live_agents_learn_what_the_page_says_that_they_learn(played):
    folder = played[0]
    (live,) = (folder / "live").rglob("summary.json")
    found = json.loads(live.read_text(encoding="utf-8"))["accuracy"]
    simulated = [json.loads(file.read_text(encoding="utf-8")) for file in (folder / "compared").rglob("summary.json")]
    assert len(simulated) == 2
    assert any(found["test_error"] == each["accuracy"]["test_error"] for each in simulated)


def test_what_is_given_away_has_no_figure_of_the_rows(played):
    published = list((played[0] / "published").rglob("summary.json"))
    assert len(published) == 2
    for file in published:
        assert json.loads(file.read_text(encoding="utf-8"))["accuracy"].get("train_loss") is None
    assert (played[0] / "results" / "budgets" / "report.html").stat().st_size > 10_000


def test_the_links_of_the_page_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (PAGE.parent / target).exists(), target


def test_what_changes_from_run_to_run_is_not_compared():
    one = "│ lasted      │      0.592 s │ 986 events │\ntook 1.38 s; run folder: x/a31489afd14c\naudit: 99264fd7b34a"
    assert steady(one) == ["audit: …"]
    assert steady("wrote published/b\nwrote published/a") == steady("wrote published/a\nwrote published/b")
    assert steady("test error 0.1163") != steady("test error 0.1164")
