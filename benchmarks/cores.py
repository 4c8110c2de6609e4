"""What a second core buys: one run with one worker and with two, side by side.

    python -m benchmarks.cores

Wall-clock seconds of simulating, log and metrics included; what loading the data takes counts for neither. The two take
turns, and for each round the least of several times counts: on a busy machine that is the time of a round that met two
free cores. The runs must give the same digest.

Beside it stands the most that two cores could give if nothing but local solves, measurements and evaluations were
shared, at no cost: these take a share p of the CPU time of one worker, and the bound is 1/(1 − p/2).
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, sleep, thread_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.overhead import QUICKSTART
from benchmarks.report import publish
from simnet import Scenario
from simnet.build import World, build
from simnet.learning.evaluation import Evaluator
from simnet.learning.objective import Measurement
from simnet.learning.solver import Solver
from simnet.record.bus import Bus
from simnet.record.events import EvaluationDone, Event
from simnet.record.log import LogWriter
from simnet.record.metrics import Metrics
from simnet.simulate import play

LARGE = {"source": "synthetic", "rows": 110_000, "train": 100_000, "features": 50}
SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "quickstart, 100 rounds": ({"rounds": 100}, " (goal: at least 1.6)"),
    "quickstart, 30 rounds": ({}, ""),
    "2 agents, 17,500 rows each": ({"topology": {"kind": "complete", "agents": 2}}, ""),
    "20 agents, 1,750 rows each": ({"topology.agents": 20}, ""),
    "5 agents, 20,000 dense rows each": ({"data": LARGE}, " (goal: at least 1.6)"),
}
"""Changes of the quickstart, and what is asked of it."""


def timed(built: World, workers: int) -> tuple[np.ndarray, str]:
    """Seconds of each round, and the digest."""
    stamps: list[float] = []

    def note(seq: int, t: float, event: Event) -> None:
        if isinstance(event, EvaluationDone):
            stamps.append(perf_counter())

    log = LogWriter(io.BytesIO())
    sleep(0.02)  # who has slept goes first on a busy machine
    stamps.append(perf_counter())
    with threadpool_limits(1):
        play(built, Bus(log, Metrics(), note), workers=workers)
    log.close()
    stamps.append(perf_counter())
    return np.diff(stamps), log.digest


@contextmanager
def clocked() -> Iterator[list[float]]:
    """CPU seconds of what could be shared, one entry each."""
    found: list[float] = []
    sites = [(Solver, "solve"), (Measurement, "answer"), (Evaluator, "_measure")]
    honest = [getattr(owner, name) for owner, name in sites]

    def timer(function: Any) -> Any:
        def clock(*arguments: Any) -> Any:
            began, inside = thread_time(), len(found)
            answer = function(*arguments)
            del found[inside:]  # what is inside is part of it
            found.append(thread_time() - began)
            return answer

        return clock

    for (owner, name), function in zip(sites, honest, strict=True):
        setattr(owner, name, timer(function))
    try:
        yield found
    finally:
        for (owner, name), function in zip(sites, honest, strict=True):
            setattr(owner, name, function)


def bound(built: World) -> float:
    """The most that two cores could give."""
    with clocked() as shared:
        began = thread_time()
        timed(built, 1)
        whole = thread_time() - began
    return 1.0 / (1.0 - sum(shared) / whole / 2.0)


def measure(built: World, repeats: int) -> dict[str, float]:
    """Milliseconds with one worker and with two, and what could be at most."""
    times: dict[int, list[np.ndarray]] = {1: [], 2: []}
    digests = set()
    for _ in range(repeats):
        for workers, found in times.items():
            seconds, digest = timed(built, workers)
            found.append(seconds)
            digests.add(digest)
    assert len(digests) == 1, "the result depends on the number of workers"
    one, two = (1e3 * float(np.min(found, axis=0).sum()) for found in times.values())
    return {"one worker": one, "two workers": two, "at most": float(np.median([bound(built) for _ in range(5)]))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    scenario = Scenario.load(QUICKSTART)
    runs = {name: measure(build(scenario.with_(**changes)), options.repeats) for name, (changes, _) in SHAPES.items()}
    for name, found in runs.items():
        print(f"{name}: {found['one worker']:.0f} ms, with two workers {found['two workers']:.0f} ms")
    ratios = {name + goal: runs[name]["one worker"] / runs[name]["two workers"] for name, (_, goal) in SHAPES.items()}
    publish("cores", {"runs": runs, "ratios": ratios})


if __name__ == "__main__":
    main()
