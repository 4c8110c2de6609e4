"""ε of every agent's rows, from the log's charges alone."""

from __future__ import annotations

import pytest

from simnet import Scenario, run
from simnet.privacy.ledger import Charge, account
from simnet.record.events import PrivacySpent, ReleaseMade, SolveFinished, ValueUsed
from simnet.record.metrics import Cost, Metrics, PrivacyMeter

GRADIENT = {"rows": 300.0, "gradient_bound": 1.0, "sigma": 0.02}


def test_rows_that_a_trusted_hub_holds_cost_what_the_hub_spends():
    meter = PrivacyMeter(1e-4, 3)
    meter.spend(PrivacySpent(1, 0, "release", "trusted-upload", {}))
    assert meter.agent(1).proven_epsilon == 0.0
    for t in (1, 2):
        meter.spend(PrivacySpent(0, t, "release", "noisy-gradient", GRADIENT))
    spent = account([Charge.of("noisy-gradient", GRADIENT, times=2)], 1e-4)
    assert meter.agent(0) == spent
    assert (meter.agent(1).claimed_epsilon, meter.agent(1).proven_epsilon) == (
        spent.claimed_epsilon,
        spent.proven_epsilon,
    )
    assert "trust: rows in clear" in meter.agent(1).basis
    # Agent 2 has entrusted nobody with anything.
    assert meter.agent(2).proven_epsilon == 0.0


@pytest.mark.parametrize("hub", ["trusted", "untrusted"])
def test_every_row_of_a_star_has_the_epsilon_that_was_asked_for(hub):
    scenario = Scenario.of(
        {
            "rounds": 3,
            "data": {"source": "synthetic", "rows": 320, "train": 300, "features": 3},
            "topology": {"kind": "star", "agents": 3},
            "algorithm": {"name": "dp-admm", "graph": "none", "hub": hub},
            "privacy": {"epsilon": 2.0, "delta": 1e-3},
        }
    )
    found = run(scenario)
    assert found.agents["proven_epsilon"].to_list() == pytest.approx([2.0] * 3, abs=1e-4)


def test_a_run_pays_for_bytes_messages_and_seconds_by_every_list_of_prices():
    cost = Cost.model_validate({"energy": {"per_byte": 0.5, "per_second": 2}, "money": {"per_message": 3}})
    assert cost.totals(wire_bytes=10, transmissions=4, seconds=1.5) == {"energy": 8.0, "money": 12.0}


def test_without_prices_there_is_no_cost():
    assert Cost().totals(10, 4, 1.5) == {}


def network(**changes):
    return {
        "rounds": 12,
        "data": {"source": "synthetic", "rows": 320, "train": 300, "features": 3},
        "topology": {"kind": "ring", "agents": 5},
        "algorithm": {"name": "admm"},
    } | changes


LOSSY = network(network={"link": {"loss": {"kind": "bernoulli", "p": 0.3}}})
CHURN = network(
    network={"pacing": {"kind": "deadline", "period": 0.1}, "link": {"loss": {"kind": "bernoulli", "p": 0.1}}},
    fault=[{"kind": "churn", "up": 0.5, "down": 0.3}],
)


@pytest.mark.parametrize("settings", [LOSSY, CHURN], ids=["lossy", "churn"])
def test_a_value_is_missed_if_its_agent_had_released_a_newer_one(settings):
    result = run(Scenario.of(settings))
    told = [event for _, _, event in result.events]
    used = missed = 0
    for place, event in enumerate(told):
        if isinstance(event, ValueUsed):
            used += 1
            newer = range(event.round - event.staleness + 1, event.round + 1)
            before = told[:place]
            missed += any(isinstance(e, ReleaseMade) and e.agent == event.peer and e.round in newer for e in before)
    assert missed > 0
    assert result.summary["staleness"]["missed_share"] == missed / used
    replayed = Metrics()
    for seq, t, event in result.events:
        replayed(seq, t, event)
    assert replayed.summary(result.digest, None)["staleness"] == result.summary["staleness"]
    assert replayed.rounds == result.rounds.to_dicts()
    assert replayed.agents == result.agents.to_dicts()


def test_on_a_perfect_network_an_old_value_was_kept_through_a_skip_and_none_is_missed():
    result = run(Scenario.of(network(algorithm={"name": "ipp-admm"}, rounds=30, privacy={"epsilon": 50.0})))
    summary = result.summary
    assert summary["staleness"]["max"] > 0
    assert summary["staleness"]["missed_share"] == 0
    assert sum(summary["skips_by_reason"].values()) == summary["communication"]["skips"] > 0
    solved = [event.gradients for _, _, event in result.events if isinstance(event, SolveFinished)]
    assert summary["work"]["gradients"] == sum(solved) == result.rounds["gradients"][-1]


def test_seconds_of_work_are_those_from_the_start_of_each_round_to_the_end_of_its_solve():
    compute = {"time": "10 ms", "per_gradient": "1 ms"}
    result = run(Scenario.of(network(compute=compute, cost={"energy": {"per_second": 2}})))
    solved = [event.gradients for _, _, event in result.events if isinstance(event, SolveFinished)]
    seconds = 0.01 * len(solved) + 0.001 * sum(solved)
    assert len(solved) == 12 * 5
    assert result.summary["work"]["work_seconds"] == pytest.approx(seconds)
    assert result.summary["cost"]["energy"] == pytest.approx(2 * seconds)


def test_on_a_shared_medium_a_transmission_is_paid_once_and_each_reception_by_itself():
    cost = {"energy": {"per_message": 1}, "money": {"per_reception": 1}}
    summary = run(Scenario.of(network(network={"medium": "shared"}, cost=cost))).summary
    assert summary["communication"]["transmissions"] == summary["cost"]["energy"] == 60
    assert summary["communication"]["delivered"] == summary["cost"]["money"] == 120


def test_who_uses_no_values_has_missed_none_and_none_was_stale():
    star = {"topology": {"kind": "star", "agents": 3}, "algorithm": {"name": "dp-admm", "graph": "none"}}
    hub, *leaves = run(Scenario.of(network(**star))).agents.iter_rows(named=True)
    assert (hub["staleness_mean"], hub["missed_share"]) == (0.0, 0.0)
    assert [leaf["missed_share"] for leaf in leaves] == [0.0, 0.0]
