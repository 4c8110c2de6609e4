"""Rows that travel before the first round."""

from __future__ import annotations

import numpy as np
import pytest

from simnet.agent.row_reports import from_users, row_bytes, upload
from simnet.network.frame import HEADER_BYTES
from simnet.network.model import LinkModel
from simnet.streams import Streams
from tests.network.models import bernoulli, constant, uniform
from tests.network.test_encoders import make


def test_a_report_is_a_frame_with_a_row_and_its_label():
    codec = make("float64")
    assert row_bytes(7) == len(codec.encode((np.zeros(7), np.zeros(1))))
    found = from_users(LinkModel(), Streams(1), 0, 10, 7)
    assert (found.messages, found.delivered) == (10, 10)
    assert found.payload_bytes == 10 * row_bytes(7)
    assert found.wire_bytes == 10 * (row_bytes(7) + HEADER_BYTES + 28)
    assert found.offered_bytes == found.wire_bytes
    assert found.ends == 0.0


def test_users_have_lines_of_their_own_so_none_waits_for_another():
    size = 8 * (row_bytes(3) + HEADER_BYTES + 28)
    model = LinkModel(latency=constant(0.2), bandwidth=1000.0, queue=0)
    found = from_users(model, Streams(1), 0, 50, 3)
    assert found.delivered == 50
    assert found.ends == pytest.approx(0.2 + size / 1000.0)


def test_an_upload_sends_row_after_row_over_one_line_and_overflows_no_queue():
    size = 8 * (row_bytes(3) + HEADER_BYTES + 28)
    model = LinkModel(latency=constant(0.2), bandwidth=1000.0, queue=0)
    found = upload(model, Streams(1), 2, 0, 50, 3)
    assert found.delivered == 50
    assert found.ends == pytest.approx(0.2 + 50 * size / 1000.0)


def test_an_upload_hands_over_a_packet_when_the_one_before_has_left():
    packets = -(-(row_bytes(20) + HEADER_BYTES) // 72)
    found = upload(LinkModel(bandwidth=1000.0, queue=0, mtu=100), Streams(1), 2, 0, 5, 20)
    assert found.delivered == 5
    assert found.ends == pytest.approx(5 * 8 * (row_bytes(20) + HEADER_BYTES + 28 * packets) / 1000.0)


def test_every_report_arrives_or_is_lost_and_the_slowest_ends_the_phase():
    model = LinkModel(latency=uniform(0.1, 0.9), loss=bernoulli(0.25))
    found = from_users(model, Streams(5), 3, 4000, 2)
    assert found.messages == 4000
    assert found.delivered == pytest.approx(3000, rel=0.05)
    assert 0.89 < found.ends <= 0.9
    again = from_users(model, Streams(5), 3, 4000, 2)
    np.testing.assert_array_equal(found.arrived, again.arrived)
    assert not np.array_equal(found.arrived, from_users(model, Streams(5), 4, 4000, 2).arrived)
