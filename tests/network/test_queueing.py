"""-"""

from __future__ import annotations

import itertools
from collections import Counter
from math import inf

import numpy as np
import pytest

from simnet.network.queueing import Inbox, Intake, Red, RedState
from simnet.streams import Streams
from tests.network.models import refusal


def state(red):
    return RedState(red, Streams(1), "0>1")


def test_early_detection_leaves_a_short_queue_alone():
    red = state(Red(low=5, high=15))
    assert not any(red.drops(4, 0.0) for _ in range(5000))


def test_early_detection_drops_everything_once_the_average_is_high():
    red = state(Red(low=5, high=15, weight=0.1))
    fates = [red.drops(100, 0.0) for _ in range(50)]
    assert not fates[0]  # the average is 10
    assert all(fates[1:])  # it is 19 and growing


def test_early_drops_are_spread_evenly():
    """Between two drops lie n messages with the same chance for each n below 1/p_b (section 7 of the paper)."""
    red = state(Red(low=5, high=15, chance=0.2, weight=1.0))  # a queue of 10 gives p_b = 0.1
    fates = [red.drops(10, 0.0) for _ in range(100_000)]
    places = [k for k, dropped in enumerate(fates) if dropped]
    gaps = Counter(b - a for a, b in itertools.pairwise(places))
    assert sorted(gaps) == list(range(1, 10))
    share = sum(gaps.values()) / 9
    # Chi-squared with 8 degrees of freedom exceeds this once in a thousand.
    assert sum((n - share) ** 2 / share for n in gaps.values()) < 26.1


def test_an_idle_line_lets_the_average_fade():
    busy, idle = (state(Red(low=5, high=15, weight=0.5)) for _ in range(2))
    for red in (busy, idle):
        for _ in range(10):
            red.drops(40, 0.0)
    assert busy.drops(20, 0.0)
    assert not idle.drops(0, 4.0)  # 40/2⁴ is below 5


@pytest.mark.parametrize(
    ("queue", "sentence"),
    [
        (-1, "queue = -1: a whole number of at least 0"),
        ({"limit": 3, "unit": "bits"}, 'queue.unit = "bits": choose one of packets, bytes (did you mean bytes?)'),
        ({"red": {"low": 10, "high": 5}}, "queue.red.low = 10: below high, which is 5"),
        ({"red": {"chance": 2}}, "queue.red.chance = 2: a probability lies between 0 and 1"),
        ({"red": {"weight": -1}}, "queue.red.weight = -1: a probability lies between 0 and 1"),
    ],
)
def test_an_impossible_queue_is_refused_with_its_field(queue, sentence):
    assert refusal(queue=queue) == f"network.link.{sentence}"


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
