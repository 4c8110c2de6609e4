"""How a run becomes a row."""

from __future__ import annotations

import simnet
from simnet.cli.study_tables import means_table
from simnet.report.study_page import read_study
from tests import worlds


def test_a_study_can_be_ranked_by_its_prices():
    prices = {"energy": {"per_byte": 1e-6, "per_message": 0.5, "per_second": 0.0}}
    found = simnet.study(worlds.study_content(scenario=worlds.STUDIED | {"cost": prices}), workers=1)
    for row in found.runs.iter_rows(named=True):
        spent = 1e-6 * row["wire_bytes"] + 0.5 * (row["messages"] + row["retransmissions"])
        assert abs(row["cost_energy"] - spent) < 1e-9
    assert found.means("cost_energy")["mean"].is_not_null().all()


def test_a_study_over_a_channel_has_airtime_and_joules_among_its_headlines():
    air = {
        "network": {"channel": "csma", "medium": "shared"},
        "cost": {"energy": {"send_watts": 1.0, "idle_watts": 0.1}},
    }
    found = simnet.study(worlds.study_content(scenario=worlds.STUDIED | air, replicates=1), workers=1)
    for row in found.runs.iter_rows(named=True):
        parts = sum(row[f"joules_{name}"] for name in ("send", "receive", "idle", "compute"))
        assert row["joules"] == parts > row["joules_send"] == row["airtime_sent"] > 0
    assert found.headlines[-2:] == ["airtime_sent", "joules"]
    assert found.means()["figure"].unique().to_list().count("joules") == 1
    assert found.reaching(1.0, "joules")["share"].to_list() == [1.0] * 3


def test_a_run_says_how_far_its_slowest_agent_came():
    faults = [{"kind": "crash", "agent": 2, "at": 0.0}]
    network = {"pacing": {"kind": "deadline", "period": "100 ms"}}
    scenario = worlds.STUDIED | {"fault": faults, "network": network}
    found = simnet.study(worlds.study_content(scenario=scenario), workers=1)
    assert found.runs["last_round_min"].to_list() == [0] * found.runs.height


def test_the_error_of_every_output_is_a_column_of_the_table_and_of_the_page(tmp_path):
    outputs = {"output": ["neighbours", {"kind": "tail", "releases": 2, "name": "short tail"}]}
    content = worlds.study_content(scenario=worlds.STUDIED | outputs)
    found = simnet.study(content, tmp_path, workers=1)
    columns = ["test_error_neighbours", "test_error_short_tail"]
    assert found.outputs == columns
    assert found.headlines[:3] == ["test_error", *columns]
    assert [column.header for column in means_table(found).columns][2:5] == ["test error", "neighbours", "short tail"]
    assert found.folder is not None
    page = read_study(found.folder)
    assert page.outputs == columns
    for name in columns:
        assert page.settings[0][name][0] == found.runs.filter(found.runs["algorithm.eta"] == 0.01)[name].mean()
        assert len(page.curves[0][name]) == len(page.curves[0]["round"])
