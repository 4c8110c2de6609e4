"""ε of every agent's rows, from the log's charges alone."""

from __future__ import annotations

import pytest

from simnet import Scenario, run
from simnet.privacy.ledger import Charge, account
from simnet.record.events import PrivacySpent
from simnet.record.metrics import Cost, PrivacyMeter

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
    assert [row["proven_epsilon"] for row in found.agents] == pytest.approx([2.0] * 3, abs=1e-4)


def test_a_run_pays_for_bytes_messages_and_seconds_by_every_list_of_prices():
    cost = Cost.model_validate({"energy": {"per_byte": 0.5, "per_second": 2}, "money": {"per_message": 3}})
    assert cost.totals(wire_bytes=10, messages=4, seconds=1.5) == {"energy": 8.0, "money": 12.0}


def test_without_prices_there_is_no_cost():
    assert Cost().totals(10, 4, 1.5) == {}
