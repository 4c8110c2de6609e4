"""What threads can share of a run, how much shorter two of them could make it, and how much shorter they do.

    python -m benchmarks.threads

The first two are CPU seconds of a run with one thread: each request that threads would share is timed, and two threads
that cost nothing would take those of an instant one by one, whoever is free the next. The last is wall-clock time with
one thread over that with two, in turn; it is measured only while nothing else runs.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from time import perf_counter, process_time
from typing import Any, TypeVar

from benchmarks import scale
from benchmarks.overhead import QUICKSTART
from benchmarks.report import publish
from simnet import Scenario, simulate
from simnet.build import World, build
from simnet.learning.threads import Threads

REPEATS = 7
BUSY = 0.7
"""The load from which on a wall-clock time says nothing."""

Item = TypeVar("Item")
Found = TypeVar("Found")


class Stopwatch(Threads):
    """One thread that times what several would share."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = self.on_two = 0.0

    def map(self, function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        found, ends = [], [0.0, 0.0]
        for item in items:
            began = process_time()
            found.append(function(item))
            took = process_time() - began
            self.shared += took
            ends[ends.index(min(ends))] += took
        self.on_two += max(ends)
        return found


def recorded(world: World, threads: Threads) -> None:
    """A run with its log."""
    simulate.record(world.scenario, io.BytesIO(), lambda bus: simulate.play(world, bus, threads=threads))


def bound(world: World) -> tuple[float, float]:
    """The share of a run that threads share, and how many times shorter it would be on two that cost nothing."""
    found = []
    for _ in range(REPEATS):
        watch, began = Stopwatch(), process_time()
        recorded(world, watch)
        whole = process_time() - began
        found.append((whole, watch.shared / whole, whole / (whole - watch.shared + watch.on_two)))
    _, share, most = min(found)
    return share, most


def wall(world: World) -> float | None:
    """The time of one thread over that of two; None while the machine is busy."""
    if os.getloadavg()[0] > BUSY:
        return None
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(REPEATS):
        for workers in best:
            began = perf_counter()
            recorded(world, Threads(workers))
            best[workers] = min(best[workers], perf_counter() - began)
    return best[1] / best[2]


def main() -> None:
    quick = Scenario.load(QUICKSTART)
    large = {"data.train": 40_000, "topology": {"kind": "complete", "agents": 2}}
    runs = {
        "quickstart, 100 rounds": quick.with_(rounds=100),
        "pp-admm, two agents with 20,000 rows each": quick.with_method("pp-admm").with_(rounds=100, **large),
        "1,000 agents with 20 rows each": scale.scenario(1_000, rounds=5),
    }
    rows: list[dict[str, Any]] = []
    for name, scenario in runs.items():
        world = build(scenario)
        recorded(world, Threads())
        share, most = bound(world)
        rows.append({"run": name, "share": share, "bound": most, "wall": wall(world)})
        print(f"{share:6.2f} shared  {most:5.2f} at most  {rows[-1]['wall'] or 0:5.2f} measured  {name}", flush=True)
    publish("threads", {"runs": rows})


if __name__ == "__main__":
    main()
