"""RFC 6298, checked by its own formulas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.sim.retransmission_timer import HostLine, RetransmissionTimer
from simnet.sim.transport import Acknowledged

TRIPS = st.lists(st.floats(0.001, 20), min_size=1, max_size=30)


def timer(**fields: float) -> RetransmissionTimer:
    return RetransmissionTimer(Acknowledged(kind="reliable", **fields), HostLine())


@given(TRIPS)
def test_the_timeout_follows_the_measured_round_trips(trips):
    found = timer(min_timeout=1e-6)
    srtt, rttvar = trips[0], trips[0] / 2
    found.sample(trips[0])
    for trip in trips[1:]:
        rttvar = 0.75 * rttvar + 0.25 * abs(srtt - trip)
        srtt = 0.875 * srtt + 0.125 * trip
        found.sample(trip)
    assert found.seconds == pytest.approx(srtt + max(0.001, 4 * rttvar))


def test_until_one_was_measured_it_is_a_second_and_later_at_least_that():
    found = timer()
    assert found.seconds == 1.0
    found.sample(0.04)
    assert found.seconds == 1.0
    found.sample(10.0)
    assert found.seconds > 1.0


def test_it_doubles_up_to_a_minute_and_a_new_measurement_ends_that():
    found, seen = timer(), []
    for _ in range(8):
        seen.append(found.seconds)
        found.back_off()
    assert seen == [1, 2, 4, 8, 16, 32, 60, 60]
    found.sample(0.1)
    assert found.seconds == 1.0
    found.back_off()
    found.forgive()
    assert found.seconds == 1.0


def test_a_slow_line_of_its_own_is_no_reason_to_send_again():
    rule, host = Acknowledged(kind="reliable"), HostLine()
    found = RetransmissionTimer(rule, host)
    host.slowest = 2.0
    assert found.seconds == 6.0
    found.sample(0.5)
    assert found.seconds == pytest.approx(1.5), "a measurement says more"


def test_one_field_makes_everything_shorter():
    quick = Acknowledged(kind="reliable", timeout=0.05)
    assert (quick.least_timeout, quick.longest_ack_delay) == (0.05, 0.01)
    usual = Acknowledged(kind="reliable", timeout=3.0)
    assert (usual.least_timeout, usual.longest_ack_delay) == (1.0, 0.2)
