"""What workers and executors cost: one study of 200 small runs, done three ways.

    python -m benchmarks.study

One worker, two workers, and two workers of a local Dask cluster. Each is the command `simnet sweep` in a process of its
own with a fresh folder, timed from its start to its end. The three are timed in turn, several times: seconds vary by
a tenth from one minute to the next, the ratio of neighbours less, and the median of the ratios least.
The machine must be quiet: on a busy one two workers share what one had.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import polars as pl
import tomli_w

from benchmarks.report import publish
from simnet.studies.results import StudyResult

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
WAYS = {
    "one worker": ["--workers", "1"],
    "two workers": ["--workers", "2"],
    "two Dask workers": ["--workers", "2", "--cluster", "local"],
}
SWEEP = [sys.executable, "-c", "from simnet.cli import main; main()", "sweep", "study.toml"]


def timed(*options: str) -> tuple[float, pl.DataFrame]:
    """Wall seconds of the whole command, and what it found."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "study.toml").write_text(tomli_w.dumps(STUDY), encoding="utf-8")
        started = perf_counter()
        subprocess.run([*SWEEP, *options, "--out", "."], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        seconds = perf_counter() - started
        return seconds, StudyResult.load(Path(folder, "two-hundred")).runs.drop("wall")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3, help="how often the three are timed in turn")
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    tables = []
    for _ in range(options.turns):
        for name, way in WAYS.items():
            took, found = timed(*way)
            seconds[name].append(took)
            tables.append(found)
    assert all(table.equals(tables[0]) for table in tables), "results depend on where the runs are done"
    alone, pool, dask = seconds.values()
    gains = [over / under for over, under in zip(alone, pool, strict=True)]
    prices = [over / under for over, under in zip(dask, pool, strict=True)]
    print("one worker over two, turn by turn:", *(f"{gain:.2f}" for gain in gains))
    print("Dask over the pool, turn by turn:", *(f"{price:.2f}" for price in prices))
    print("load:", *(f"{load:.1f}" for load in os.getloadavg()))
    publish(
        "study",
        {
            "runs": tables[0].height,
            "seconds": {name: median(each) for name, each in seconds.items()},
            "turns": {"one worker over two": gains, "Dask over the pool": prices},
            "ratios": {
                "one worker's time over that of two (goal: at least 1.7)": median(gains),
                "Dask over the pool (goal: at most 1.15)": median(prices),
            },
        },
    )


if __name__ == "__main__":
    main()
