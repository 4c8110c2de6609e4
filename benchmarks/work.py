"""How much work a small fixed run is, in counts that do not depend on the machine: the guard against getting slower.

    python -m benchmarks.work             compare with benchmarks/work.json
    python -m benchmarks.work --refresh   write the counts of now into it

A count that rises by more than a tenth is a regression. One that falls is good news: refresh, so that the guard stays
tight. Counts:

    events         what the run puts on its record
    messages       what it sends
    gradients      passes over the data by all solvers
    calls          Python functions of simnet that are called, set-up not included
    steps          lines of simnet that are executed, set-up not included
    log bytes      lines of the log before compression
    peak KiB       the most memory that the run holds at once, set-up not included

Calls and lines are those of simnet's own functions, comprehensions aside: so they differ little between versions of
Python.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import simnet
from simnet import Scenario
from simnet.build import World, build
from simnet.record import events
from simnet.record.bus import Bus
from simnet.record.log import read
from simnet.record.log_writer import LogWriter
from simnet.record.metrics import Metrics
from simnet.simulate import play

STORED = Path(__file__).with_name("work.json")
TOLERANCE = 0.1
HOME = os.path.dirname(simnet.__file__) + os.sep

SCENARIO = {
    "name": "a fixed amount of work",
    "seed": 1,
    "rounds": 20,
    "data": {"source": "synthetic", "rows": 2000, "train": 1600, "features": 10},
    "topology": {"kind": "regular", "agents": 16, "degree": 4},
    "algorithm": {"name": "ipp-admm", "eta": 0.05, "max_releases": 10},
    "compute": {"time": 0.02},
    "network": {
        "pacing": {"kind": "deadline", "period": 0.2},
        "link": {
            "latency": {"kind": "lognormal", "median": 0.04, "sigma": 0.5},
            "bandwidth": "10 Mbit/s",
            "queue": 64,
            "loss": 0.05,
        },
    },
}


def count() -> dict[str, int]:
    """All counts of the fixed run."""
    built = build(Scenario.of(SCENARIO))
    raw, metrics = once(built)  # also makes everything that is made once per process
    summary = metrics.summary("", None)
    gradients = sum(event.gradients for _, _, event in read(raw) if isinstance(event, events.SolveFinished))
    calls, steps = traced(lambda: once(built))
    return {
        "events": summary["time"]["events"],
        "messages": summary["communication"]["messages"],
        "gradients": gradients,
        "calls": calls,
        "steps": steps,
        "log bytes": sum(len(line) for line in _lines(raw)),
        "peak KiB": peak(lambda: once(built)) // 1024,
    }


def once(built: World) -> tuple[bytes, Metrics]:
    """The run with its log and metrics, all in memory."""
    sink, metrics = io.BytesIO(), Metrics()
    writer = LogWriter(sink)
    play(built, Bus(writer, metrics))
    writer.close()
    return sink.getvalue(), metrics


def _lines(raw: bytes) -> list[bytes]:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj().decompress(raw).splitlines(keepends=True)


def traced(action: Callable[[], object]) -> tuple[int, int]:
    """How many functions of simnet an action calls, and how many of their lines it executes."""
    calls = steps = 0
    ours: dict[CodeType, bool] = {}

    def on_line(_frame: FrameType, what: str, _argument: Any) -> Any:
        nonlocal steps
        steps += what == "line"
        return on_line

    def on_call(frame: FrameType, _what: str, _argument: Any) -> Any:
        nonlocal calls
        code = frame.f_code
        if code not in ours:
            # Comprehensions are functions of their own up to Python 3.11 and not any more from 3.12 on.
            ours[code] = code.co_filename.startswith(HOME) and not code.co_name.startswith("<")
        if not ours[code]:
            return None
        calls += 1
        return on_line

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        action()
    finally:
        sys.settrace(before)
    return calls, steps


def peak(action: Callable[[], object]) -> int:
    """The most bytes that an action holds at once."""
    gc.collect()
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def judge(found: dict[str, int], stored: dict[str, int]) -> list[str]:
    """Which counts have risen too much, in words."""
    return [
        f"{name}: {value:,} where {stored[name]:,} did: more than a tenth more work"
        for name, value in found.items()
        if value > stored[name] * (1 + TOLERANCE)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--refresh", action="store_true")
    found = count()
    if parser.parse_args().refresh:
        STORED.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    for name, value in found.items():
        print(f"{name:>10} {value:>12,} {value / stored[name]:8.3f} of what is stored")
    if complaints := judge(found, stored):
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    main()
