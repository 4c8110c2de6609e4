"""Settings are chosen by a rule, within a budget, on rows that no report touches."""

from __future__ import annotations

import re
from copy import copy
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from simnet import Scenario, run
from simnet.cli import app
from simnet.cli.options import Interrupted
from simnet.errors import ScenarioError, SimnetError
from simnet.studies.pool import perform
from simnet.studies.results import StudyResult
from simnet.studies.sweep import plan_sweep, read, sweep
from simnet.studies.tuning import Budget, Choice, choose, refuse_rows_that_reports_touch
from tests import worlds
from tests.called import called

APART = {"source": "synthetic", "rows": 300, "features": 4, "seed": 7, "tuning": 0.5, "use": "tuning"}


def content(**data: Any) -> dict[str, Any]:
    rows = {name: value for name, value in (APART | data).items() if value is not None}
    base = worlds.STUDIED | {"data": rows, "output": ["neighbours"]}
    return worlds.study_content(scenario=base, grid={"algorithm.eta": [0.01, 5.0], "rounds": [2, 6]})


@pytest.fixture(scope="module")
def tuned(tmp_path_factory) -> tuple[Any, StudyResult]:
    plan = plan_sweep(read(content()), tmp_path_factory.mktemp("results"))
    return plan.runs, sweep(plan, lambda jobs: (perform(job) for job in jobs))


def chosen(tuned: tuple[Any, StudyResult], **options: Any) -> Choice:
    return choose(*tuned, **options)


def plain_means(found: StudyResult, figure: str) -> dict[tuple[float, int], float]:
    means: dict[tuple[float, int], list[float]] = {}
    for row in found.runs.to_dicts():
        means.setdefault((row["algorithm.eta"], row["rounds"]), []).append(row[figure])
    return {setting: sum(values) / len(values) for setting, values in means.items()}


@pytest.mark.parametrize("figure", ["test_error", "test_error_neighbours"])
def test_the_least_mean_wins(tuned, figure):
    found, means = chosen(tuned, figure=figure), plain_means(tuned[1], figure)
    assert (found.settings["algorithm.eta"], found.settings["rounds"]) == min(means, key=means.__getitem__)
    assert found.mean == pytest.approx(min(means.values()))
    assert (found.within, found.of, found.runs) == (4, 4, 8)


def test_a_budget_leaves_out_what_costs_more(tuned):
    sent = plain_means(tuned[1], "wire_bytes")
    least = min(sent.values())
    found = chosen(tuned, budget=Budget(bytes=least))
    assert (found.settings["rounds"], found.within) == (2, 2)
    with pytest.raises(SimnetError, match="none of 4 settings keeps to the budget"):
        chosen(tuned, budget=Budget(bytes=least - 1))


def test_what_reports_has_the_chosen_settings_other_rows_and_a_new_seed(tuned):
    found = chosen(tuned)
    reports = found.scenario
    assert (reports.data.use, reports.data.tuning, reports.data.seed) == (None, 0.5, 7)
    assert reports.seed not in {each.seed for each in tuned[0]}
    assert reports.algorithm.eta == found.settings["algorithm.eta"]
    assert run(reports).summary["accuracy"]["test_error"] < 0.5


@pytest.mark.parametrize(("field", "values"), [("seed", [7, 8]), ("tuning", [0.3, 0.5]), ("rows", [200, 300])])
def test_no_setting_is_chosen_against_others_that_learned_from_rows_of_the_report(field, values, tmp_path):
    """Half of the rows set aside under seed 8 are what a report under seed 7 learns from."""
    study = content() | {"grid": {f"data.{field}": values}}
    runs = plan_sweep(read(study), tmp_path / "results").runs
    with pytest.raises(ScenarioError, match=rf"^data\.{field}: settings that differ in it set other rows aside"):
        refuse_rows_that_reports_touch(runs)
    same_rows = content() | {"grid": {"data.scale": ["rows"], "data.bias": [True, False]}}
    refuse_rows_that_reports_touch(plan_sweep(read(same_rows), tmp_path / "others").runs)


@pytest.mark.parametrize("data", [{"use": None}, {"use": None, "tuning": None}])
def test_settings_are_never_chosen_on_rows_that_reports_touch(data, tmp_path):
    plan = plan_sweep(read(content(**data)), tmp_path)
    with pytest.raises(ScenarioError, match=r"data\.use: settings are chosen on rows that no report touches"):
        choose(
            plan.runs, StudyResult(None, {"name": "", "question": None, "fields": [], "together": [], "runs": []}, None)
        )


def test_a_setting_with_a_failed_run_is_not_chosen(tuned):
    runs, found = tuned
    best = next(each for each in runs if each.settings == chosen(tuned).settings)
    failed = copy(found)
    figures = [pl.when(pl.col("key") != best.key).then(pl.col(name)) for name in ("test_error", "wire_bytes")]
    failed.runs = found.runs.with_columns(figures)
    second = choose(runs, failed)
    assert (second.within, second.settings != best.settings) == (3, True)


def test_a_figure_that_runs_do_not_have_is_refused(tuned):
    with pytest.raises(SimnetError, match=re.escape("--by accuracy: the runs have no such figure; test_error, ")):
        chosen(tuned, figure="accuracy")


STUDY = """
name = "small"
replicates = 2
[scenario]
name = "tiny"
rounds = 2
data = { source = "synthetic", rows = 300, features = 4, seed = 7, tuning = 0.5, use = "tuning" }
topology = { kind = "ring", agents = 4 }
algorithm.name = "admm"
[grid]
algorithm.eta = [0.01, 0.2]
"""


def test_the_command_says_what_it_chose_and_writes_the_scenario_that_reports(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    options = [str(tmp_path / "study.toml"), "--out", str(tmp_path / "results"), "--workers", "1"]
    told = CliRunner().invoke(app, ["tune", *options, "--write", str(tmp_path / "chosen.toml")])
    assert told.exit_code == 0
    assert "chosen among 2 of 2 settings, by the least mean test_error" in told.output
    assert "report it from seed 3 on" in told.output
    assert "what 4 runs tell together" in told.output
    assert Scenario.load(tmp_path / "chosen.toml").data.use is None
    with pytest.raises(SimnetError, match=r"none/x.toml: the scenario cannot be written \(No such file or directory\)"):
        CliRunner().invoke(app, ["tune", *options, "--write", str(tmp_path / "none/x.toml")], catch_exceptions=False)


def test_a_signal_leaves_what_is_done_and_says_so(tmp_path, monkeypatch):
    def interrupted(*_):
        raise Interrupted(2)

    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    monkeypatch.setattr("simnet.studies.sweep.sweep", interrupted)
    with pytest.raises(Interrupted) as caught:
        called("tune", str(tmp_path / "study.toml"), "--out", str(tmp_path / "results"), "--workers", "1")
    assert caught.value.kept == "finished runs are kept, and the same command goes on"
