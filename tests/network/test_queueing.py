"""Queues at lines and at agents, and the transmitter that keeps to their rule."""

from __future__ import annotations

import itertools
from collections import Counter
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.network.model import LinkModel
from simnet.network.queueing import Inbox, Intake, Queue, Red, RedState, Transmitter, in_turn
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


BYTE_A_SECOND = 8.0


def transmitter(**settings):
    return Transmitter(LinkModel(**{"overhead": 0} | settings), Streams(1), "0>1")


def plain(arrivals, bandwidth, limit, by_bytes, mtu, overhead):
    """The rule of the queue, packet by packet, from the whole history every time."""
    history = []  # (start, end, bytes) of every packet ever admitted
    for now, size in arrivals:
        sizes = [size + overhead]
        if mtu is not None:
            sizes, left = [], size
            while left > 0 or not sizes:
                carried = min(left, mtu - overhead)
                sizes.append(carried + overhead)
                left -= carried
        packets = []
        for n in sizes:
            begin = max([now, *(end for _, end, _ in history)])
            waiting = [m for start, _, m in [*history, (begin, inf, n)] if start > now]
            if begin == now or limit is None or (sum(waiting) if by_bytes else len(waiting)) <= limit:
                packets.append((begin, begin + 8 * n / bandwidth, n))
                history.append(packets[-1])
        left = sum(n for _, _, n in packets)
        whole = len(packets) == len(sizes)
        times = (packets[0][0], packets[-1][1]) if whole else (inf, inf)
        yield *times, len(sizes), left, sum(sizes) - left


arrivals = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 30)), max_size=60).map(
    lambda steps: [(float(sum(gap for gap, _ in steps[: k + 1])), size) for k, (_, size) in enumerate(steps)]
)


@given(
    arrivals,
    st.sampled_from([BYTE_A_SECOND, 4 * BYTE_A_SECOND]),
    st.none() | st.integers(0, 40),
    st.booleans(),
    st.none() | st.integers(4, 12),
    st.integers(0, 3),
)
def test_the_fate_known_at_once_is_the_fate_by_the_rule(messages, bandwidth, limit, by_bytes, mtu, overhead):
    """Whole bytes and seconds: many messages meet a packet that starts or ends at that very moment."""
    queue = Queue(limit=limit, unit="bytes" if by_bytes else "packets")
    line = transmitter(bandwidth=bandwidth, queue=queue, mtu=mtu, overhead=overhead)
    fates = [line.admit(now, size) for now, size in messages]
    assert fates == list(plain(messages, bandwidth, limit, by_bytes, mtu, overhead))


def test_the_packet_on_the_line_does_not_count_towards_the_limit():
    line = transmitter(bandwidth=BYTE_A_SECOND, queue=2)
    starts = [line.admit(now, 10)[0] for now in (0.0, 1.0, 2.0, 3.0, 10.0, 10.0)]
    # The fourth finds two waiting; at 10 the second packet starts, which leaves one place.
    assert starts == [0.0, 10.0, 20.0, inf, 30.0, inf]


def test_a_line_without_bandwidth_limit_takes_no_time_and_holds_no_queue():
    line = transmitter(queue=0, mtu=10)
    assert [line.admit(1.0, 100) for _ in range(3)] == [(1.0, 1.0, 10, 100, 0)] * 3


def test_every_packet_carries_its_overhead():
    line = transmitter(mtu=1500, overhead=28)
    assert [line.packets(size) for size in (0, 1, 1472, 1473, 2944, 2945)] == [1, 1, 1, 2, 2, 3]
    assert line.admit(0.0, 2945)[2:] == (3, 2945 + 3 * 28, 0)
    assert transmitter(overhead=28).admit(0.0, 10**6)[2:] == (1, 10**6 + 28, 0)


def test_what_fits_of_a_message_leaves_and_the_rest_is_dropped():
    """As a host does with a burst of packets that are handed to it at one instant: drop-tail, one by one."""
    line = transmitter(bandwidth=BYTE_A_SECOND, queue=2, mtu=10)
    assert line.admit(0.0, 45) == (inf, inf, 5, 30, 15)  # one on the line, two wait, two find no room
    assert line.admit(5.0, 10) == (inf, inf, 1, 0, 10)
    assert line.admit(10.0, 10) == (30.0, 40.0, 1, 10, 0), "the first packets of the first message were in its way"


def test_framing_is_on_the_wire_and_outside_the_mtu():
    line = transmitter(mtu=1500, overhead=28, framing=38)
    assert [line.packets(size) for size in (1472, 1473)] == [1, 2]
    assert line.on_wire(1473) == 1473 + 2 * (28 + 38)
    assert list(line.weights(1473)) == [1500 + 38, 1 + 28 + 38]
    assert transmitter(overhead=28, framing=38).admit(0.0, 100)[3] == 166


def test_a_dead_host_leaves_nothing_on_its_line():
    line = transmitter(bandwidth=BYTE_A_SECOND, queue=2)
    assert [line.admit(0.0, 10)[0] for _ in range(3)] == [0.0, 10.0, 20.0]
    line.clear(4.0)
    assert [line.admit(5.0, 10)[0] for _ in range(4)] == [5.0, 15.0, 25.0, inf]


def test_a_packet_enters_the_second_line_when_it_has_left_the_first():
    """Two packets of ten bytes, one byte per second and then two: the second line waits for the first."""
    lines = transmitter(bandwidth=BYTE_A_SECOND), transmitter(bandwidth=2 * BYTE_A_SECOND)
    assert in_turn(lines, 0.0, [10, 10]) == (0.0, 25.0, 2, 20, 0)


def test_what_a_later_line_drops_has_left_its_host():
    lines = transmitter(bandwidth=2 * BYTE_A_SECOND), transmitter(bandwidth=BYTE_A_SECOND, queue=0)
    assert in_turn(lines, 0.0, [10, 10]) == (inf, inf, 2, 20, 0)


def test_early_detection_refuses_before_the_queue_is_full():
    def refused(red):
        line = transmitter(bandwidth=BYTE_A_SECOND, queue=Queue(limit=50, red=red))
        return sum(line.admit(0.9 * k, 1)[0] == inf for k in range(2000))

    assert refused(None) > 0
    assert refused(Red(low=5, high=15, chance=0.2, weight=0.05)) > refused(None)


def test_early_detection_draws_once_a_packet_also_when_the_queue_is_full():
    """Two lines of one stream, one always full: afterwards both stand at the same place of the stream."""
    red = Red(low=0, high=10**9, chance=1.0, weight=1.0)
    stuck = transmitter(bandwidth=1e-6, queue=Queue(limit=0, red=red))
    free = transmitter(bandwidth=1e9, queue=Queue(limit=0, red=red))
    for k in range(20):
        stuck.admit(float(k), 1)
        free.admit(float(k), 1)
    assert next(stuck._red._uniforms) == next(free._red._uniforms)


def test_links_that_share_an_uplink_wait_for_each_other():
    uplink = transmitter(bandwidth=BYTE_A_SECOND)
    assert [uplink.admit(0.0, 10)[:2] for _ in range(3)] == [(0.0, 10.0), (10.0, 20.0), (20.0, 30.0)]
