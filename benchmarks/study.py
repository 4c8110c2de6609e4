"""What workers and executors cost: one study of 200 small runs, done three ways.

    python -m benchmarks.study

One worker, two workers, and two workers of a local Dask cluster. Each is the command `simnet sweep` in a process of its
own with a fresh folder, timed from its start to its end. The two executors are timed in turn, several times: seconds
vary by a tenth from one minute to the next, the ratio of neighbours less, and the median of the ratios least.
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
from simnet.study.results import StudyResult

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
SWEEP = [sys.executable, "-c", "from simnet.cli import main; main()", "sweep", "study.toml"]


def timed(*options: str) -> tuple[float, pl.DataFrame]:
    """Wall seconds of the whole command, and what it found."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "study.toml").write_text(tomli_w.dumps(STUDY), encoding="utf-8")
        started = perf_counter()
        subprocess.run([*SWEEP, *options, "--out", "."], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        seconds = perf_counter() - started
        return seconds, StudyResult.in_memory(Path(folder, "two-hundred")).runs.drop("wall")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=3, help="how often the pool and Dask are timed in turn")
    options = parser.parse_args()
    alone, expected = timed("--workers", "1")
    pool, dask = [], []
    for _ in range(options.pairs):
        for seconds, where in ((pool, []), (dask, ["--cluster", "local"])):
            took, found = timed("--workers", "2", *where)
            assert found.equals(expected), "results depend on where the runs are done"
            seconds.append(took)
    quotients = [over / under for over, under in zip(dask, pool, strict=True)]
    print("Dask over the pool, pair by pair:", *(f"{quotient:.2f}" for quotient in quotients))
    print("load:", *(f"{load:.1f}" for load in os.getloadavg()))
    publish(
        "study",
        {
            "runs": expected.height,
            "seconds": {"one worker": alone, "two workers": median(pool), "two Dask workers": median(dask)},
            "pairs": quotients,
            "ratios": {
                "two workers over one (goal: at least 1.7)": alone / median(pool),
                "Dask over the pool (goal: at most 1.15)": median(quotients),
            },
        },
    )


if __name__ == "__main__":
    main()
