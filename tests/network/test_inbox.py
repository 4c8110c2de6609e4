from math import inf

import numpy as np
import pytest

from simnet.network.inbox import Inbox, Intake


def test_an_agent_that_needs_no_time_has_no_inbox():
    assert Intake(capacity=3).inbox() is None
    inbox = Intake(service="1 s", capacity=0).inbox()
    assert [inbox.admit(now) for now in (0.0, 0.5)] == [1.0, inf]


def test_messages_are_taken_in_one_after_another():
    inbox = Inbox(service=1.0, capacity=None)
    assert [inbox.admit(now) for now in (0.0, 0.5, 5.0)] == [1.0, 2.0, 6.0]


def test_what_finds_no_room_is_turned_away_and_delays_nobody():
    inbox = Inbox(service=1.0, capacity=1)
    assert [inbox.admit(now) for now in (0.0, 0.0, 0.0, 1.0)] == [1.0, 2.0, inf, 3.0]


def test_with_no_room_at_all_only_an_idle_agent_listens():
    inbox = Inbox(service=1.0, capacity=0)
    assert [inbox.admit(now) for now in (0.0, 0.5, 1.0)] == [1.0, inf, 2.0]


def test_the_mean_wait_is_that_of_an_m_d_1_queue():
    rate, service = 0.7, 1.0
    arrivals = np.cumsum(np.random.default_rng(3).exponential(1 / rate, 200_000))
    inbox = Inbox(service, None)
    waits = [inbox.admit(now) - service - now for now in arrivals.tolist()]
    assert np.mean(waits) == pytest.approx(rate * service**2 / (2 * (1 - rate * service)), rel=0.03)
