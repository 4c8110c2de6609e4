"""Where the time goes: samples of running programs, by the part of simnet that they were in.

Every millisecond of CPU time the innermost function of simnet on the stack is noted, with all that it calls outside of
simnet: what numpy, SimPy, zstd or the heap do counts for who asked for it.

    python -m benchmarks.profile
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from types import FrameType

from threadpoolctl import threadpool_limits

import simnet
from benchmarks import kernel, scale
from benchmarks.overhead import QUICKSTART
from benchmarks.report import publish
from simnet import Scenario, simulate
from simnet.build import build
from simnet.learning import task
from simnet.record.bus import Bus
from simnet.record.metrics import Metrics

HOME = os.path.dirname(simnet.__file__) + os.sep
EVERY = 0.001

PARTS = {
    "sim/": "engine: loop, send, deliver",
    "network/frame": "frames and codecs",
    "network/codec": "frames and codecs",
    "network/": "links: delay, loss, queue",
    "record/log": "log",
    "record/lines": "log",
    "record/events": "log",
    "record/": "bus and metrics",
    "learning/evaluation": "evaluation",
    "learning/": "local solves",
    "privacy/": "privacy: noise and ledger",
    "methods/": "methods and agents",
    "agent/": "methods and agents",
    "streams": "streams of random numbers",
}
"""The first that a file's name begins with counts."""


def sampled(action: Callable[[], object], repeats: int) -> dict[str, float]:
    """The share of each part."""
    counts: Counter[str] = Counter()

    def note(_signal: int, frame: FrameType | None) -> None:
        while frame is not None and not frame.f_code.co_filename.startswith(HOME):
            frame = frame.f_back
        place = "" if frame is None else frame.f_code.co_filename.removeprefix(HOME)
        counts[next((part for start, part in PARTS.items() if place.startswith(start)), "everything else")] += 1

    action()
    before = signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    try:
        for _ in range(repeats):
            action()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return {part: count / counts.total() for part, count in counts.most_common()}


def main() -> None:
    built = build(Scenario.load(QUICKSTART))

    def quickstart() -> None:
        with tempfile.TemporaryFile() as sink:
            simulate.record(built.scenario, sink, lambda bus: simulate.play(built, bus))

    def many_agents() -> None:
        simulate.play(crowd, Bus(Metrics()))

    task.MANY = sys.maxsize  # the engine's time, not that of a crowd in columns
    crowd = build(scale.scenario(1_000))
    with threadpool_limits(1):
        found = {
            "quickstart": sampled(quickstart, 10),
            "1,000 agents": sampled(many_agents, 2),
            "workload K, counters only": sampled(kernel.simnet, 2),
            "workload K, full log": sampled(kernel.logged, 2),
        }
    for name, shares in found.items():
        print(name)
        for part, share in shares.items():
            print(f"{100 * share:6.1f} %  {part}")
    publish("profile", {"shares": found})


if __name__ == "__main__":
    main()
