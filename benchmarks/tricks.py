"""What each thing that is done for speed alone buys: CPU time of a run without it over that of a run with it.

    python -m benchmarks.tricks

benchmarks/scale.toml with counters and without a log. The two runs of a pair are processes that run at the same time,
each on a core of its own, so that both meet the same minutes of the machine; the median of the ratios counts. Building
the world counts as well.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from statistics import median
from time import process_time

import simpy
from threadpoolctl import threadpool_limits

from benchmarks.report import publish
from benchmarks.scale import scenario
from simnet.build import build
from simnet.learning import task
from simnet.network import draws
from simnet.record.bus import Bus
from simnet.record.metrics import Metrics
from simnet.sim import engine, solve_batches
from simnet.sim.sim_events import Message
from simnet.simulate import play

PAIRS = 5


def without_batches() -> None:
    solve_batches.BATCH = 1


def without_blocks() -> None:
    draws.PLAIN = ((1,), 1)
    draws.LINKS_AT_ONCE = 1


def without_queue() -> None:
    engine.Environment = simpy.Environment  # type: ignore[assignment, misc]
    Message._ok = True  # type: ignore[attr-defined]


def without_pause() -> None:
    gc.disable = lambda: None


def without_columns() -> None:
    task.MANY = sys.maxsize


COLUMNS = "a crowd in columns, 1,000 agents"
TRICKS: dict[str, tuple[int, int, Callable[[], None]]] = {
    "local problems in batches, 1,000 agents": (1_000, 30, without_batches),
    "chance in blocks, 1,000 agents": (1_000, 30, without_blocks),
    "our queue instead of SimPy's heap, 1,000 agents": (1_000, 30, without_queue),
    "our queue instead of SimPy's heap, 10,000 agents": (10_000, 6, without_queue),
    "no garbage collection, 10,000 agents": (10_000, 6, without_pause),
    COLUMNS: (1_000, 30, without_columns),
}
"""Agents, rounds, and how to do without it. All but columns are tried on the engine."""


def seconds(agents: int, rounds: int) -> float:
    """CPU seconds of one run, here and now."""
    with threadpool_limits(1):
        play(build(scenario(10, rounds=2)), Bus(Metrics()))
        began = process_time()
        play(build(scenario(agents, rounds=rounds)), Bus(Metrics()))
        return process_time() - began


def gain(name: str) -> float:
    """How many times longer a run takes without the trick."""
    found = []
    for _ in range(PAIRS):
        pair = [
            subprocess.Popen([sys.executable, "-m", "benchmarks.tricks", how, name], stdout=subprocess.PIPE, text=True)
            for how in ("without", "with")
        ]
        without, with_it = (float(run.communicate()[0]) for run in pair)
        found.append(without / with_it)
    return median(found)


def main() -> None:
    if len(sys.argv) > 1:
        how, name = sys.argv[1:]
        agents, rounds, do_without = TRICKS[name]
        if name != COLUMNS:
            without_columns()
        if how == "without":
            do_without()
        print(seconds(agents, rounds))
        return
    publish("tricks", {"ratios": {name: gain(name) for name in TRICKS}})


if __name__ == "__main__":
    main()
