"""The facts of a study are what its tables say."""

from __future__ import annotations

import html
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simnet
from simnet import Scenario, run
from simnet.report import report
from simnet.report.study_page import StudyFacts, front, read_study
from simnet.studies.aggregate import bounds
from simnet.studies.reaching import reach
from simnet.studies.results import StudyResult
from tests import worlds


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("results")
    grid = {"algorithm.eta": [0.01, 0.05], "topology.agents": [4, 300]}
    found = simnet.study(worlds.study_content(name="small </script>", replicates=3, grid=grid), out, workers=1)
    assert found.folder is not None
    return found.folder


@pytest.fixture(scope="module")
def facts(folder) -> StudyFacts:
    return read_study(folder)


def test_a_setting_has_the_mean_and_interval_of_its_runs(folder, facts):
    runs = StudyResult.load(folder).runs
    assert [row["values"] for row in facts.settings] == [(0.01, 4), (0.05, 4)], "300 agents for 300 rows cannot run"
    for row in facts.settings:
        own = runs.filter(runs["algorithm.eta"] == row["values"][0], runs["topology.agents"] == 4)
        for name in ("test_error", "wire_bytes"):
            values = own[name].to_numpy().astype(float)
            assert row["n"] == len(values) == 3
            assert row[name] == pytest.approx((values.mean(), *bounds(values, "t")))


def test_the_page_says_what_errors_are_held_against(folder, facts):
    runs = StudyResult.load(folder).runs.drop_nulls("test_error")
    for name in ("constant", "optimum", "best_optimum"):
        mean = runs.filter(runs["algorithm.eta"] == 0.01)[f"yardsticks_{name}"].mean()
        assert facts.yardsticks[name] == pytest.approx((mean, mean)), "both settings have the same rows"
    assert "Constant answer" in report(folder, folder / "again.html").read_text()


def test_failed_runs_are_told_apart_with_their_reason(facts):
    assert facts.planned == 12
    assert len(facts.runs["seed"]) == 6
    assert len(facts.failures["error"]) == 6
    assert set(facts.failures["topology.agents"]) == {300}


def test_a_curve_is_the_mean_of_the_rounds_with_their_interval(folder, facts):
    rounds = StudyResult.load(folder).rounds
    for row, curve in zip(facts.settings, facts.curves, strict=True):
        own = rounds.filter(rounds["algorithm.eta"] == row["values"][0])
        assert curve["round"] == [1, 2, 3]
        for place, number in enumerate(curve["round"]):
            values = own.filter(own["round"] == number)["test_error"].to_numpy().astype(np.float64)
            found = [curve[name][place] for name in ("test_error", "test_error_low", "test_error_high")]
            assert found == pytest.approx([values.mean(), *bounds(values, "t")])


def test_the_page_holds_every_run_and_no_markup_from_names(folder, tmp_path):
    text = report(folder, tmp_path / "study.html").read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    assert "small &lt;/script&gt;" in text
    assert report(folder) == folder / "report.html"


def test_the_page_says_what_its_proven_epsilon_does_not_cover(tmp_path):
    scenario = worlds.STUDIED | {"privacy": {"epsilon": 20.0}}
    scenario["data"] = scenario["data"] | {"partition": "skewed", "min_rows": 20}
    content = worlds.study_content(scenario=scenario, grid={"algorithm.name": ["admm", "pp-admm"]})
    found = simnet.study(content, tmp_path, workers=1)
    caveats = run(Scenario.of(scenario).with_method("pp-admm")).summary["privacy"]["caveats"]
    assert caveats
    assert read_study(found.folder).caveats == caveats
    text = report(found.folder).read_text()
    assert all(f'<p class="note">ε does not cover: {html.escape(each)}</p>' in text for each in caveats)


def test_without_a_proven_epsilon_there_is_nothing_that_it_does_not_cover(facts):
    assert facts.caveats == []


def test_the_page_begins_with_what_the_command_answers(folder, facts):
    study = StudyResult.load(folder)
    question = facts.reach
    assert question is not None
    assert question.first == reach(study, question.targets[question.start]).answer()
    assert html.escape(question.first) in report(folder, folder / "answered.html").read_text()
    for cost in ("bytes", "rounds"):
        for place, target in enumerate(question.targets):
            assert question.data()["answers"][cost][place] == reach(study, target, cost).answer()


POINTS = st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 5))] * 3), max_size=12)


def worse(a: int | None, b: int | None) -> bool:
    return a is None if b is not None and a is None else (a is not None and b is not None and a > b)


@given(POINTS)
def test_a_point_is_on_the_front_if_and_only_if_no_other_beats_it(points):
    def beats(other, point) -> bool:
        return not any(map(worse, other, point)) and any(map(worse, point, other))

    assert front(points) == [i for i, point in enumerate(points) if not any(beats(other, point) for other in points)]


def test_equal_points_share_the_front():
    assert front([(1.0, 2.0), (1.0, 2.0), (3.0, 3.0)]) == [0, 1]


def test_a_difference_in_the_tenth_digit_beats_nobody():
    assert front([(0.9999999990, 10.0), (0.9999999989, 20.0)]) == [0]
