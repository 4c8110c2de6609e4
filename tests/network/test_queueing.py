from __future__ import annotations

import itertools
from collections import Counter

import pytest

from simnet.network.queueing import Red, RedState
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
