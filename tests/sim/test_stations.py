"""When stations send: against the formulas of ALOHA, the arithmetic of TDMA, and Bianchi's model of the DCF."""

from __future__ import annotations

from math import exp

import pytest
from scipy.optimize import brentq

from benchmarks.validate_air import PACKET, Cell, SimpyClock, aloha, play_round
from simnet.sim.air import Air
from simnet.sim.radio import Csma
from simnet.sim.stations import DeafStation, Job, at_once, in_turn
from tests.portions import some


class Counted(Job):
    """A frame whose arrivals are counted."""

    def __init__(self, arrivals: list[float], clock: SimpyClock, target: int, size: int) -> None:
        super().__init__((target,), [size])
        self._arrivals, self._clock = arrivals, clock

    def received(self, target: int) -> bool:
        self._arrivals.append(self._clock.now)
        return True


@pytest.mark.parametrize(("slotted", "load"), some([(False, 0.5), (True, 1.0), (False, 0.25), (True, 0.5)], 2))
def test_aloha_carries_what_abramson_and_roberts_say(slotted, load):
    measured, theory = aloha(load, slotted, seeds=4)
    assert theory == load * exp(-load if slotted else -2 * load)
    assert measured == pytest.approx(theory, rel=0.02)


def test_tdma_gives_every_station_its_own_slots():
    clock, arrivals = SimpyClock(), []
    air = Air(clock, [[1, 2], [0, 2], [0, 1]], lambda use: None)
    air.stations += [
        DeafStation(air, agent, lambda size: 0.1 * size, None, in_turn(1.0, agent, 3)) for agent in range(3)
    ]
    for sender in (2, 0, 1):
        for _ in range(2):
            air.stations[sender].offer(Counted(arrivals, clock, (sender + 1) % 3, 10))
    clock.env.run()
    assert arrivals == pytest.approx([1, 2, 3, 4, 5, 6])


def test_two_short_frames_share_a_slot_and_none_reaches_into_the_next():
    opening = in_turn(1.0, 1, 3)
    assert (opening(0.0, 0.4), opening(1.4, 0.4), opening(1.8, 0.4)) == (1.0, 1.4, 4.0)


def test_a_duty_cycle_of_a_tenth_lets_a_station_speak_a_tenth_of_the_time():
    clock, arrivals = SimpyClock(), []
    air = Air(clock, [[1], [0]], lambda use: None)
    air.stations += [DeafStation(air, agent, float, None, at_once, 0.1) for agent in range(2)]
    for _ in range(3):
        air.stations[0].offer(Counted(arrivals, clock, 1, 2))
    clock.env.run()
    assert arrivals == pytest.approx([2, 22, 42])


def bianchi(stations: int, rules, data: float) -> float:
    """Share of the time in which payload is sent successfully at saturation (Bianchi 2000, equations 7, 9, 13)."""
    window, stages = rules.smallest + 1, 6

    def attempts(p: float) -> float:
        return 2 * (1 - 2 * p) / ((1 - 2 * p) * (window + 1) + p * window * (1 - (2 * p) ** stages))

    p = brentq(lambda p: p - 1 + (1 - attempts(p)) ** (stations - 1), 1e-6, 0.499)
    tau = attempts(p)
    some = 1 - (1 - tau) ** stations
    success = stations * tau * (1 - tau) ** (stations - 1)
    good = data + rules.sifs + rules.acknowledgement + rules.difs
    bad = data + rules.eifs
    return success * 8 * PACKET / 6e6 / ((1 - some) * rules.slot + success * good + (some - success) * bad)


@pytest.mark.parametrize("stations", [5, 10, 20])
def test_a_saturated_cell_carries_what_bianchi_says(stations):
    channel = Csma(kind="csma")
    cell = Cell(stations, 1, channel)
    for sender in range(stations):
        for _ in range(3000):
            cell.offer(sender, ((sender + 1) % stations,), acknowledged=True)
    until = 6.0
    cell.clock.env.run(until=until)
    measured = cell.delivered * 8 * PACKET / 6e6 / until
    assert measured == pytest.approx(bianchi(stations, channel.rules(), channel.seconds(PACKET + 36)), rel=0.05)


def test_a_round_of_ten_stations_takes_as_long_as_in_ns3():
    unicast, broadcast = (play_round(10, unicast=each, rounds=40) for each in (True, False))
    assert unicast.seconds == pytest.approx(0.154, rel=0.15)
    assert unicast.delivered > 0.99
    assert broadcast.delivered == pytest.approx(0.645, abs=0.05)


@pytest.mark.parametrize(("apart", "arrive"), [(3e-6, 0), (5e-6, 2)])
def test_what_began_a_moment_ago_is_not_noticed_yet_and_two_frames_collide(apart, arrive):
    cell = Cell(3, 1, Csma(kind="csma", sensing=4e-6))
    cell.offer(0, (2,), acknowledged=False)
    cell.clock.at(apart, lambda: cell.offer(1, (2,), acknowledged=False))
    cell.clock.env.run()
    assert cell.delivered == arrive


def test_a_lone_station_sends_at_once_and_again_after_its_backoff():
    cell = Cell(2, 1, Csma(kind="csma"))
    cell.offer(0, (1,), acknowledged=True)
    cell.clock.env.run()
    assert cell.last == pytest.approx(Csma(kind="csma").seconds(PACKET + 36))
