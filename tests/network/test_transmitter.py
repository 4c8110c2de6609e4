from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from simnet.network.model import LinkModel
from simnet.network.queueing import Queue, Red
from simnet.network.transmitter import Transmitter
from simnet.streams import Streams

BYTE_A_SECOND = 8.0


def transmitter(**settings):
    return Transmitter(LinkModel(**settings), Streams(1), "0>1")


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
        free_at = max((end for _, end, _ in history), default=-inf)
        starts, packets = max(now, free_at), []
        for n in sizes:
            begin = packets[-1][1] if packets else starts
            packets.append((begin, begin + 8 * n / bandwidth, n))
        waiting = [n for start, _, n in [*history, *packets] if start > now]
        if limit is not None and (sum(waiting) if by_bytes else len(waiting)) > limit:
            yield inf, inf, len(sizes), sum(sizes)
        else:
            history += packets
            yield packets[0][0], packets[-1][1], len(sizes), sum(sizes)


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


@given(st.integers(0, 50), st.booleans(), st.integers(0, 200), st.none() | st.integers(4, 12))
def test_what_passes_an_idle_line_is_what_it_says_passes(limit, by_bytes, size, mtu):
    settings = {
        "bandwidth": BYTE_A_SECOND,
        "queue": Queue(limit=limit, unit="bytes" if by_bytes else "packets"),
        "mtu": mtu,
    }
    line = transmitter(**settings)
    assert line.passes(size) == (line.admit(0.0, size)[0] == 0.0)


def test_the_packet_on_the_line_does_not_count_towards_the_limit():
    line = transmitter(bandwidth=BYTE_A_SECOND, queue=2)
    starts = [line.admit(now, 10)[0] for now in (0.0, 1.0, 2.0, 3.0, 10.0, 10.0)]
    # The fourth finds two waiting; at 10 the second packet starts, which leaves one place.
    assert starts == [0.0, 10.0, 20.0, inf, 30.0, inf]


def test_a_line_without_bandwidth_limit_takes_no_time_and_holds_no_queue():
    line = transmitter(queue=0, mtu=10)
    assert [line.admit(1.0, 100) for _ in range(3)] == [(1.0, 1.0, 10, 100)] * 3


def test_every_packet_carries_its_overhead():
    line = transmitter(mtu=1500, overhead=28)
    assert [line.packets(size) for size in (0, 1, 1472, 1473, 2944, 2945)] == [1, 1, 1, 2, 2, 3]
    assert line.admit(0.0, 2945)[2:] == (3, 2945 + 3 * 28)
    assert transmitter(overhead=28).admit(0.0, 10**6)[2:] == (1, 10**6 + 28)


def test_early_detection_refuses_before_the_queue_is_full():
    def refused(red):
        line = transmitter(bandwidth=BYTE_A_SECOND, queue=Queue(limit=50, red=red))
        return sum(line.admit(0.9 * k, 1)[0] == inf for k in range(2000))

    assert refused(None) > 0
    assert refused(Red(low=5, high=15, chance=0.2, weight=0.05)) > refused(None)


def test_early_detection_draws_once_a_message_also_when_the_queue_is_full():
    """Two lines of one stream, one always full: afterwards both stand at the same place of the stream."""
    red = Red(low=0, high=10**9, chance=1.0, weight=1.0)
    stuck = transmitter(bandwidth=1e-9, queue=Queue(limit=0, red=red))
    free = transmitter(bandwidth=1e9, queue=Queue(limit=0, red=red))
    for k in range(20):
        stuck.admit(float(k), 1)
        free.admit(float(k), 1)
    assert next(stuck._red._uniforms) == next(free._red._uniforms)


def test_links_that_share_an_uplink_wait_for_each_other():
    uplink = transmitter(bandwidth=BYTE_A_SECOND)
    assert [uplink.admit(0.0, 10)[:2] for _ in range(3)] == [(0.0, 10.0), (10.0, 20.0), (20.0, 30.0)]
