"""What a receiver hands on and acknowledges."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simnet.sim.stream_receiver import StreamReceiver
from simnet.sim.stream_sender import Parcel, Segment


def segment(number: int) -> Segment:
    found = Segment(Parcel(None), 100, last=True)  # type: ignore[arg-type]
    found.number = number
    return found


def take(receiver: StreamReceiver, number: int, sent: float = 0.0, base: int = 0) -> list[int]:
    return [each.number for each in receiver.take(segment(number), sent, base)[1]]


def test_every_second_segment_is_acknowledged_at_once():
    receiver = StreamReceiver()
    urgent = []
    for number in range(4):
        assert take(receiver, number) == [number]
        urgent.append(receiver.urgent)
        if receiver.urgent:
            assert receiver.acknowledgement(3)[0] == number + 1
    assert urgent == [False, True, False, True]


def test_what_comes_after_a_gap_is_told_newest_first_and_in_three_blocks():
    receiver = StreamReceiver()
    for number in (2, 4, 6, 8):
        assert take(receiver, number) == []
        assert receiver.urgent
    assert receiver.acknowledgement(3)[:2] == (0, ((8, 9), (6, 7), (4, 5)))
    take(receiver, 5)
    assert receiver.acknowledgement(3)[:2] == (0, ((4, 7), (8, 9), (2, 3)))
    take(receiver, 0)
    take(receiver, 1)
    assert receiver.urgent, "a gap was filled in part"
    assert receiver.acknowledgement(3)[:2] == (3, ((4, 7), (8, 9)))
    assert receiver.acknowledgement(1)[1] == ((4, 7),)


def test_the_echo_is_that_of_the_earlier_of_two_and_of_a_repetition():
    receiver = StreamReceiver()
    take(receiver, 0, sent=1.0)
    take(receiver, 1, sent=2.0)
    assert receiver.acknowledgement(3)[2] == 1.0
    take(receiver, 3, sent=4.0)
    assert receiver.acknowledgement(3)[2] == 1.0
    take(receiver, 2, sent=9.0)
    assert receiver.acknowledgement(3)[2] == 9.0


def test_a_copy_is_known_and_acknowledged_at_once():
    receiver = StreamReceiver()
    take(receiver, 0)
    receiver.acknowledgement(3)
    assert receiver.take(segment(0), 0.0, 0) == (True, [])
    assert receiver.urgent


def test_nobody_waits_for_what_the_sender_has_given_up():
    receiver = StreamReceiver()
    assert take(receiver, 2) == []
    known, ready = receiver.take(segment(2), 0.0, base=2)
    assert known
    assert [each.number for each in ready] == [2]
    assert take(receiver, 1) == [], "it comes too late"


def test_after_a_loss_of_memory_a_segment_is_new_again():
    receiver = StreamReceiver()
    take(receiver, 1)
    receiver.forget()
    assert receiver.take(segment(1), 0.0, 0) == (False, [])


@given(st.permutations(range(9)), st.lists(st.integers(0, 8), max_size=9))
def test_whatever_the_order_and_the_copies_all_is_handed_on_once_and_in_order(order, copies):
    receiver, got = StreamReceiver(), []
    for place, number in enumerate([*order, *copies]):
        got += take(receiver, number)
        if receiver.urgent:
            upto, blocks, _ = receiver.acknowledgement(9)
            covered = {each for first, end in blocks for each in range(first, end)}
            assert set(range(upto)) | covered == set(order[: place + 1])
    assert got == list(range(9))


def test_after_what_was_given_up_the_echoed_time_is_that_of_the_segment_that_came():
    """It stayed that of the last segment before, so a round trip of all the time between was measured."""
    receiver = StreamReceiver()
    take(receiver, 0, sent=1.0)
    assert receiver.acknowledgement(3) == (1, (), 1.0)
    assert take(receiver, 5, sent=100.0, base=5) == [5]
    assert receiver.acknowledgement(3) == (6, (), 100.0)
