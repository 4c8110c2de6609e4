"""How long an audit takes: 2,000 runs a side of a small problem, network simulation included.

    python benchmarks/audit.py
    python benchmarks/audit.py scenarios/audit/*.toml

Prints one line a file: the verdict, the figures behind it, seconds of wall clock and milliseconds a run, on two
processes with one BLAS thread each. The start of the processes counts.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

from simnet.audit import audit, load_audit

HONEST = Path(__file__).parents[1] / "scenarios" / "audit" / "honest.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=[HONEST])
    parser.add_argument("--runs", type=int, help="runs a side; default: as the file says")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    print("| scenario | runs a side | ε promised | lower bound | Gaussian shape | verdict | seconds | ms a run |")
    print("|---|---:|---:|---:|---:|---|---:|---:|")
    for path in options.files:
        scenario, plan = load_audit(path, {} if options.runs is None else {"audit.runs": options.runs})
        started = perf_counter()
        found = audit(scenario, plan, workers=options.workers)
        seconds = perf_counter() - started
        shape = "–" if found.gaussian is None else f"{found.gaussian:.2f}".replace("inf", "∞")
        print(
            f"| {path.stem} | {plan.runs:,} | {found.promise.epsilon:.2f} | {found.bound.epsilon:.2f} | {shape} "
            f"| {found.verdict} | {seconds:.0f} | {1e3 * seconds / (2 * plan.runs):.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
