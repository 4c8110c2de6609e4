"""How a run becomes a row."""

from __future__ import annotations

import simnet
from tests import worlds


def test_a_study_can_be_ranked_by_its_prices():
    prices = {"energy": {"per_byte": 1e-6, "per_message": 0.5, "per_second": 0.0}}
    found = simnet.study(worlds.study_content(scenario=worlds.STUDIED | {"cost": prices}), workers=1)
    for row in found.runs.iter_rows(named=True):
        spent = 1e-6 * row["wire_bytes"] + 0.5 * (row["messages"] + row["retransmissions"])
        assert abs(row["cost_energy"] - spent) < 1e-9
    assert found.means("cost_energy")["mean"].is_not_null().all()


def test_a_run_says_how_far_its_slowest_agent_came():
    faults = [{"kind": "crash", "agent": 2, "at": 0.0}]
    network = {"pacing": {"kind": "deadline", "period": "100 ms"}}
    scenario = worlds.STUDIED | {"fault": faults, "network": network}
    found = simnet.study(worlds.study_content(scenario=scenario), workers=1)
    assert found.runs["last_round_min"].to_list() == [0] * found.runs.height
