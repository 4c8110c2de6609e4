"""The sender's half of a stream: textbook cases by hand, and laws for any network."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.sim.retransmission_timer import HostLine
from simnet.sim.stream_sender import Parcel, Segment, StreamSender
from simnet.sim.transport import Acknowledged
from tests.sim.stream_pair import ACK, LINE, PACKET, WAY, StreamPair

SELECTIVE = ACK + 12 / 1e6
"""Seconds of an acknowledgement with one block on the line."""


class Desk:
    """A sender whose segments go nowhere."""

    def __init__(self, segments: int, **rule: float) -> None:
        self.sent: list[int] = []
        self.given_up: list[Parcel] = []
        rule = Acknowledged(kind="reliable", **rule)
        self.sender = StreamSender(rule, HostLine(), self._transmit, self.given_up.append)
        self.sender.offer(0.0, [Segment(Parcel(None), 1000, last=True) for _ in range(segments)])  # type: ignore[arg-type]

    def _transmit(self, segment: Segment) -> float:
        self.sent.append(segment.number)
        return 0.0

    def news(self) -> list[int]:
        """What was sent since this was last asked."""
        found, self.sent = self.sent, []
        return found


def test_slow_start_adds_a_segment_per_acknowledgement_and_congestion_avoidance_one_per_window():
    desk = Desk(100)
    assert desk.news() == list(range(10))
    desk.sender.acknowledge(0.1, 2, (), 0.0)
    assert (desk.news(), desk.sender.window) == ([10, 11, 12], 11)
    desk.sender.threshold = 11.0
    desk.sender.acknowledge(0.1, 4, (), 0.0)
    assert (desk.news(), desk.sender.window) == ([13, 14], pytest.approx(11 + 1 / 11))


def test_a_gap_halves_the_window_and_is_filled_once():
    desk = Desk(100)
    desk.news()
    desk.sender.acknowledge(0.1, 0, ((1, 3),), 0.0)
    assert desk.news() == [10, 11], "two have left the network, nothing counts as lost yet"
    desk.sender.acknowledge(0.1, 0, ((1, 4),), 0.0)
    assert (desk.news(), desk.sender.window) == ([0], 5), "half of the ten that were under way"
    desk.sender.acknowledge(0.1, 0, ((1, 8),), 0.0)
    assert desk.news() == [], "five of twelve are still under way"
    desk.sender.acknowledge(0.1, 0, ((1, 10),), 0.0)
    assert desk.news() == [12, 13]
    desk.sender.acknowledge(0.2, 12, (), 0.1)
    assert desk.sender.window == 5
    assert desk.news() == [14, 15, 16]


def test_a_timeout_begins_with_one_segment_and_takes_what_has_arrived_into_account():
    desk = Desk(10)
    desk.news()
    assert desk.sender.deadline == 1.0
    desk.sender.acknowledge(0.5, 0, ((4, 6),), 0.0)
    desk.sender.expire(1.0)
    assert (desk.news(), desk.sender.window, desk.sender.threshold) == ([0], 1.0, 5.0)
    assert desk.sender.deadline == 3.0
    desk.sender.expire(3.0)
    assert (desk.news(), desk.sender.threshold) == ([0], 5.0), "a second timeout of one loss says nothing new"
    desk.sender.acknowledge(3.1, 1, (), 3.0)
    assert desk.news() == [1, 2]
    desk.sender.acknowledge(3.2, 3, (), 3.1)
    assert desk.news() == [3, 6, 7], "4 and 5 are there"
    desk.sender.acknowledge(3.3, 10, (), 3.2)
    assert desk.sender.deadline == inf


def test_only_so_many_bytes_are_unacknowledged():
    desk = Desk(10, buffer=4000)
    assert desk.news() == [0, 1, 2, 3]
    desk.sender.acknowledge(0.1, 1, (), 0.0)
    assert desk.news() == [4]
    assert desk.sender.window == 10, "it was not full"
    assert Desk(2, buffer=10).news() == [0], "one segment may always leave"


def test_after_a_pause_the_window_is_that_of_the_beginning():
    desk = Desk(30)
    for upto in range(2, 32, 2):
        desk.sender.acknowledge(0.1, upto, (), 0.0)
    assert desk.sender.window > 15
    desk.sender.offer(5.0, [])
    assert desk.sender.window == 10


def test_what_is_given_up_makes_room_for_what_follows():
    desk = Desk(2, attempts=2)
    desk.sender.expire(1.0)
    assert desk.news() == [0, 1, 0]
    desk.sender.expire(3.0)
    assert len(desk.given_up) == 1
    assert (desk.news(), desk.sender.base) == ([1], 1)
    assert desk.sender.deadline == 4.0, "the next one starts with a plain timeout"


def test_a_message_without_loss_takes_the_time_of_slow_start():
    """Ten segments, then three per acknowledgement of two: from then on the line is never idle."""
    pair = StreamPair()
    pair.send(25_000)
    first = 2 * PACKET + WAY + ACK + WAY
    assert pair.run() == [pytest.approx(first + 15 * PACKET + WAY)]
    assert pair.sent()[:13] == pytest.approx([0.0] * 10 + [first] * 3)
    assert not pair.told("message.retransmitted")
    acknowledgements = pair.sent(1)
    assert len(acknowledgements) == 13, "every second one, and the last one"
    assert acknowledgements[-1] - acknowledgements[-2] == pytest.approx(0.2 + PACKET)


def test_a_lost_segment_is_sent_again_when_three_have_overtaken_it():
    pair = StreamPair(drops=lambda k: k == 5)
    pair.send(10_000)
    repeated = 9 * PACKET + WAY + SELECTIVE + WAY
    assert pair.run() == [pytest.approx(repeated + PACKET + WAY)]
    [(t, event)] = pair.told("message.retransmitted")
    assert (t, event.attempt, event.wire_bytes) == (pytest.approx(repeated), 2, 1052)


def test_the_last_segment_is_missed_by_nobody_but_the_timer():
    pair = StreamPair(drops=lambda k: k == 9)
    pair.send(10_000)
    acknowledged = 9 * PACKET + WAY + 0.2 + ACK + WAY
    assert pair.run() == [pytest.approx(acknowledged + 1.0 + PACKET + WAY)]


@pytest.mark.parametrize("attempts", [1, 2, 4])
def test_timeouts_double_and_then_the_message_is_given_up(attempts):
    pair = StreamPair(drops=lambda k: True, attempts=attempts)
    pair.send(1000)
    assert pair.run() == []
    times = [0.0]
    for pause in (1.0, 2.0, 4.0, 8.0):
        times.append(times[-1] + PACKET + pause)
    assert pair.sent() == pytest.approx(times[:attempts])
    [(t, event)] = pair.told("message.lost")
    assert (t, event.reason) == (pytest.approx(times[attempts]), "given-up")


def test_what_follows_a_message_that_was_given_up_is_handed_over():
    pair = StreamPair(drops=lambda k: k in (1, 3, 4), attempts=3)
    for _ in range(3):
        pair.send(900)
    pair.run()
    assert [message for _, message in pair.heard] == [1, 3]
    assert [event.message for _, event in pair.told("message.lost")] == [2]
    assert pair.engine.in_flight == 0


LATENCIES = st.sampled_from([0.0, 0.02, {"kind": "uniform", "low": 0.0, "high": 0.1}])
LINKS = st.fixed_dictionaries(
    {
        "latency": LATENCIES,
        "loss": st.sampled_from([0.0, 0.05, 0.3, 0.6]),
        "duplication": st.sampled_from([0.0, 0.3]),
        "corruption": st.sampled_from([0.0, 0.1]),
        "bandwidth": st.sampled_from([1e5, 1e7]),
        "queue": st.sampled_from([None, 0, 3]),
        "mtu": st.sampled_from([None, 100, 1500]),
    }
)


@given(LINKS, st.lists(st.tuples(st.integers(21, 5000), st.sampled_from([0.0, 0.01, 0.5])), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_whatever_is_lost_or_overtaken_all_is_handed_over_once_and_in_order(link, messages):
    pair = StreamPair({name: value for name, value in link.items() if value is not None}, attempts=10_000, timeout=0.3)
    at = 0.0
    for size, pause in messages:
        at += pause
        pair.send(size, at)
    times = pair.run()
    assert [message for _, message in pair.heard] == list(range(1, len(messages) + 1))
    assert all(first <= second for first, second in pairwise(times))
    assert pair.engine.in_flight == 0
    told = [e for kind in ("message.sent", "message.retransmitted", "packets.sent") for _, e in pair.told(kind)]
    assert sum(event.wire_bytes for event in told) == sum(size for _, _, size in pair.packets)


@given(LINKS, st.lists(st.integers(21, 3000), min_size=1, max_size=6), st.integers(1, 3))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_what_is_not_given_up_is_handed_over_in_order_and_nothing_is_stuck(link, sizes, attempts):
    pair = StreamPair({name: value for name, value in link.items() if value is not None}, attempts=attempts)
    for size in sizes:
        pair.send(size)
    pair.run()
    heard, lost = [message for _, message in pair.heard], [e.message for _, e in pair.told("message.lost")]
    assert heard == sorted(heard)
    assert sorted(heard + lost) == list(range(1, len(sizes) + 1))
    assert pair.engine.in_flight == 0
    assert max((e.attempt for _, e in pair.told("message.retransmitted")), default=1) <= attempts


def test_a_lossless_stream_repeats_nothing_however_slow_its_line():
    for bandwidth in (1e3, 1e4, 1e6):
        pair = StreamPair(LINE | {"bandwidth": bandwidth, "latency": 0.3})
        pair.send(30_000)
        pair.send(500, at=100.0)
        pair.run()
        assert len(pair.heard) == 2
        assert not pair.told("message.retransmitted")
