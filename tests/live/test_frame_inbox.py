"""Which numbers are let in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.live.envelope import Envelope, Kind
from simnet.live.frame_inbox import Inbox
from simnet.live.refusal import Reason, Refused


def data(sequence: int, incarnation: int = 1) -> Envelope:
    return Envelope(Kind.DATA, bytes(16), 0, incarnation, sequence, b"")


@given(st.lists(st.integers(0, 6), max_size=60))
def test_of_any_numbers_exactly_the_next_one_is_let_in(numbers: list[int]) -> None:
    inbox, last = Inbox(1), 0
    for number in numbers:
        if number == last + 1:
            inbox.judge(data(number))
            inbox.take(data(number))
            last += 1
        else:
            with pytest.raises(Refused) as refused:
                inbox.judge(data(number))
            assert refused.value.reason is (Reason.REPLAYED if number <= last else Reason.GAP)
        assert inbox.seen == (1, last)


def test_a_higher_incarnation_counts_anew_and_a_lower_one_is_out_of_date() -> None:
    inbox = Inbox(3, 40)
    inbox.greet(5)
    assert inbox.seen == (5, 0)
    inbox.take(data(1, 5))
    for speak in (lambda: inbox.greet(4), lambda: inbox.judge(data(2, 3))):
        with pytest.raises(Refused) as refused:
            speak()
        assert refused.value.reason is Reason.OUT_OF_DATE
    assert inbox.seen == (5, 1)


def test_what_an_earlier_process_acknowledged_is_not_waited_for() -> None:
    inbox = Inbox()
    inbox.greet(1)
    inbox.start(57)
    inbox.judge(data(58))
    inbox.take(data(58))
    assert inbox.seen == (1, 58)


def test_a_checkpoint_confirms_what_it_holds_once_and_nothing_of_another_incarnation() -> None:
    inbox = Inbox(1)
    for number in (1, 2, 3):
        inbox.take(data(number))
    assert inbox.confirm(1, 2)
    assert not inbox.confirm(1, 2)
    assert not inbox.confirm(1, 4)
    assert inbox.confirmed == 2
    inbox.greet(2)
    assert not inbox.confirm(1, 3)
    assert inbox.confirmed == 0
