import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.agent.neighbourhood import Neighbourhood
from simnet.network.payloads import Partial

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


def test_news_of_a_later_round_is_not_news_of_this_one():
    around = Neighbourhood([1, 2], START, aligned=True)
    around.enter(1)
    around.hear(1, 2, value(2))
    around.hear(2, 1, value(1))
    assert (around.missing(1), around.behind(1)) == (1, 0)
    around.hear(1, 1, value(1))
    assert around.missing(1) == 0
    around.enter(2)
    assert around.missing(2) == 1, "agent 1 has been heard of in round 2 already, agent 2 has not"


def test_what_is_written_off_is_missing_but_no_longer_awaited_up_to_the_last_news():
    around = Neighbourhood([1, 2], START, aligned=True)
    around.enter(3)
    around.hear(1, 8, value(8))
    around.hear(2, 3, value(3))
    assert (around.missing(3), around.awaited(3)) == (1, 1)
    around.write_off(3)
    assert (around.missing(3), around.awaited(3)) == (1, 0)
    for round in (4, 5, 6, 7, 8, 9):
        around.enter(round)
        around.hear(2, round, None)
        assert around.missing(round) == (0 if round == 8 else 1)
        assert around.awaited(round) == (1 if round == 9 else 0)


def test_the_memory_of_rounds_ends_with_them():
    around = Neighbourhood([1], START, aligned=True)
    for round in range(1, 100):
        around.enter(round)
        for late in range(max(1, round - 5), round + 2):
            around.hear(1, late, value(late))
        assert around.missing(round) == 0
    assert sorted(around._rounds[0]) == [99, 100]


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


@pytest.mark.parametrize("aligned", [True, False])
def test_entries_that_a_value_does_not_tell_stay_as_they_were(aligned):
    around = Neighbourhood([1], (np.zeros(3),), aligned=aligned)
    around.enter(1)
    around.hear(1, 1, Partial((np.array([1.0, np.nan, np.nan]), np.array([5.0, np.nan, np.nan]), np.array([9.0]))))
    parts = around.of(1).parts
    assert [part.tolist() for part in parts] == [[1.0, 0.0, 0.0], [5.0, 0.0, 0.0], [9.0]]
    around.enter(2)
    around.hear(1, 2, Partial((np.array([np.nan, 2.0, np.nan]), np.array([np.nan, 6.0, np.nan]))))
    assert [part.tolist() for part in around.of(1).parts] == [[1.0, 2.0, 0.0], [5.0, 6.0, 0.0]]


def test_in_lock_step_entries_that_came_too_early_do_not_show_in_the_rounds_before():
    around = Neighbourhood([1], (np.zeros(2),), aligned=True)
    around.enter(1)
    around.hear(1, 2, Partial((np.array([np.nan, 2.0]),)))
    around.hear(1, 1, Partial((np.array([1.0, np.nan]),)))
    assert around.of(1).parts[0].tolist() == [1.0, 0.0]
    around.enter(2)
    assert around.of(1).parts[0].tolist() == [1.0, 2.0]


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


@pytest.mark.parametrize("aligned", [True, False])
def test_values_that_came_between_two_reads_are_kept_oldest_first_until_they_are_read(aligned):
    """Who needs every value and not only the newest, such as a dual on an edge, finds them all, and each once."""
    around = Neighbourhood([1, 2], START, aligned=aligned)
    around.enter(5)
    for round in (1, 3, 4):
        around.hear(1, round, value(round))
        around.hear(2, round + 1, value(round))
        assert [value.peer for value in around.known] == [1, 2]  # to look is not to read
    first, second = around.read()
    assert [each.round for each in first.unread(0)] == [1, 3, 4]
    assert [each.round for each in first.unread(1)] == [3, 4]
    assert [each.round for each in second.unread(0)] == [2, 4, 5]
    around.hear(1, 5, value(5))
    again, silent = around.read()
    assert [each.round for each in again.unread(0)] == [5], "what was read is let go"
    assert silent.unread(5) == []


def test_in_lock_step_a_value_of_the_first_round_waits_until_that_round_begins():
    around = Neighbourhood([1], START, aligned=True)
    around.hear(1, 1, value(1))
    assert around.of(1).round == 0
    around.enter(1)
    assert around.of(1).round == 1
