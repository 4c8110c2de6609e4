"""What ns-3 measures in the settings of docs/validation.md, printed as JSON; `make validate` runs it.

    .venv-validate/bin/python -m benchmarks.ns3_reference [lines] [cells] [transfers]

It runs where the wheel `ns3` is installed, which needs an environment of its own: the wheel brings a package `ns`, and
so does ns.py. Nothing here needs simnet. Every setting is in this file or in ns3_reference.cc beside it.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

SOURCE = Path(__file__).with_name("ns3_reference.cc")

PPP_BYTES = 2
"""What a point-to-point device of ns-3 adds to each packet."""
FULL_PACKET = 1500


class Line(NamedTuple):
    """A point-to-point line with a drop-tail queue, and what is handed to it."""

    name: str
    bandwidth: int
    """bit/s"""
    delay: float
    """seconds"""
    queue: int
    """packets that may wait behind the one on the line"""
    load: float
    """bits handed over per bit that the line can carry"""
    burst: int = 1
    """packets that are handed over at one instant"""
    whole: bool = False
    """simnet is handed a burst as one message, which its MTU cuts into the same packets"""
    packets: int = 5000

    def offers(self) -> tuple[list[int], list[int]]:
        """When each packet is handed over, in nanoseconds, and its bytes: Poisson bursts of 64 to 1500 bytes each.

        All packets of a whole message but its last one are full.
        """
        chance = random.Random(self.name)
        sizes = [chance.randint(64, FULL_PACKET) for _ in range(self.packets)]
        if self.whole:
            sizes = [size if (number + 1) % self.burst == 0 else FULL_PACKET for number, size in enumerate(sizes)]
        pause = (fmean(sizes) + PPP_BYTES) * 8 * self.burst / self.bandwidth / self.load
        times, now = [], 0.0
        for number in range(self.packets):
            if number % self.burst == 0:
                now += chance.expovariate(1 / pause)
            times.append(round(now * 1e9))
        return times, sizes


LINES = (
    Line("10 Mbit/s, load 0.8", 10_000_000, 0.02, 8, 0.8),
    Line("10 Mbit/s, load 1.5", 10_000_000, 0.02, 20, 1.5),
    Line("54 Mbit/s, load 0.9", 54_000_000, 0.001, 10, 0.9),
    Line("1 Mbit/s, load 0.95, queue of one", 1_000_000, 0.3, 1, 0.95),
    Line("100 Mbit/s, bursts of 8", 100_000_000, 0.005, 16, 0.8, burst=8),
    Line("1 Gbit/s, bursts of 40", 1_000_000_000, 0.0001, 30, 0.6, burst=40),
    Line("10 Mbit/s, messages of 10 packets", 10_000_000, 0.02, 25, 0.8, burst=10, whole=True),
)

STATIONS = (5, 10, 20)
PACKET_BYTES = 894
CELL_RUNS = {False: 200, True: 1000}
"""By whether the round is broadcast, where every run differs a lot from the next."""
CAPTURE = "broadcast with capture"
ROUNDS = {
    "unicast": (False, 0.0, True),
    "broadcast": (True, 0.001, True),
    "broadcast at once": (True, 0.0, True),
    CAPTURE: (True, 0.001, False),
}
"""Whether a round is broadcast, the seconds within which the stations start, and whether all are heard equally well."""

TRANSFER_RUNS = {10_000: 2000, 100_000: 1000, 1_000_000: 400}
"""How often a message of so many bytes is sent: a small one rarely loses anything, and then waits a second."""
LOSSES = (0.0, 0.005, 0.02)


def simulations() -> Any:
    """The C++ functions of ns3_reference.cc, compiled."""
    from ns import ns

    if not ns.cppyy.cppdef(SOURCE.read_text(encoding="utf-8")):
        sys.exit(f"{SOURCE.name}: ns-3 cannot compile it")
    return ns.cppyy.gbl.reference


def averaged(run: Callable[[int], Sequence[float]], names: tuple[str, ...], runs: int) -> dict[str, float]:
    """Mean and standard error of each number that a run gives, over runs of ns-3 numbered from 1."""
    found: dict[str, float] = {"runs": runs}
    for name, values in zip(names, zip(*(run(number) for number in range(1, runs + 1)), strict=True), strict=True):
        found |= {name: fmean(values), f"{name}_error": stdev(values) / runs**0.5}
    return found


def lines(ns3: Any) -> list[dict[str, Any]]:
    found = []
    for line in LINES:
        arrivals = ns3.line(*line.offers(), line.bandwidth, round(line.delay * 1e9), line.queue)
        found.append({"name": line.name, "arrivals": list(arrivals)})
    return found


def cells(ns3: Any) -> list[dict[str, Any]]:
    return [
        {"round": name, "stations": stations}
        | averaged(
            lambda run, stations=stations, setting=setting: ns3.cell(stations, *setting, PACKET_BYTES, run),
            ("delivered", "seconds"),
            CELL_RUNS[setting[0]],
        )
        for name, setting in ROUNDS.items()
        for stations in STATIONS
    ]


def transfers(ns3: Any) -> list[dict[str, Any]]:
    return [
        {"size": size, "loss": loss, "ack_loss": ack_loss}
        | averaged(
            lambda run, size=size, loss=loss, ack_loss=ack_loss: ns3.transfer(size, loss, ack_loss, run),
            ("wire_bytes_per_byte", "seconds"),
            runs,
        )
        for loss, ack_loss in dict.fromkeys((loss, back) for loss in LOSSES for back in (0.0, loss))
        for size, runs in TRANSFER_RUNS.items()
    ]


TABLES = {"lines": lines, "cells": cells, "transfers": transfers}


def main() -> None:
    """Print the tables that the command line names."""
    ns3 = simulations()
    print(json.dumps({"ns3": version("ns3")} | {name: TABLES[name](ns3) for name in sys.argv[1:] or TABLES}))


if __name__ == "__main__":
    main()
