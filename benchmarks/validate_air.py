"""How a radio cell fares: delivered share and time of a round, to be compared with ns-3.

`python -m benchmarks.validate_air` lets 5, 10 and 20 stations of one 802.11a cell (6 Mbit/s) each send one packet of
894 bytes per round, to every other station in turn (unicast) or to all at once (broadcast), starting within 1 ms.
`aloha` measures the throughput of pure and slotted ALOHA, to be compared with its formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np
import simpy

from simnet.sim.air import Air
from simnet.sim.radio import Aloha, ChannelKind, Csma, SlottedAloha
from simnet.sim.stations import Job
from simnet.streams import Streams

PACKET = 894
ALOHA_STATIONS = 300
ALOHA_FRAMES = 20_000
"""Frames that are offered per seed."""


class SimpyClock:
    """The air's clock in an environment of SimPy."""

    def __init__(self) -> None:
        self.env = simpy.Environment()

    @property
    def now(self) -> float:
        return float(self.env.now)

    def at(self, time: float, then: object) -> None:
        event = self.env.event()
        event._ok, event._value = True, None
        event.callbacks.append(lambda _: then())  # type: ignore[operator]
        self.env.schedule(event, delay=max(0.0, time - self.env.now))


class _Packet(Job):
    def __init__(self, cell: Cell, targets: tuple[int, ...], size: int, *, acknowledged: bool) -> None:
        super().__init__(targets, [size], acknowledged=acknowledged)
        self._cell, self._got = cell, False

    def received(self, target: int) -> bool:
        if not self._got:
            self._cell.delivered += 1
            self._cell.last = self._cell.clock.now
        self._got = self.acknowledged
        return True


class Cell:
    """Stations that all hear each other."""

    def __init__(self, stations: int, seed: int, channel: Csma) -> None:
        self.clock = SimpyClock()
        self.delivered, self.last = 0, 0.0
        self._channel = channel
        hears = [[other for other in range(stations) if other != me] for me in range(stations)]
        self._air = Air(self.clock, hears, lambda use: None)
        streams = Streams(seed)
        self._air.stations += [channel.station(self._air, agent, stations, streams) for agent in range(stations)]

    def offer(self, sender: int, targets: tuple[int, ...], *, acknowledged: bool) -> None:
        """Give a station a packet to send."""
        size = PACKET + self._channel.header
        self._air.stations[sender].offer(_Packet(self, targets, size, acknowledged=acknowledged))


@dataclass(frozen=True)
class Round:
    """What became of a round, the mean of many: share of the packets that arrived, and when the last one did."""

    delivered: float
    seconds: float


def play_round(stations: int, *, unicast: bool, rounds: int = 200, within: float = 1e-3, seed: int = 1) -> Round:
    """Let every station send to all others once, beginning at a time of its own within `within` seconds."""
    shares, times = [], []
    rng = np.random.default_rng(seed)
    for number in range(rounds):
        cell = Cell(stations, seed * 1000003 + number, Csma(kind="csma"))
        for sender, start in enumerate(rng.uniform(0, within, stations)):
            others = tuple(other for other in range(stations) if other != sender)
            groups = [(other,) for other in others] if unicast else [others]

            def begin(sender: int = sender, groups: list[tuple[int, ...]] = groups) -> None:
                for group in groups:
                    cell.offer(sender, group, acknowledged=unicast)  # noqa: B023

            cell.clock.at(start, begin)
        cell.clock.env.run()
        shares.append(cell.delivered / (stations * (stations - 1)))
        times.append(cell.last)
    return Round(float(np.mean(shares)), float(np.mean(times)))


class _Counted(Job):
    """A frame for the sink, which counts what it receives."""

    def __init__(self, sink: Sink, size: int) -> None:
        super().__init__((ALOHA_STATIONS,), [size])
        self._sink = sink

    def received(self, target: int) -> bool:
        self._sink.received += 1
        return True


class Sink:
    """A station that hears all others, which do not hear each other and send by the rules of a channel."""

    def __init__(self, channel: ChannelKind) -> None:
        self.clock, self.received = SimpyClock(), 0
        self._air = Air(self.clock, [[ALOHA_STATIONS]] * ALOHA_STATIONS + [[]], lambda use: None)
        everybody = range(ALOHA_STATIONS + 1)
        self._air.stations += [channel.station(self._air, agent, len(everybody), Streams(1)) for agent in everybody]

    def offer(self, time: float, sender: int, size: int) -> None:
        """Give a station a frame to send, later."""
        self.clock.at(time, lambda: self._air.stations[sender].offer(_Counted(self, size)))


def aloha(load: float, slotted: bool, seeds: int) -> tuple[float, float]:
    """Frames received per frame time, measured and by theory, where `load` frames per frame time are offered.

    The frames are a Poisson process and the stations take turns, so a station's next frame comes when the one before
    is long over. That is the infinite population of the formulas.
    """
    size, rate = 125, 1e6
    kind = (
        SlottedAloha(kind="slotted-aloha", rate=rate, slot=8 * size / rate)
        if slotted
        else Aloha(kind="aloha", rate=rate)
    )
    frame, received, seconds = kind.seconds(size), 0, 0.0
    for seed in range(seeds):
        sink = Sink(kind)
        times = np.cumsum(np.random.default_rng(seed).exponential(frame / load, ALOHA_FRAMES)).tolist()
        for number, time in enumerate(times):
            sink.offer(time, number % ALOHA_STATIONS, size)
        sink.clock.env.run()
        received, seconds = received + sink.received, seconds + times[-1]
    return received * frame / seconds, load * exp(-load if slotted else -2 * load)


def main() -> None:
    """Print the table."""
    print("stations  access     delivered  time")
    for stations in (5, 10, 20):
        for unicast in (True, False):
            found = play_round(stations, unicast=unicast)
            how = "unicast" if unicast else "broadcast"
            print(f"{stations:8}  {how:9}  {100 * found.delivered:7.1f} %  {1e3 * found.seconds:6.1f} ms")


if __name__ == "__main__":
    main()
