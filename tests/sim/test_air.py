"""The channel by itself: who hears whom, half duplex, collisions, and what is told of its use."""

from __future__ import annotations

import pytest

from benchmarks.validate_air import SimpyClock
from simnet.sim.air import Air, Transmission, Use
from simnet.sim.stations import DeafStation, at_once

EVERYBODY = [[1, 2], [0, 2], [0, 1]]
IN_A_LINE = [[1], [0, 2], [1]]


class Ground:
    """Three stations; what they send is written down with where it was spoiled."""

    def __init__(self, hears: list[list[int]]) -> None:
        self.clock = SimpyClock()
        self.uses: list[Use] = []
        self.air = Air(self.clock, hears, self.uses.append)
        self.air.stations += [DeafStation(self.air, agent, float, None, at_once) for agent in range(len(hears))]
        self.spoiled: dict[int, set[int]] = {}

    def play(self, *sends: tuple[int, float, float]) -> dict[int, set[int]]:
        """Send from each station, from when to when."""
        for sender, start, end in sends:
            self.clock.at(start, lambda s=sender, seconds=end - start: self.air.begin(s, seconds, self._over))
        self.clock.env.run()
        return self.spoiled

    def _over(self, sent: Transmission) -> None:
        self.spoiled[sent.sender] = sent.spoiled


def test_two_transmissions_that_overlap_are_both_lost_where_both_are_heard():
    assert Ground(EVERYBODY).play((0, 0.0, 2.0), (1, 1.0, 3.0)) == {0: {1, 2}, 1: {0, 2}}


def test_a_transmission_that_begins_when_another_ends_is_received():
    assert Ground(EVERYBODY).play((0, 0.0, 1.0), (1, 1.0, 2.0)) == {0: set(), 1: set()}


def test_hidden_stations_collide_at_the_one_between_them():
    assert Ground(IN_A_LINE).play((0, 0.0, 2.0), (2, 1.0, 3.0)) == {0: {1}, 2: {1}}


def test_a_station_that_sends_does_not_receive():
    assert Ground(IN_A_LINE).play((0, 0.0, 2.0), (1, 1.0, 3.0)) == {0: {1}, 1: {0}}


def test_time_on_air_is_told_once_however_much_overlaps():
    ground = Ground(EVERYBODY)
    ground.play((0, 0.0, 2.0), (1, 1.0, 3.0), (2, 5.0, 6.0))
    assert [use.airtime for use in ground.uses] == [2.0, 2.0, 1.0]
    assert sum(use.busy for use in ground.uses) == pytest.approx(4.0)
    # Station 2 listens for 3 s, station 1 for 1 s before it sends, station 0 for 1 s after; then two for 1 s.
    assert sum(use.heard for use in ground.uses) == pytest.approx(3 + 1 + 1 + 2)
