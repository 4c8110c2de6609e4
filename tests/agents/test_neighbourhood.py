import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simnet.agents.neighbourhood import Neighbourhood

START = (np.zeros(1),)


def value(x: float) -> tuple[np.ndarray]:
    return (np.array([x]),)


def known(neighbourhood: Neighbourhood) -> list[tuple[int, int, float]]:
    return [(k.peer, k.round, float(k.parts[0][0])) for k in neighbourhood.known]


def test_before_anything_is_heard_everyone_is_at_the_common_start():
    assert known(Neighbourhood([4, 7], START, aligned=False)) == [(4, 0, 0.0), (7, 0, 0.0)]


def test_a_late_value_is_used_when_it_is_newer_and_ignored_when_it_is_older():
    around = Neighbourhood([1], START, aligned=False)
    around.enter(5)
    around.hear(1, 3, value(3))
    around.hear(1, 2, value(2))
    assert known(around) == [(1, 3, 3.0)]
    around.hear(1, 4, value(4))
    assert known(around) == [(1, 4, 4.0)]


def test_a_notice_is_news_but_leaves_the_old_value():
    around = Neighbourhood([1], START, aligned=True)
    around.hear(1, 1, None)
    assert around.missing(1) == 0
    assert known(around) == [(1, 0, 0.0)]


def test_in_lock_step_a_value_of_a_later_round_waits():
    around = Neighbourhood([1], START, aligned=True)
    around.enter(1)
    around.hear(1, 2, value(2))
    assert known(around) == [(1, 0, 0.0)]
    around.enter(2)
    assert known(around) == [(1, 2, 2.0)]


def test_without_lock_step_the_newest_value_counts_at_once():
    around = Neighbourhood([1], START, aligned=False)
    around.enter(1)
    around.hear(1, 2, value(2))
    assert known(around) == [(1, 2, 2.0)]


@given(st.lists(st.tuples(st.integers(1, 8), st.booleans()), max_size=30), st.booleans())
def test_the_known_value_is_the_newest_that_may_be_used(arrivals, aligned):
    around = Neighbourhood([0], START, aligned=aligned)
    heard = {0}
    for now in range(1, 9):
        around.enter(now)
        for round, is_value in arrivals[now::8]:
            around.hear(0, round, value(round) if is_value else None)
            if is_value:
                heard.add(round)
        usable = {round for round in heard if not aligned or round <= now}
        assert known(around) == [(0, max(usable), float(max(usable)))]
