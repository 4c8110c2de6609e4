"""Where a command or a cell of a notebook shows a proven ε, it says what that ε does not cover."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from simnet import Scenario, compare
from simnet.record.fitness import LABELS_DEAL
from simnet.studies.results import StudyResult
from tests.called import called

SCENARIO = """
name = "dealt"
rounds = 2
data = { source = "synthetic", rows = 400, partition = "skewed", min_rows = 10 }
topology = { kind = "ring", agents = 4 }
algorithm = { name = "pp-admm", eta = 0.5 }
privacy = { epsilon = 8.0 }
"""
STUDY = """
name = "dealt"
base = "dealt.toml"
target = 0.5
replicates = 1
[grid]
"algorithm.name" = ["pp-admm", "admm"]
"""
TUNING = """
name = "tuning"
base = "dealt.toml"
[grid]
"data.use" = ["tuning"]
"data.seed" = [1]
"data.tuning" = [0.5]
"algorithm.eta" = [0.5, 0.6]
"""
SAID = f"ε does not cover: {LABELS_DEAL}"


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    for name, text in (("dealt", SCENARIO), ("study", STUDY), ("tuning", TUNING)):
        (tmp_path / f"{name}.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_table_with_a_proven_epsilon_says_once_what_it_does_not_cover(here):
    for words in (
        "compare dealt.toml --methods admm,pp-admm,dp-admm",
        "sweep study.toml --workers 1",
        "reach results/dealt",
        "tune tuning.toml --workers 1",
    ):
        code, told, refusal = called(*words.split())
        assert (code, refusal) == (0, "")
        assert told.splitlines().count(SAID) == 1, words


def test_without_a_proven_epsilon_nothing_is_said(here):
    assert "does not cover" not in called("compare", "dealt.toml", "--methods", "admm")[1]


def test_json_and_notebooks_have_it_too(here):
    called("sweep", "study.toml", "--workers", "1")
    told = json.loads(called("reach", "results/dealt", "--json")[1])
    assert told["caveats"] == [LABELS_DEAL]
    found = StudyResult.load("results/dealt")
    for shown in (found, found.reach(), compare(Scenario.load("dealt.toml"), ["pp-admm"])):
        assert shown._repr_html_().count(html.escape(SAID)) == 1
