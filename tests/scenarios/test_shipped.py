"""Each shipped scenario shows what its comment says."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from simnet import Result, Scenario, run

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@cache
def result(name: str) -> Result:
    return run(Scenario.load(SCENARIOS / f"{name}.toml"))


def test_the_quickstart_skips_loses_and_goes_stale_within_its_budget():
    summary = result("quickstart").summary
    traffic = summary["communication"]
    assert summary["algorithm"] == "ipp-admm"
    assert summary["agents"] == 5
    assert traffic["broadcasts"] + traffic["skips"] == 150
    assert traffic["skips"] > 0
    assert traffic["lost"] > 0
    assert summary["staleness"]["mean"] > 0
    assert summary["privacy"]["releases_max"] <= 15
    assert summary["privacy"]["proven_epsilon"] == pytest.approx(1.0, abs=1e-4)
    assert summary["privacy"]["proven_epsilon"] <= 1.0
    assert summary["time"]["simulated"] == pytest.approx(30 * 0.2)


def test_on_the_ideal_network_everything_is_fresh_and_the_duals_sum_to_zero():
    summary = result("ideal").summary
    traffic = summary["communication"]
    assert (traffic["broadcasts"], traffic["skips"], traffic["messages"]) == (150, 0, 2 * 5 * 30)
    assert traffic["delivered"] == traffic["messages"]
    ages = dict.fromkeys(("mean", "p95", "max", "missed_share", "mean_seconds", "p95_seconds", "max_seconds"), 0)
    assert summary["staleness"] == ages | {"fresh_share": 1.0}
    assert summary["accuracy"]["dual_drift"] < 1e-12


def test_loss_makes_values_stale_and_duals_drift_and_models_worse():
    lossy, ideal = result("lossy").summary, result("ideal").summary
    share = lossy["communication"]["lost"] / lossy["communication"]["messages"]
    assert 0.1 < share < 0.3
    assert lossy["staleness"]["fresh_share"] < 0.9
    assert lossy["accuracy"]["dual_drift"] > 1e-2
    assert lossy["accuracy"]["train_loss"] > ideal["accuracy"]["train_loss"] + 0.01


def test_congestion_overflows_half_of_the_messages_and_ages_the_rest():
    summary = result("congested").summary
    traffic = summary["communication"]
    assert 0.4 < traffic["overflowed"] / traffic["messages"] < 0.6
    assert traffic["lost"] == 0
    assert summary["staleness"]["mean"] > 2
    assert traffic["messages"] == traffic["delivered"] + traffic["overflowed"] + traffic["in_flight"]


def test_one_slow_link_costs_time_and_nothing_else():
    slow = result("slow-link")
    fast = run(slow.scenario.with_(**{"network.override": []}))
    assert slow.summary["accuracy"] == fast.summary["accuracy"] == result("ideal").summary["accuracy"]
    assert slow.summary["communication"] == fast.summary["communication"]
    assert slow.summary["time"]["simulated"] > 10 * fast.summary["time"]["simulated"]
    assert slow.summary["time"]["simulated"] > 30 * 0.5


def test_the_scripted_scenario_shows_that_loss_costs_accuracy_and_no_bytes():
    script = SCENARIOS / "what_does_loss_cost.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    errors, fresh = [float(row[1]) for row in rows], [float(row[3].rstrip("%")) for row in rows]
    assert [row[0] for row in rows] == ["0%", "5%", "20%", "40%"]
    assert errors[-1] > errors[0]
    assert fresh == sorted(fresh, reverse=True)
