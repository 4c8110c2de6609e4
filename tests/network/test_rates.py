"""Bandwidth by a file, beside a plain program that goes through the file millisecond by millisecond."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet import Scenario, ScenarioError, run
from simnet.network.link import Link
from simnet.network.model import LinkModel
from simnet.network.queueing import Transmitter
from simnet.streams import Streams
from tests.worlds import TICKS, world


def line(folder: Path, lines: list[object], kind: str = "mahimahi", **fields: object) -> LinkModel:
    """A link whose bandwidth is in a file with these lines."""
    path = folder / "rates.txt"
    path.write_text("".join(f"{each}\n" for each in lines))
    queue = fields.pop("queue", None)
    rate = {"kind": kind, "file": str(path), **fields}
    return LinkModel.model_validate({"bandwidth": rate, "overhead": 0, "queue": queue}).read(Path)


def mm_link(times: list[int], packets: list[tuple[float, int]], limit: float = inf) -> list[float]:
    """When each packet has left, by going through the opportunities one by one; infinite if the queue was full."""
    departs = [inf] * len(packets)
    queue: list[int] = []
    on_line, to_send = None, 0
    arriving = list(enumerate(packets))
    for turn in range(10_000):
        for time in times:
            now = (turn * times[-1] + time) / 1000
            while arriving and arriving[0][1][0] < now:
                number, _ = arriving.pop(0)
                if len(queue) < limit:
                    queue.append(number)
            room = 1500
            while room and (on_line is not None or queue):
                if on_line is None:
                    on_line = queue.pop(0)
                    to_send = packets[on_line][1]
                taken = min(room, to_send)
                room, to_send = room - taken, to_send - taken
                if not to_send:
                    departs[on_line], on_line = now, None
        if not arriving and not queue and on_line is None:
            return departs
    raise AssertionError("it never ends")


TIMES = st.lists(st.integers(0, 12), min_size=1, max_size=8).map(sorted).filter(lambda times: times[-1] > 0)
# Quarters of a millisecond: many packets come at the very instant of an opportunity, which they miss.
PACKETS = st.lists(st.tuples(st.integers(0, 160), st.integers(1, 4000)), min_size=1, max_size=25).map(
    lambda found: sorted((quarters / 4000, size) for quarters, size in found)
)


@given(TIMES, PACKETS, st.one_of(st.just(None), st.integers(0, 4)))
def test_packets_leave_as_through_mahimahis_link(tmp_path_factory, times, packets, limit):
    transmitter = Transmitter(line(tmp_path_factory.getbasetemp(), times, queue=limit), Streams(1), "0>1")
    departs = [transmitter.admit(now, size)[1] for now, size in packets]
    assert departs == mm_link(times, packets, inf if limit is None else limit)


def test_small_packets_share_an_opportunity_and_a_large_one_takes_several(tmp_path):
    transmitter = Transmitter(line(tmp_path, [1, 2, 4]), Streams(1), "0>1")
    assert [transmitter.admit(0.0, size)[:2] for size in (500, 1000, 2000, 1000)] == [
        (0.001, 0.001),
        (0.001, 0.001),
        (0.002, 0.004),
        (0.004, 0.004),
    ]


def test_an_opportunity_that_nobody_takes_is_wasted(tmp_path):
    transmitter = Transmitter(line(tmp_path, [1]), Streams(1), "0>1")
    assert transmitter.admit(0.0, 100)[1] == 0.001
    assert transmitter.admit(0.001, 100)[1] == 0.002, "1400 bytes were left, but it came at that very instant"
    assert transmitter.admit(0.0105, 1500)[1] == 0.011


def test_a_trace_of_one_packet_per_millisecond_carries_twelve_megabits(tmp_path):
    model = line(tmp_path, [1])
    assert Transmitter(model, Streams(1), "0>1").bandwidth == 12e6
    told = "mahimahi, 12 Mbit/s on average, repeats after 0.001 s, up for 100 % of it, longest pause 0.001 s"
    assert model.bandwidth.told() == told


def test_what_waits_dies_with_its_host_and_the_next_packet_takes_the_next_opportunity(tmp_path):
    transmitter = Transmitter(line(tmp_path, [1, 2, 3, 10]), Streams(1), "0>1")
    assert transmitter.admit(0.0, 6000)[1] == 0.010
    transmitter.clear(0.0015)
    assert transmitter.admit(0.0015, 3000)[1] == 0.003


def by_rates(steps: list[tuple[int, int]], packets: list[tuple[float, int]]) -> list[Fraction]:
    """When each packet has left, in fractions: bits leave at the rate of the moment."""
    period = Fraction(steps[-1][0] - steps[0][0]) * len(steps) / (len(steps) - 1)
    ends = [Fraction(time - steps[0][0]) for time, _ in steps[1:]] + [period]
    found, free = [], Fraction(0)
    for now, size in packets:
        time, bits = max(Fraction(now), free), Fraction(size * 8)
        while bits:
            turn, within = divmod(time, period)
            which = next(i for i, end in enumerate(ends) if within < end)
            end = turn * period + ends[which]
            sent = min(bits, (end - time) * steps[which][1])
            bits -= sent
            time = time + sent / steps[which][1] if not bits else end
        found.append(time)
        free = time
    return found


STEPS = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3)), min_size=2, max_size=6).filter(
    lambda found: any(rate for _, rate in found)
)


@given(STEPS, st.lists(st.tuples(st.integers(0, 80), st.integers(1, 3)), min_size=1, max_size=12).map(sorted))
def test_a_packet_across_a_change_of_the_rate_takes_exactly_its_bits(tmp_path_factory, gaps, packets):
    times = [sum(gap for gap, _ in gaps[:i]) for i in range(len(gaps))]
    steps = [(time, 8 * rate) for time, (_, rate) in zip(times, gaps, strict=True)]
    model = line(tmp_path_factory.getbasetemp(), [f"{time},{rate}" for time, rate in steps], "steps")
    transmitter = Transmitter(model, Streams(1), "0>1")
    packets = [(now / 4, size) for now, size in packets]
    departs = [transmitter.admit(now, size)[1] for now, size in packets]
    assert departs == pytest.approx([float(time) for time in by_rates(steps, packets)], rel=1e-12)


def test_a_rate_that_never_changes_is_bit_for_bit_a_constant_bandwidth(tmp_path):
    changing = Transmitter(line(tmp_path, ["0,7", "1,7", "3,7"], "steps", unit="kbit/s"), Streams(1), "0>1")
    constant = Transmitter(LinkModel(bandwidth="7 kbit/s", overhead=0), Streams(1), "0>1")
    for now, size in [(0.0, 333), (0.1, 77), (12.34, 1001), (12.35, 1)]:
        assert changing.admit(now, size) == constant.admit(now, size)


def test_headings_and_units_of_rates_are_read(tmp_path):
    model = line(tmp_path, ["t_ms,Mbps", "0,8", "1000,0"], "steps", unit="Mbit/s", time_unit="ms")
    told = "steps, 4 Mbit/s on average, repeats after 2 s, up for 50 % of it, longest pause 1 s"
    assert model.bandwidth.told() == told
    link = Link(model, Streams(1), "0>1")
    assert [link.send(0.0, 1_000_000).departs, link.send(0.0, 8).starts] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("kind", "lines", "fields", "sentence"),
    [
        ("mahimahi", [], {}, "needs a time above 0"),
        ("mahimahi", [0, 0], {}, "needs a time above 0"),
        ("mahimahi", [3, 2], {}, "line 2 is earlier than the one before"),
        ("mahimahi", [1, 2.5], {}, "line 2 is '2.5', not a whole number of ms"),
        ("mahimahi", [1, -1], {}, "line 2 is '-1', not a whole number of ms"),
        ("mahimahi", ["9" * 5000], {}, "not a whole number of ms"),
        ("steps", ["-inf,1", "0,2"], {}, "line 2 is not later than the one before"),
        ("steps", ["0,1"], {}, "holds 1 rates, a trace has at least 2"),
        ("steps", ["0,1", "0,2"], {}, "line 2 is not later than the one before"),
        ("steps", ["0,1", "1,-2"], {}, "line 2 is no bit rate of 0 or more"),
        ("steps", ["0,0", "1,0"], {}, "is never up"),
        ("steps", ["0,1", "nonsense,2"], {}, "line 2 is 'nonsense,2', not a time and a bit rate"),
        ("steps", ["t_ms,rate", "0,1", "1,2"], {}, "write time_unit"),
        ("steps", ["t,Mbit/s", "0,1", "1,2"], {}, "headed 'Mbit/s', which is not unit = \"bit/s\""),
    ],
)
def test_a_file_that_is_no_trace_is_refused_in_a_sentence(tmp_path, kind, lines, fields, sentence):
    with pytest.raises(ScenarioError, match=r"bandwidth\.file = ") as refused:
        line(tmp_path, lines, kind, **fields)
    assert sentence in str(refused.value)


def test_lines_begin_anywhere_by_their_own_streams(tmp_path):
    model = line(tmp_path, [3, 50, 97], begin="anywhere")
    firsts = [[Transmitter(model, Streams(seed), name).admit(0.0, 9)[1] for name in "abc"] for seed in (1, 1, 2)]
    assert firsts[0] == firsts[1] != firsts[2]
    assert len(set(firsts[0])) == 3
    assert all(0 < first <= 0.050 for each in firsts for first in each)


def test_a_link_an_override_and_an_access_line_find_their_trace_beside_the_scenario(tmp_path):
    (tmp_path / "slow.txt").write_text("50\n")
    trace = {"kind": "mahimahi", "file": "slow.txt"}
    assert arrivals(tmp_path, {"link": {"bandwidth": trace}}) == {0.05}
    assert arrivals(tmp_path, {"override": [{"from": 0, "to": 1, "bandwidth": trace}]}) == {0.0, 0.05}
    # Two messages of an agent share the 1500 bytes of its access line.
    assert arrivals(tmp_path, {"line": {"up": {"bandwidth": trace}}}) == {0.05}
    assert arrivals(tmp_path, {"line": {"down": {"bandwidth": trace}}}) == {0.05}
    assert arrivals(tmp_path, {"link": {"preset": "4g", "latency": 0, "loss": 0, "bandwidth": trace}}) == {0.05}


def arrivals(folder: Path, network: dict) -> set[float]:
    """When the messages of the first round arrive on a ring of three."""
    ring = world(rounds=1, network={"pacing": "ideal"} | network, topology={"kind": "ring", "agents": 3}, compute={})
    result = run(Scenario.of(ring.content(), folder=folder))
    return {t for _, t, event in result.events if event.kind == "message.delivered"}


@pytest.mark.parametrize("transport", ["datagram", "reliable"])
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("link", "link.queue"),
        ("override", "override.queue"),
        ("line.up", "line.up.queue"),
        ("line.down", "line.down.queue"),
        ("underlay", "underlay.link.queue"),
    ],
)
@pytest.mark.parametrize("queue", [0, {"limit": 60, "unit": "bytes"}], ids=str)
def test_a_queue_that_lets_nothing_wait_for_an_opportunity_is_refused(tmp_path, transport, place, said, queue):
    (tmp_path / "slow.txt").write_text("50\n")
    line = {"bandwidth": {"kind": "mahimahi", "file": str(tmp_path / "slow.txt")}, "queue": queue}
    lines = {"override": [{"agent": 1} | line], "underlay": {"graph": {"kind": "ring", "agents": 6}, "link": line}}
    changes = {f"network.{place}": lines.get(place, line), "network.transport": transport}
    with pytest.raises(ScenarioError, match=rf"^network\.{said}: .*no value would ever arrive; a longer queue"):
        run(world(**changes))


@pytest.mark.parametrize("transport", ["datagram", "reliable"])
@pytest.mark.parametrize("place", ["link", "line.up", "underlay"])
def test_a_line_that_is_down_at_first_lets_pass_later_what_does_not_wait(tmp_path, transport, place):
    (tmp_path / "rates.csv").write_text("0,0\n1,1000\n")
    rate = {"kind": "steps", "file": str(tmp_path / "rates.csv"), "unit": "kbit/s"}
    line = {"bandwidth": rate, "queue": 0}
    section = {"graph": {"kind": "complete", "agents": 6}, "link": line} if place == "underlay" else line
    changes = {f"network.{place}": section, "network.transport": transport, "network.pacing": TICKS}
    result = run(world(rounds=25, **changes))
    assert result.summary["communication"]["delivered"] > 0


def test_a_plain_bandwidth_stays_a_plain_number():
    scenario = world(**{"network.link.bandwidth": "2 Mbit/s"})
    assert scenario.resolved()["network"]["link"]["bandwidth"] == 2e6
    with pytest.raises(ScenarioError, match='bandwidth = "fast": a bit rate such as'):
        world(**{"network.link.bandwidth": "fast"})
    with pytest.raises(ScenarioError, match=r"bandwidth\.file is missing"):
        world(**{"network.link.bandwidth": {"kind": "mahimahi"}})


@pytest.mark.parametrize("paced", [False, True])
@given(size=st.integers(1, 500), begin=st.floats(0.0, 5.0))
def test_who_hands_over_packet_after_packet_is_never_refused_and_loses_no_time(tmp_path_factory, paced, size, begin):
    """A queue of nothing refuses no packet that is handed over when the one before has left."""
    plain = LinkModel(bandwidth=800.0, mtu=60, queue=0)
    steps = line(tmp_path_factory.getbasetemp(), ["0,800", "1,80", "2,8000", "3,0", "4,800"], "steps")
    model = steps.model_copy(update={"mtu": 60, "overhead": 28}) if paced else plain
    told, sender = (Transmitter(model, Streams(1), "") for _ in range(2))
    now = begin
    for weight in sender.weights(size):
        now = sender.packet(now, weight)[1]
    assert told.unhindered(begin, size) == pytest.approx(now, rel=1e-9)
    assert told.on_wire(size) == sum(sender.weights(size)) == size + 28 * -(-size // 32)
