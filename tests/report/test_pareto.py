"""The front, by its definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simnet.report.pareto import front

POINTS = st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 5))] * 3), max_size=12)


def worse(a: int | None, b: int | None) -> bool:
    return a is None if b is not None and a is None else (a is not None and b is not None and a > b)


@given(POINTS)
def test_a_point_is_on_the_front_if_and_only_if_no_other_beats_it(points):
    def beats(other, point) -> bool:
        return not any(map(worse, other, point)) and any(map(worse, point, other))

    assert front(points) == [i for i, point in enumerate(points) if not any(beats(other, point) for other in points)]


def test_equal_points_share_the_front():
    assert front([(1.0, 2.0), (1.0, 2.0), (3.0, 3.0)]) == [0, 1]


def test_a_difference_in_the_tenth_digit_beats_nobody():
    assert front([(0.9999999990, 10.0), (0.9999999989, 20.0)]) == [0]
