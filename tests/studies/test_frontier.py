"""The study of the frontier: what it tunes on it never reports, and its page holds what is stored."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis.frontier import HERE, NETWORKS, Chosen, Tried, carried, names, patient, reports, tried, tuning
from analysis.frontier_grids import CASES, EPSILONS, IJCNN1, OURS, REPORT_SEEDS, TUNING_SEEDS, base_of, matched
from analysis.frontier_page import GOALS, MISSING, PARTS, headline, told, verdict
from simnet import Scenario
from simnet.build import build
from simnet.errors import ScenarioError
from simnet.studies.runs import plan
from simnet.studies.spec import Study
from simnet.studies.tuning import refuse_rows_that_reports_touch

DOCS = Path(__file__).parents[2] / "docs"
REPORTS = names()
BASE = Scenario.load(HERE / "base.toml")
ENTRIES = [(case, entry) for case in CASES.values() for entry in case.entries]


def loaded(name: str) -> Study:
    """A study that reports, or a skip where its data are not here."""
    if name == "ijcnn1":
        try:
            build(BASE.with_(**IJCNN1))
        except ScenarioError as error:
            pytest.skip(str(error))
    return Study.load(HERE / f"{name}.toml")


@pytest.mark.parametrize(("case", "entry"), ENTRIES, ids=[f"{case.name}-{entry.name}" for case, entry in ENTRIES])
def test_settings_are_tried_on_rows_set_aside_alone_and_under_other_seeds(case, entry):
    first = Tried(entry.name, 1.0, entry.tried[0], 10.0, entry.outputs)
    runs = plan(tuning(case, entry, [first]))
    refuse_rows_that_reports_touch(runs)
    assert {(run.scenario.data.seed, run.scenario.data.tuning) for run in runs} == {(7, 5222)}
    assert {run.seed for run in runs} == set(TUNING_SEEDS)
    assert not set(TUNING_SEEDS) & set(REPORT_SEEDS)


@pytest.mark.parametrize("name", REPORTS)
def test_reports_use_the_other_rows_and_other_seeds(name):
    runs = plan(loaded(name))
    assert {run.scenario.data.use for run in runs} == {None}
    assert {(run.scenario.data.seed, run.scenario.data.resplit) for run in runs} == {(7, True)}
    assert {run.scenario.data.tuning for run in runs} <= {5222, 4990}
    assert {run.seed for run in runs} == set(REPORT_SEEDS)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_setting_is_tried_with_the_noise_that_it_has_in_the_report(epsilon):
    """Gaussian noise on a mean over m rows: σ is a sensitivity of 2c/m over a mean of its trade-off."""
    setting = {"algorithm.name": "../../methods/dp_gossip.py:DpGossip", "rounds": 10, "privacy.epsilon": epsilon}
    reports = base_of(BASE, setting)
    tunes = reports.with_(**{"data.use": "tuning", "privacy.epsilon": matched(reports)})
    noise = [build(each).calibration.plans[0].rounds[0].scale for each in (reports, tunes)]
    assert noise[1] == pytest.approx(noise[0], rel=2e-3)


def test_a_setting_that_cannot_meet_the_budget_of_the_report_is_not_tried():
    too_curved = {"algorithm.name": "one-shot", "algorithm.penalty": 1e-5, "rounds": 4, "privacy.epsilon": 0.25}
    assert matched(base_of(BASE, too_curved)) is None
    coca = next(entry for entry in CASES["adult"].entries if entry.name == "coca")
    assert [each.tuned_at for each in tried(CASES["adult"], coca)] == [1.0] * len(coca.tried)


def test_under_loss_floods_get_twice_the_rounds_and_rounds_of_learning_stay():
    flood = {"rounds": 10, "algorithm": {"name": "prox-rounds", "solves": 4, "moment_rounds": 2}}
    assert patient(flood) == {"rounds": 20, "algorithm": flood["algorithm"] | {"moment_rounds": 4}}
    steps = {"rounds": 17, "algorithm": {"name": "noisy-nesterov", "step": 20.0}}
    assert patient(steps) == {"rounds": 19, "algorithm": steps["algorithm"] | {"moment_rounds": 4}}
    other = {"rounds": 30, "algorithm": {"name": "pp-admm", "eta": 0.01}}
    assert patient(other) == other


def test_settings_are_carried_over_so_that_the_price_of_curvature_stays_alike():
    row = {"algorithm": {"name": "prox-rounds", "penalty": 8e-4, "solves": 2}}
    assert carried(row, 7000, 350)["algorithm"] == {"name": "prox-rounds", "penalty": 0.016, "solves": 2}
    own = {"algorithm": {"name": "r-admm", "eta": 0.01, "agent_eta": [0.005, 0.02], "dual_step": 0.01}}
    twice = {"eta": 0.02, "agent_eta": [0.01, 0.04], "dual_step": 0.02}
    assert carried(own, 2, 1)["algorithm"] == {"name": "r-admm"} | twice
    steps = {"algorithm": {"name": "noisy-nesterov", "step": 20.0}}
    assert carried(steps, 7000, 350) == steps


def test_slanted_parts_are_equal_and_their_shares_rise_evenly():
    world = build(BASE.with_(**{"data.partition": "slanted.py:Slanted"}))
    shares = [float((part.y > 0).mean()) for part in world.learning.parts]
    assert {part.rows for part in world.learning.parts} == {7000}
    assert np.diff(shares) == pytest.approx([shares[1] - shares[0]] * 4, abs=3e-4)
    assert shares[0] == pytest.approx(0.01, abs=2e-4)


@pytest.mark.parametrize("name", REPORTS)
def test_what_is_stored_are_the_runs_of_the_study(name):
    stored = DOCS / "frontier" / f"{name}.csv"
    if not stored.is_file():
        pytest.skip("not stored")
    runs = pl.read_csv(stored)
    planned = [
        (run.settings["name"].split(" on ")[0].split(", ε")[0], run.scenario.privacy.epsilon, run.seed)
        for run in plan(loaded(name))
    ]
    assert sorted(runs.select("entry", "epsilon", "seed").rows()) == sorted(planned)
    private = runs.filter(pl.col("proven_epsilon").is_not_null())
    assert (private["proven_epsilon"] <= private["epsilon"] * (1 + 1e-9)).all()
    assert set(runs.filter(pl.col("proven_epsilon").is_null())["entry"]) <= {"coca", "choco"}


def test_what_reports_is_what_was_chosen():
    table = DOCS / "frontier" / "choices.csv"
    if not table.is_file():
        pytest.skip("not stored")
    for name in ("adult", "twenty"):
        runs = {(run.settings["name"], run.scenario.privacy.epsilon): run for run in plan(loaded(name))}
        for row in pl.read_csv(table).filter(case=name).to_dicts():
            scenario = runs[row["entry"], row["epsilon"]].scenario
            wanted = base_of(BASE, CASES[name].base, json.loads(row["settings"]))
            assert scenario.algorithm == wanted.algorithm
            assert scenario.rounds == wanted.rounds
            if row["entry"].startswith("frontier"):
                assert row["method"] in OURS


def test_every_private_method_of_the_study_held_in_its_audit():
    table = pl.read_csv(DOCS / "frontier" / "audits.csv")
    private = {entry.name for entry in CASES["adult"].entries if entry.private}
    assert private <= set(table["entry"])
    assert set(table["verdict"]) == {"holds"}
    assert (table["at_least"] <= table["promised"]).all()


def test_the_page_holds_what_the_stored_runs_say(tmp_path):
    page = (DOCS / "frontier.md").read_text(encoding="utf-8")
    assert told(page, DOCS / "frontier") == page
    assert told(page, tmp_path).count(MISSING) == len(PARTS) + 1
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert headline(readme, DOCS / "frontier") == readme


def test_a_goal_is_met_missed_or_within_what_is_allowed():
    found = [verdict(pl.Series([most, most]), 0.16, 0.004) for most in (0.159, 0.163, 0.17)]
    assert [each.split("| ")[1] for each in found] == ["met", "within the 0.004 allowed", "missed by 0.0100"]
    assert verdict(None, 0.16, 0.004) == "not run |"
    assert {epsilon for *_, wanted in GOALS for epsilon in wanted} == set(EPSILONS)
    assert NETWORKS["lossy WAN"]["link"]["loss"] == 0.1


def test_the_studies_that_report_are_made_of_the_choices_that_are_stored():
    found: dict[str, list[Chosen]] = {}
    for row in pl.read_csv(DOCS / "frontier" / "choices.csv").to_dicts():
        settings = json.loads(row["settings"])
        best = Tried(row["method"], row["epsilon"], settings, row["tuned_at"], ("last",))
        found.setdefault(row["case"], []).append(Chosen(row["entry"], best, row["output"], None))
    made = reports(found)
    assert set(made) == set(REPORTS)
    for name, content in made.items():
        assert tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8")) == content
