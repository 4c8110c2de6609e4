"""What workers and executors cost: one study of 200 small runs, done three ways.

    python -m benchmarks.study

One worker, two workers, and two workers of a local Dask cluster; each into a fresh folder, from the start of the
first process to the last file. Prints wall seconds, the speed-up of two workers over one, and Dask against the pool.
The machine must be quiet: on a busy one two workers share what one had.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.report import publish
from simnet.study.results import StudyResult
from simnet.study.sweep import agenda, executor, read, sweep

STUDY = {
    "name": "two hundred",
    "replicates": 20,
    "scenario": {
        "rounds": 30,
        "data": {"source": "synthetic", "rows": 20_000, "features": 30},
        "topology": {"kind": "ring", "agents": 8},
        "algorithm": {"name": "admm"},
        "network": {"pacing": {"kind": "deadline", "period": "200 ms"}, "link": {"latency": "30 ms", "loss": 0.1}},
    },
    "grid": {"algorithm.eta": [0.005, 0.01, 0.02, 0.05, 0.1], "network.codec": ["float64", "float32"]},
}


def timed(workers: int, cluster: str | None = None) -> tuple[float, StudyResult]:
    """Wall seconds of a whole sweep, and what it found."""
    with tempfile.TemporaryDirectory() as folder:
        planned = agenda(read(STUDY), Path(folder))
        started = perf_counter()
        sweep(planned, executor(workers, cluster))
        return perf_counter() - started, StudyResult.in_memory(planned.folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=1, help="take the best of so many")
    options = parser.parse_args()
    ways = {"one worker": (1, None), "two workers": (2, None), "two Dask workers": (2, "local")}
    found = {name: [timed(*way) for _ in range(options.repeat)] for name, way in ways.items()}
    seconds = {name: min(each[0] for each in timings) for name, timings in found.items()}
    tables = [each[0][1].runs.drop("wall") for each in found.values()]
    report = {
        "runs": tables[0].height,
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "two workers over one": round(seconds["one worker"] / seconds["two workers"], 2),
        "Dask over the pool": round(seconds["two Dask workers"] / seconds["two workers"], 2),
        "same tables": all(table.equals(tables[0]) for table in tables),
        "load": [round(value, 1) for value in os.getloadavg()],
    }
    print(json.dumps(report, indent=2))
    ratios = {name: report[name] for name in ("two workers over one", "Dask over the pool")}
    publish("study", {"runs": report["runs"], "seconds": report["seconds"], "ratios": ratios})


if __name__ == "__main__":
    main()
