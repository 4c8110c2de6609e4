"""`make validate` compares fairly, and says so where a goal is missed. ns-3 itself is not needed here."""

import sys

import pytest

from benchmarks.ns3_reference import CAPTURE, FULL_PACKET, LINES, Line
from benchmarks.page import aloha, cells, lines, lora, transfers
from benchmarks.validate import line, lora_airtime, main, measured


class Burst(Line):
    """Four packets at once, and one while they wait."""

    def offers(self):
        return [0, 0, 0, 0, 1_000_000], [1000] * 5


NS3_ARRIVALS = [20_801_600, 21_603_200, 22_404_800, -1, 23_206_400]
"""What ns-3.44 says of the burst."""


def verdicts(table):
    return [row.split("|")[-2].strip() for row in table.splitlines()[2:]]


def test_a_burst_that_overflows_a_queue_meets_the_fates_that_ns3_says():
    found = line(Burst("a burst", 10_000_000, 0.02, 2, 1.0), NS3_ARRIVALS)
    assert (found["packets"], found["dropped"], found["other fates"]) == (5, 1, 0)
    assert found["nanoseconds"] < 1


def test_a_queue_with_one_place_more_is_found_out():
    assert line(Burst("a burst", 10_000_000, 0.02, 3, 1.0), NS3_ARRIVALS)["other fates"] == 1


def test_a_line_that_is_slower_is_found_out():
    assert line(Burst("a burst", 9_999_000, 0.02, 2, 1.0), NS3_ARRIVALS)["nanoseconds"] > 20


@pytest.mark.parametrize("setting", LINES, ids=lambda setting: setting.name)
def test_both_sides_of_a_line_are_handed_the_same_packets_in_order(setting):
    times, sizes = setting.offers()
    assert (times, sizes) == setting.offers()
    assert times == sorted(times)
    assert len(set(times)) == len(times) // setting.burst
    assert not setting.whole or sizes[0] == FULL_PACKET
    assert 64 <= min(sizes) <= max(sizes) <= FULL_PACKET


@pytest.mark.parametrize(
    ("size", "spreading", "milliseconds"), [(23, 7, 61.696), (34, 7, 77.056), (23, 12, 1482.752), (64, 12, 2793.472)]
)
def test_the_lora_formula_gives_the_published_airtimes(size, spreading, milliseconds):
    assert float(1000 * lora_airtime(size, spreading)) == pytest.approx(milliseconds, abs=1e-9)


def test_a_line_that_drops_another_packet_misses_its_goal():
    row = {"name": "a", "queue": 1, "packets": 9, "dropped": 2, "other fates": 0, "nanoseconds": 20.0}
    told = lines({"lines": [row, row | {"other fates": 1}, row | {"nanoseconds": 20.1}]})
    assert verdicts(told) == ["yes", "**no**", "**no**"]


def test_a_cell_misses_its_goal_by_the_share_or_by_the_time():
    ns3 = {"round": "unicast", "stations": 5, "delivered": 0.9, "delivered_error": 0.0, "seconds": 1.0}
    near = [
        {"delivered": 0.94, "seconds": 1.14},
        {"delivered": 0.84, "seconds": 1.0},
        {"delivered": 0.9, "seconds": 0.8},
    ]
    told = cells({"cells": [{"ns3": ns3, "simnet": each} for each in near] + [{"ns3": ns3}]})
    assert verdicts(told) == ["yes", "**no**", "**no**", ""]


def test_a_cell_where_nothing_arrives_is_compared_by_its_share_and_one_with_capture_by_no_goal():
    ns3 = {"round": "broadcast at once", "stations": 5, "delivered": 0.0, "delivered_error": 0.0, "seconds": 0.0}
    mine = [{"delivered": 0.0, "seconds": 0.0}, {"delivered": 0.01, "seconds": 0.2}]
    told = cells({"cells": [{"ns3": ns3, "simnet": each} for each in mine]})
    assert verdicts(told) == ["yes", "**no**"]
    capture = ns3 | {"round": CAPTURE, "delivered": 0.9, "seconds": 1.0}
    assert verdicts(cells({"cells": [{"ns3": capture, "simnet": mine[0]}]})) == ["no goal"]


def test_tables_against_theory_are_measured_alone_and_without_ns3():
    found = measured(["lora"], ns3="there is no such Python")
    assert found.keys() == {"lora"}
    assert verdicts(lora(found)) == ["yes"] * 24


def test_a_table_that_does_not_exist_is_refused_with_those_that_do(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["validate", "cell"])
    with pytest.raises(SystemExit):
        main()
    assert "cell: the tables are lines, cells, transfers, aloha, lora" in capsys.readouterr().err


def test_a_transfer_misses_its_goal_by_the_bytes_or_by_the_time():
    ns3 = {
        "size": 10_000,
        "loss": 0.02,
        "ack_loss": 0.0,
        "wire_bytes_per_byte": 1.0,
        "seconds": 1.0,
        "seconds_error": 0,
    }
    near = [(1.1, 1.2), (1.2, 1.0), (1.0, 0.7)]
    rows = [{"ns3": ns3, "simnet": {"wire_bytes_per_byte": wire, "seconds": time}} for wire, time in near]
    assert verdicts(transfers({"transfers": [*rows, {"ns3": ns3}]})) == ["yes", "**no**", "**no**", ""]


def test_aloha_and_lora_miss_their_goals():
    row = {"slotted": True, "load": 0.5, "theory": 0.3}
    assert verdicts(aloha({"aloha": [row | {"simnet": 0.301}, row | {"simnet": 0.29}]})) == ["yes", "**no**"]
    row = {"spreading": 7, "bytes": 34, "milliseconds": 77.1, "formula": 77.1}
    assert verdicts(lora({"lora": [row | {"nanoseconds": 0.0}, row | {"nanoseconds": 4.0}]})) == ["yes", "**no**"]
