from __future__ import annotations

import itertools
from collections import Counter

import pytest

from simnet.errors import ScenarioError
from simnet.network.queueing import Queue, Red, RedState
from simnet.streams import Streams


def state(red):
    return RedState(red, Streams(1), "0>1")


def test_a_system_of_k_places_lets_k_minus_one_wait():
    assert Queue.counting_service(5) == Queue(limit=4, unit="packets")
    assert Queue.counting_service(1) == Queue(limit=0)


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
    ("make", "message"),
    [
        (lambda: Queue(-1), r"queue\.limit = -1: must be finite and at least 0"),
        (lambda: Queue(3, "bits"), r"queue\.unit = 'bits': must be 'packets' or 'bytes'"),
        (lambda: Queue.counting_service(0), r"queue\.limit = 0: must be finite and greater than 0"),
        (lambda: Red(10, 5), r"queue\.red\.high = 5: must be greater than queue\.red\.low = 10"),
        (lambda: Red(1, 5, chance=2), r"queue\.red\.chance = 2: a probability"),
        (lambda: Red(1, 5, weight=-1), r"queue\.red\.weight = -1: a probability"),
    ],
)
def test_an_impossible_queue_is_refused_with_its_field(make, message):
    with pytest.raises(ScenarioError, match=message):
        make()
