"""How often liars are caught, and how often honest scenarios are: many small audits of every shipped one.

    python benchmarks/audit_power.py
    python benchmarks/audit_power.py --repeat 100 --honest 300 --into docs/audit.md

Every audit has a seed of its own, so data, graph and noise are others. Liars are audited with as many runs per side as
RUNS says, honest scenarios with 20; `--honest` is the number of honest audits in all. Audits that take thousands of
runs (IPP-ADMM's test alone) are left out. Prints one line per file; `--into` puts the lines into the page's table.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter

from simnet.audit import audit, load_audit

SCENARIOS = Path(__file__).parents[1] / "scenarios" / "audit"
RUNS = {"faint-noise": 600, "half-test-noise": 200, "half-flips": 200, "summed-formula": 200}
FEW = 20
LEFT_OUT = ("threshold-once", "redrawn-threshold")
HEAD = "| scenario | runs per side | audits | broken (mechanism) | broken (ε) | holds | inconclusive |"
RULE = "|---|---:|---:|---:|---:|---:|---:|"
VERDICTS = ("broken (mechanism)", "broken (ε)", "holds", "inconclusive")


def verdict(task: tuple[Path, int, int]) -> str:
    """Of one audit of a file, with so many runs and a seed."""
    path, runs, seed = task
    return audit(*load_audit(path, {"audit.runs": runs, "seed": seed})).verdict


def rows(repeat: int, honest: int, only: str, most: int, pool: ProcessPoolExecutor) -> Iterator[str]:
    files = [path for path in sorted(SCENARIOS.glob("*.toml")) if path.stem not in LEFT_OUT and only in path.stem]
    files = [path for path in files if RUNS.get(path.stem, FEW) <= most]
    liars = [path for path in files if load_audit(path)[1].lie is not None]
    others = [path for path in files if path not in liars]
    for path in liars + others:
        count = repeat if path in liars else honest // len(others) + (others.index(path) < honest % len(others))
        runs = RUNS.get(path.stem, FEW)
        tasks = [(path, runs, seed) for seed in range(1, count + 1)]
        found = Counter(pool.map(verdict, tasks))
        yield f"| {path.stem} | {runs} | {count} | " + " | ".join(str(found[each]) for each in VERDICTS) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=10, help="audits of each liar")
    parser.add_argument("--honest", type=int, default=60, help="honest audits in all")
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--most", type=int, default=10**9, help="leave out liars that take more runs per side")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--into", type=Path, help="a page whose table is written anew")
    options = parser.parse_args()
    started, found = perf_counter(), []
    print(f"{HEAD}\n{RULE}")
    with ProcessPoolExecutor(options.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for row in rows(options.repeat, options.honest, options.only, options.most, pool):
            print(row, flush=True)
            found.append(row)
    print(f"{perf_counter() - started:.0f} seconds on {options.workers} processes")
    if options.into is not None:
        before, _, after = options.into.read_text(encoding="utf-8").partition(f"{HEAD}\n{RULE}\n")
        rest = after[after.index("\n\n") :]
        options.into.write_text("\n".join([f"{before}{HEAD}\n{RULE}", *found]) + rest, encoding="utf-8")


if __name__ == "__main__":
    main()
