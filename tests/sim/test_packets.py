"""What happens to single packets: the engine's seam to a transport."""

from __future__ import annotations

import pytest

from simnet.network.model import Line
from simnet.streams import Streams
from tests.sim.stream_pair import LINE, PACKET, WAY, StreamPair


class Wire(StreamPair):
    """Packets of 1052 bytes on the wire from 0 to 1, and what becomes of each."""

    def __init__(self, **line: object) -> None:
        super().__init__(LINE | line)
        self.engine.fragile = True
        self.fates: list[tuple[float, bool]] = []
        self.unsent: list[int] = []

    def packet(self) -> None:
        then = lambda arrived: self.fates.append((self.engine.now, arrived))  # noqa: E731
        self.engine.carry_packet(0, 1, 1024, then, self.unsent.append)


def test_packets_follow_each_other_on_the_line_and_a_full_queue_refuses_one():
    wire = Wire(queue=1)
    for _ in range(3):
        wire.packet()
    wire.run()
    assert wire.fates == [(0.0, False), (pytest.approx(PACKET + WAY), True), (pytest.approx(2 * PACKET + WAY), True)]


def test_a_lost_packet_is_gone_when_it_has_left_and_a_damaged_one_when_it_arrives():
    for flaw, then in (({"loss": 1.0}, PACKET), ({"corruption": 1.0}, PACKET + WAY)):
        wire = Wire(**flaw)
        wire.packet()
        wire.run()
        assert wire.fates == [(pytest.approx(then), False)]


def test_a_copy_arrives_by_itself():
    wire = Wire(duplication=1.0)
    wire.packet()
    wire.run()
    assert wire.fates == [(pytest.approx(PACKET + WAY), True)] * 2


def test_a_cut_link_and_a_host_that_is_down_hear_nothing():
    for at in (0.0, 0.001, 0.0205):
        cut, down = Wire(), Wire()
        cut.engine.at(at, lambda cut=cut: cut.engine.cut.update({(0, 1): 1}))
        down.engine.at(at, lambda down=down: setattr(down.ports[1], "down", 1))
        for wire in (cut, down):
            wire.engine.at(0.0, wire.packet)
            wire.run()
            assert [arrived for _, arrived in wire.fates] == [False]


def test_a_link_that_breaks_for_a_moment_loses_what_is_on_it_and_its_copies():
    wire = Wire(duplication=1.0)
    wire.packet()
    wire.engine.at(0.01, lambda: wire.engine.sever(0, 1))
    wire.run()
    assert [arrived for _, arrived in wire.fates] == [False, False]


def test_what_waits_for_the_line_of_a_dead_host_never_leaves():
    wire = Wire()
    for _ in range(3):
        wire.packet()
    for at in (1.5, 1.6):
        wire.engine.at(at * PACKET, lambda: wire.engine.silence(0))
    wire.run()
    assert [arrived for _, arrived in wire.fates] == [True, False, False]
    assert wire.unsent == [526, 1052], "told once"


def test_the_receivers_line_delays_and_refuses_packets():
    wire = Wire()
    down = Line.model_validate({"bandwidth": LINE["bandwidth"] / 10, "queue": 1})
    wire.engine.down_lines = {1: down.transmitter(Streams(1), "1/down")}
    for _ in range(3):
        wire.packet()
    wire.run()
    assert sorted(arrived for _, arrived in wire.fates) == [False, True, True]
    assert max(t for t, _ in wire.fates) == pytest.approx(PACKET + WAY + 2 * 10 * PACKET)
