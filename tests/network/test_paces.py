"""Points in time that repeat; what leaves at them is held against mm-link in test_rates."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.network.paces import Cycle, OpportunityPace, StepPace

TURNS = st.lists(st.integers(1, 1000), min_size=1, max_size=6, unique=True).map(sorted)


@given(TURNS, st.integers(0, 5), st.floats(0, 20, exclude_max=True), st.sampled_from([1.0, 1e3]))
def test_the_next_point_is_the_first_that_comes_later(times, spare, shift, scale):
    cycle = Cycle([float(time) for time in times], float(times[-1] + spare), scale, shift / scale)
    points = [cycle.time(index) for index in range(20 * len(times))]
    assert points == sorted(points)
    for now in {*points[: 10 * len(times)], 0.0, 1.0 / scale, 3.1 / scale} - {p for p in points if p < 0}:
        if now < points[-1]:
            assert cycle.after(now) == next(index for index, point in enumerate(points) if point > now)


def test_a_pace_that_is_asked_and_not_used_stays_as_it_is():
    bytes_at_points = OpportunityPace(Cycle([1.0, 2.0], 2.0, 1.0, 0.0), [10, 20])
    rates = StepPace(Cycle([0.0, 1.0], 2.0, 1.0, 0.0), [0.0, 8.0])
    for pace in (bytes_at_points, rates):
        assert [pace.begins(0.0) for _ in range(3)] == [1.0] * 3
    assert bytes_at_points.serve(0.0, 10) == 1.0
    assert bytes_at_points.begins(0.0) == 2.0
    assert rates.serve(0.0, 1) == 2.0
    assert rates.begins(0.0) == 3.0


def test_what_was_let_go_takes_no_part_of_the_line():
    rates = StepPace(Cycle([0.0, 1.0], 2.0, 1.0, 0.0), [8.0, 16.0])
    assert rates.serve(0.0, 100) > 60.0
    rates.halt(0.5)
    assert rates.serve(0.5, 1) == 1.25


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 40)), min_size=2, max_size=5).filter(
        lambda steps: any(rate for _, rate in steps)
    ),
    st.floats(0, 30),
    st.integers(1, 300),
)
def test_a_packet_that_lasts_for_many_turns_leaves_when_all_of_its_bits_have(steps, now, weight):
    ends = [*accumulate(lasts for lasts, _ in steps)]
    pace = StepPace(Cycle([0.0, *map(float, ends[:-1])], float(ends[-1]), 1.0, 0.0), [float(rate) for _, rate in steps])
    begins, departs = pace.begins(now), pace.serve(now, weight)
    edges = [begins, *(each for each in range(ceil(begins), ceil(departs) + 1) if begins < each < departs), departs]
    rates = [rate for lasts, rate in steps for _ in range(lasts)]
    carried = sum((b - a) * rates[floor((a + b) / 2) % ends[-1]] for a, b in pairwise(edges))
    assert carried == pytest.approx(8 * weight)


def test_millions_of_turns_take_no_time_to_pass():
    pace = StepPace(Cycle([0.0, 5e-8], 1e-7, 1.0, 0.0), [200.0, 0.0])
    assert pace.serve(0.0, 10**9) == pytest.approx(8e7)
