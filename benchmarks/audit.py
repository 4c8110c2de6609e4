"""What audits find and how long they take: 2,000 runs per side of a small problem, network simulation included.

    python benchmarks/audit.py
    python benchmarks/audit.py scenarios/audit/*.toml --into docs/audit.md

Prints one line per file: what was promised, what was found, seconds of wall clock and milliseconds per run, on two
processes with one BLAS thread each. Their start counts. `--into` also puts the findings into the page's table.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

from simnet.audit import AuditResult, audit, load_audit

HONEST = Path(__file__).parents[1] / "scenarios" / "audit" / "honest.toml"
HEAD = "| scenario | method | runs per side | δ | ε promised | lower bound | share | Gaussian shape | verdict |"
RULE = "|---|---|---:|---:|---:|---:|---:|---:|---|"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=[HONEST])
    parser.add_argument("--runs", type=int, help="runs per side; default: as the file says")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--into", type=Path, help="a page whose table gets a row for each file")
    options = parser.parse_args()
    print(f"{HEAD} seconds | ms per run |\n{RULE}---:|---:|")
    for path in options.files:
        scenario, plan = load_audit(path, {} if options.runs is None else {"audit.runs": options.runs})
        started = perf_counter()
        found = row(path.stem, audit(scenario, plan, workers=options.workers))
        seconds = perf_counter() - started
        print(f"{found} {seconds:.0f} | {1e3 * seconds / (2 * plan.runs):.1f} |", flush=True)
        if options.into is not None:
            options.into.write_text(with_row(options.into.read_text(encoding="utf-8"), found), encoding="utf-8")


def row(name: str, found: AuditResult) -> str:
    """One line of the table; the share is that of the promise which the lower bound reaches."""
    scenario, promised, bound = found.scenario, found.promise.epsilon, found.bound.epsilon
    shape = "–" if found.gaussian is None else f"{found.gaussian:.2f}".replace("inf", "∞")
    return (
        f"| {name} | {scenario.algorithm.name} | {found.plan.runs:,} | {scenario.privacy.delta:g} | {promised:.2f} "
        f"| {bound:.2f} | {bound / promised:.2f} | {shape} | {found.verdict.partition(':')[0]} |"
    )


def with_row(page: str, new: str) -> str:
    """The page with a row of one of its tables replaced, or added at the end of the last."""
    lines, name, end = page.split("\n"), new.split("|")[1], 0
    for first in (place + 1 for place, line in enumerate(lines) if line == RULE):
        end = next(place for place in range(first, len(lines)) if not lines[place].startswith("|"))
        for place in range(first, end):
            if lines[place].split("|")[1] == name:
                return "\n".join([*lines[:place], new, *lines[place + 1 :]])
    return "\n".join([*lines[:end], new, *lines[end:]])


if __name__ == "__main__":
    main()
