"""Single packets over an underlay: times and fates as in a plain store-and-forward network; streams that share it."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simnet import run
from simnet.network.underlay import PhysicalNetwork, Underlay
from simnet.record.bus import Bus
from simnet.sim.engine import VirtualEngine
from simnet.sim.routed_packets import RoutedPackets
from simnet.streams import Streams
from tests.sim.store_and_forward import Line, PlainNetwork
from tests.sim.stream_net import StreamNet
from tests.worlds import lawful, traffic, world

LINK = {"latency": 0.004, "bandwidth": 2e5, "queue": 6, "mtu": 60}


def network(lines: dict[tuple[int, int], str], folder: Path, agents: int, **section: Any) -> PhysicalNetwork:
    """A physical network of edges with attributes; agent i is at node i."""
    path = folder / "graph.csv"
    rows = [f"{a},{b},{said}" for (a, b), said in lines.items()]
    path.write_text("\n".join(["source,target,latency,bandwidth", *rows]))
    link = {"overhead": 0} | section.pop("link", {})
    underlay = Underlay.model_validate({"graph": {"kind": "file", "file": str(path)}, "link": link, **section})
    return underlay.draw(agents, Streams(1), Path)


def carrier(physical: PhysicalNetwork, agents: int) -> tuple[VirtualEngine, RoutedPackets]:
    engine = VirtualEngine({}, Bus(), scoreboard=None, agents=agents)  # type: ignore[arg-type]
    return engine, RoutedPackets(engine, physical, [], Streams(1))


def send_at(engine: VirtualEngine, carries: RoutedPackets, time: float, a: int, b: int, size: int, then: Any) -> None:
    engine.at(time, lambda: carries.carry(a, b, size, then))


@st.composite
def networks(draw: st.DrawFn) -> tuple[dict[tuple[int, int], str], int]:
    """A connected graph with links of all kinds, each direction with its own."""
    nodes = draw(st.integers(2, 7))
    tree = [(draw(st.integers(0, node - 1)), node) for node in range(1, nodes)]
    more = draw(st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=5))
    edges = {(min(edge), max(edge)) for edge in [*tree, *more] if edge[0] != edge[1]}
    lines = {}
    for a, b in sorted(edges):
        for ends in ((a, b), (b, a)):
            latency = draw(st.integers(0, 40_000))
            lines[ends] = f"{latency}us,{draw(st.integers(5_000, 90_000))}"
    return lines, nodes


@given(networks(), st.data(), st.sampled_from([(None, "packets"), (0, "packets"), (3, "packets"), (900, "bytes")]))
@settings(max_examples=150, deadline=None)
def test_packets_arrive_when_and_if_they_do_in_a_plain_store_and_forward_network(tmp_path_factory, drawn, data, queue):
    lines, nodes = drawn
    limit, unit = queue
    link = {"queue": {"unit": unit} | ({} if limit is None else {"limit": limit})}
    routing = data.draw(st.sampled_from(["delay", "hops"]))
    physical = network(lines, tmp_path_factory.getbasetemp(), nodes, link=link, routing=routing)
    ends = st.integers(0, nodes - 1)
    packets = data.draw(st.lists(st.tuples(st.integers(0, 60), ends, ends, st.integers(1, 700)), max_size=40))
    packets = sorted(((k / 100, a, b, size) for k, a, b, size in packets if a != b), key=lambda packet: packet[0])

    engine, carries = carrier(physical, nodes)
    seen: dict[int, tuple[str, float]] = {}

    def told(number: int) -> Any:
        return lambda arrived: seen.setdefault(number, ("delivered" if arrived else "overflowed", engine.now))

    for number, (time, a, b, size) in enumerate(packets):
        send_at(engine, carries, time, a, b, size, told(number))
    engine.env.run()

    plain_lines: dict[object, Line] = {}
    for direction, said in lines.items():
        latency, bandwidth = said.split("us,")
        plain_lines[direction] = Line(Fraction(int(bandwidth)), Fraction(int(latency), 10**6), limit, unit == "bytes")
    plain = PlainNetwork(
        plain_lines,
        [(Fraction(time), list(physical.route(a, b)), size) for time, a, b, size in packets],
    ).run()
    assume(not plain.ambiguous)
    assert {number: end for number, (end, _) in seen.items()} == {n: end for n, (end, _) in plain.ends.items()}
    for number, (_, time) in plain.ends.items():
        assert seen[number][1] == pytest.approx(float(time), abs=1e-12, rel=1e-12)


def test_two_flows_over_one_bottleneck_get_half_of_it_each(tmp_path):
    """A dumbbell: 0 and 1 send to 4 and 5 over the link from 2 to 3."""
    fast = "1ms,100e6"
    lines = {(0, 2): fast, (1, 2): fast, (2, 3): "5ms,1e6", (3, 4): fast, (3, 5): fast}
    physical = network(lines, tmp_path, 6, link={"queue": 20})
    engine, carries = carrier(physical, 6)
    arrived: Counter[int] = Counter()
    rng = np.random.default_rng(3)
    for sender, receiver in ((0, 4), (1, 5)):
        # Twice what the bottleneck carries in 10 s, at random times.
        for time in np.sort(rng.uniform(0, 10, 1667)).tolist():
            send_at(engine, carries, time, sender, receiver, 1500, lambda ok, who=sender: arrived.update([who] * ok))
    engine.env.run()
    rate = {who: count * 1500 * 8 / 10 for who, count in arrived.items()}
    assert sum(rate.values()) == pytest.approx(1e6, rel=0.03)
    assert rate[0] == pytest.approx(5e5, rel=0.05)
    assert rate[1] == pytest.approx(5e5, rel=0.05)


def test_packets_that_come_at_random_wait_as_long_as_in_an_m_d_1_queue(tmp_path):
    physical = network({(0, 1): "0s,8e3", (1, 2): "0s,8e9"}, tmp_path, 3)
    engine, carries = carrier(physical, 3)
    waits = []
    rng = np.random.default_rng(1)
    for time in np.cumsum(rng.exponential(1 / 0.7, 20_000)).tolist():
        send_at(engine, carries, time, 0, 2, 1000, lambda ok, sent=time: waits.append(engine.now - sent - 1.0))
    engine.env.run()
    assert np.mean(waits) == pytest.approx(0.7 / (2 * (1 - 0.7)), rel=0.06)


def test_cross_traffic_may_use_the_links_of_the_underlay():
    underlay = {"graph": {"kind": "star", "agents": 6}, "link": LINK | {"queue": 1000}}

    def cross_traffic(engine: VirtualEngine) -> Any:
        for _ in range(200):
            engine.carry_packet(1, 2, 32, lambda arrived: None)
            yield engine.env.timeout(0.002)

    scenario = world(**{"network.underlay": underlay})
    alone, among = run(scenario), run(scenario, attach=[cross_traffic])
    assert among.summary["time"]["simulated"] > 1.2 * alone.summary["time"]["simulated"]
    assert traffic(among)["wire_bytes"] == traffic(alone)["wire_bytes"]
    assert among.summary["underlay"]["bytes"] > alone.summary["underlay"]["bytes"]


def test_whoever_sends_a_packet_is_told_what_left_and_later_whether_it_arrived(tmp_path):
    """Overhead and framing are the links'; the first link takes one packet at a time and holds none."""
    link = {"overhead": 28, "framing": 38, "queue": 0, "mtu": 1500}
    physical = network({(0, 1): "1ms,8e5", (1, 2): "1ms,8e6"}, tmp_path, 4, link=link, attach=[0, 2, 2, 0])
    engine, carries = carrier(physical, 4)
    told: list[tuple[str, bool, float]] = []

    def send(name: str, sender: int, peer: int) -> Any:
        return carries.carry(sender, peer, 1434, lambda arrived: told.append((name, arrived, engine.now)))

    first, refused, near = send("first", 0, 1), send("refused", 0, 1), send("near", 1, 2)
    assert told == []
    assert (first.wire_bytes, first.offered_bytes, first.departs) == (1500, 1500, pytest.approx(0.015))
    assert (refused.wire_bytes, refused.offered_bytes, refused.fate) == (0, 1500, "overflowed")
    assert (near.wire_bytes, near.departs) == (1500, 0.0)
    engine.env.run()
    assert told == [("refused", False, 0.0), ("near", True, 0.0), ("first", True, pytest.approx(0.0185))]


def dumbbell(folder: Path, queue: Any, far: str = "1ms") -> StreamNet:
    """0 and 1 send to 4 and 5, each more than the 2 Mbit/s of the link from 2 to 3 can carry in a minute."""
    fast = "1ms,100e6"
    lines = {(0, 2): fast, (1, 2): f"{far},100e6", (2, 3): "10ms,2e6", (3, 4): fast, (3, 5): fast}
    net = StreamNet(network(lines, folder, 6, link={"queue": queue, "mtu": 1052, "overhead": 28}))
    for sender, receiver in ((0, 4), (1, 5)):
        for number in range(1, 800):
            net.send(sender, receiver, number, 20_000)
    while net.engine.now < 60:
        net.engine.env.step()
    return net


RED = {"limit": 60, "red": {"low": 5, "high": 15, "chance": 0.1, "weight": 0.02}}


@pytest.mark.parametrize(
    ("queue", "far", "used"),
    [(10, "1ms", 0.99), (20, "1ms", 0.99), (40, "1ms", 0.99), (RED, "1ms", 0.93), (RED, "3ms", 0.93)],
    ids=["short", "middle", "long", "red", "red, one farther away"],
)
def test_two_streams_share_a_bottleneck_equally_and_fill_it(tmp_path, queue, far, used):
    net = dumbbell(tmp_path, queue, far)
    rate = {who: 8 * 20_000 * sum(sender == who for _, sender, _, _ in net.heard) / 60 for who in (0, 1)}
    # Of a packet's 1052 bytes 1000 are the message's.
    assert used * 2e6 / 1.052 < sum(rate.values()) <= 2e6 / 1.052
    assert rate[0] == pytest.approx(rate[1], rel=0.15)
    for who in (0, 1):
        numbers = [number for _, sender, _, number in net.heard if sender == who]
        assert numbers == list(range(1, len(numbers) + 1))
    assert len(net.told("message.retransmitted")) > 20


def test_without_chance_the_phase_of_two_streams_decides_who_gets_the_line(tmp_path):
    """Floyd & Jacobson 1992, On Traffic Phase Effects in Packet-Switched Gateways."""
    net = dumbbell(tmp_path, 20, "1.7ms")
    heard = Counter(sender for _, sender, _, _ in net.heard)
    assert max(heard.values()) > 3 * min(heard.values())


@given(networks(), st.data(), st.sampled_from([0, 1, 2, 8, {"limit": 300, "unit": "bytes"}, RED]))
@settings(max_examples=60, deadline=None)
def test_full_queues_make_no_stream_lose_repeat_or_reorder_a_message(tmp_path_factory, drawn, data, queue):
    lines, nodes = drawn
    link = {"queue": queue, "mtu": 152, "overhead": 28}
    net = StreamNet(
        network(lines, tmp_path_factory.getbasetemp(), nodes, link=link), timeout=0.1, backoff=1.5, attempts=10_000
    )
    ends = st.integers(0, nodes - 1)
    messages = data.draw(st.lists(st.tuples(ends, ends, st.integers(30, 900), st.integers(0, 20)), max_size=25))
    messages = sorted((message for message in messages if message[0] != message[1]), key=lambda message: message[3])
    for number, (sender, receiver, size, at) in enumerate(messages, 1):
        net.send(sender, receiver, number, size, at=at / 20)
    net.engine.env.run()
    for pair in {message[:2] for message in messages}:
        sent = [number for number, message in enumerate(messages, 1) if message[:2] == pair]
        assert [number for _, *ends, number in net.heard if tuple(ends) == pair] == sent
    assert len(net.told("message.delivered")) == len(messages)
    assert net.engine.in_flight == 0
    every_byte_crosses_every_link(net)


def every_byte_crosses_every_link(net: StreamNet) -> None:
    """What left the hosts has passed all links of its routes, but for what was dropped on the way."""
    net.transport.tell()
    kinds = ("message.sent", "message.retransmitted", "packets.sent")
    told = [event for kind in kinds for _, event in net.told(kind)]
    offered = sum(event.offered_bytes * len(net.packets.route(event.agent, event.peer)) for event in told)
    lines = {id(line): line for event in told for line in net.packets.route(event.agent, event.peer)}.values()
    crossed = sum(line.bytes for line in lines)
    assert crossed <= offered
    assert (crossed == offered) == (sum(line.dropped for line in lines) == 0)


@pytest.mark.parametrize(
    "link",
    [{}, {"bandwidth": 6e3, "queue": 0}, {"mtu": None}, {"framing": 38, "queue": {"limit": 100, "unit": "bytes"}}],
    ids=["usual", "slow", "whole messages", "framed"],
)
@pytest.mark.parametrize("cuts", [False, True], ids=["whole", "cut now and then"])
def test_a_stream_over_one_physical_link_is_one_over_a_link_of_the_topology(link, cuts):
    link = {name: value for name, value in ({**LINK, "mtu": 90, **link}).items() if value is not None}
    changes = {
        "topology": {"kind": "complete", "agents": 4},
        "network.transport": {"kind": "reliable", "timeout": 0.3},
        "network.pacing": {"kind": "barrier", "patience": 60.0},
        "fault": [{"kind": "partition", "agents": [0, 2], "every": 0.1, "duration": 0.05}] if cuts else [],
    }
    graph = {"kind": "complete", "agents": 4}
    plain, routed = (
        lawful(**changes, **over)
        for over in ({"network.link": link}, {"network.underlay": {"graph": graph, "link": link}})
    )
    told = [
        [(t, e) for _, t, e in result.events if e.kind not in ("run.started", "run.finished", "underlay.link")]
        for result in (plain, routed)
    ]
    assert told[0] == told[1]
    assert traffic(routed)["delivered"] > 0
    if not cuts:
        assert traffic(routed)["delivered"] == traffic(routed)["messages"]
        assert (traffic(routed)["retransmissions"] > 0) == (link["queue"] != 6)


def far_apart(folder: Path, **net: Any) -> StreamNet:
    """Two hosts and a router between them: 1 ms per packet of 1052 bytes and link, 20 ms of latency in all."""
    lines = {(0, 1): "10ms,8.416e6", (1, 2): "10ms,8.416e6"}
    link = {"mtu": 1052, "overhead": 28}
    return StreamNet(network(lines, folder, 2, link=link, attach=[0, 2]), fragile=True, **net)


def test_a_sender_that_comes_back_sends_again_what_never_left(tmp_path):
    net = far_apart(tmp_path)
    net.send(0, 1, 1, 5000)
    net.crash(0, at=0.0015, until=3.0)
    net.engine.env.run()
    net.transport.tell()
    [(heard, *message)] = net.heard
    assert message == [0, 1, 1]
    assert 3.0 < heard < 5.0
    # One packet had left. The line is not cleared, but what was on it counts as unsent, too.
    told = [event for _, event in net.told("packets.sent") if event.agent == 0]
    assert sum(event.unsent_bytes for event in told) == 4 * 1052
    left = sum(e.wire_bytes for kind in ("message.sent", "message.retransmitted") for _, e in net.told(kind))
    left += sum(e.wire_bytes - e.unsent_bytes for e in told)
    assert left == net.packets.route(0, 1)[0].bytes == net.packets.route(0, 1)[1].bytes


def test_a_sender_without_its_memory_has_lost_its_messages(tmp_path):
    net = far_apart(tmp_path)
    net.send(0, 1, 1, 5000)
    net.crash(0, at=0.0015, until=3.0, lost=True)
    net.send(0, 1, 2, 5000, at=4.0)
    net.engine.env.run()
    assert [number for *_, number in net.heard] == [2]
    assert [event.reason for _, event in net.told("message.lost")] == ["sender-down"]
    assert net.engine.in_flight == 0


@pytest.mark.parametrize("lost", [False, True], ids=["kept", "lost"])
def test_a_receiver_that_was_down_gets_everything_once_and_in_order(tmp_path, lost):
    net = far_apart(tmp_path)
    for number in range(1, 6):
        net.send(0, 1, number, 3000)
    net.crash(1, at=0.0265, until=2.0, lost=lost)
    net.engine.env.run()
    assert [number for *_, number in net.heard] == [1, 2, 3, 4, 5]
    assert net.heard[0][0] < 0.0265
    assert net.heard[1][0] > 2.0
    assert net.engine.in_flight == 0


def test_cross_traffic_of_a_host_that_dies_is_not_taken_from_its_streams(tmp_path):
    net = far_apart(tmp_path)
    fates: list[bool] = []
    net.engine.at(0.0, lambda: net.engine.carry_packet(0, 1, 1024, fates.append))
    net.crash(0, at=0.0005, until=1.0)
    net.engine.env.run()
    net.transport.tell()
    assert fates == [False]
    assert net.told("packets.sent") == []
