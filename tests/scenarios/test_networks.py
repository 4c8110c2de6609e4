"""Each scenario of scenarios/networks shows what its comment says, and breaks no law."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from analysis import make_commuters
from simnet import Result, Scenario, run
from simnet.agent.pacing import ALIGNED
from simnet.record.laws import Laws
from simnet.record.verify import replay, verify

FOLDER = Path(__file__).parents[2] / "scenarios" / "networks"
# The long one is what test_duals_under_loss runs.
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem != "duals-under-loss")


@cache
def result(name: str) -> Result:
    return run(Scenario.load(FOLDER / f"{name}.toml"))


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_says_what_it_shows_and_keeps_the_laws(name):
    assert (FOLDER / f"{name}.toml").read_text(encoding="utf-8").startswith("# ")
    laws = Laws(ALIGNED)
    for entry in result(name).events:
        laws(*entry)
    assert laws.finish() == []


def test_healing_duals_find_the_model_where_the_papers_agree_on_a_worse_one():
    healing = result("lossy-healing").summary["accuracy"]
    node = run(Scenario.load(FOLDER / "lossy-healing.toml").with_(**{"algorithm.duals": "node"})).summary["accuracy"]
    assert node["consensus"] < 1e-4
    assert node["objective"] > healing["objective"] + 0.1
    assert node["dual_drift"] > 10 * healing["dual_drift"]


def test_a_reliable_transport_keeps_values_fresh_and_costs_repetitions_and_energy():
    summary = result("reliable-4g").summary
    assert summary["staleness"]["fresh_share"] > 0.95
    assert summary["communication"]["retransmissions"] > 0
    assert summary["cost"]["energy"] > 0


def test_a_radio_channel_carries_one_transmission_for_all():
    traffic = result("lorawan-sensors").summary["communication"]
    assert traffic["messages"] > 3 * traffic["broadcasts"]
    assert traffic["payload_bytes"] < 50 * traffic["broadcasts"]


def test_churn_spends_no_more_than_the_budget():
    summary = result("churn").summary
    assert summary["communication"]["unreachable"] > 0
    assert summary["privacy"]["proven_epsilon"] <= 5.0


def test_the_queue_drops_more_than_the_air_loses():
    traffic = result("congested").summary["communication"]
    assert traffic["overflowed"] > traffic["lost"] > 0


def test_news_over_a_satellite_is_old():
    assert result("satellite").summary["staleness"]["mean"] > 1


def test_a_cut_cable_leaves_two_continents_to_themselves_for_a_while():
    assert result("two-continents").summary["communication"]["unreachable"] > 0


def test_commuters_learn_with_edge_duals_and_not_with_the_papers():
    summary = result("commuters").summary
    node = run(Scenario.load(FOLDER / "commuters.toml").with_(**{"algorithm.duals": "node"})).summary
    assert summary["communication"]["unreachable"] > 0
    assert summary["staleness"]["missed_share"] > 0.5
    assert summary["accuracy"]["test_error"] < 0.1 < node["accuracy"]["test_error"]
    assert summary["privacy"]["proven_epsilon"] <= 10.0


@pytest.mark.parametrize("name", make_commuters.FILES)
def test_the_commuters_files_are_made_by_their_rule(name):
    assert (FOLDER / "commuters" / name).read_text(encoding="utf-8") == make_commuters.FILES[name]()


def test_a_stored_run_of_the_commuters_is_verified_and_replayed(tmp_path):
    stored = run(Scenario.load(FOLDER / "commuters.toml"), tmp_path)
    assert verify(stored.folder, ALIGNED).findings == replay(stored.folder).findings == ()
