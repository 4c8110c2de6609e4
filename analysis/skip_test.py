"""Does IPP-ADMM's test know which rounds to skip? The quickstart over ten seeds, beside PP-ADMM at the same bytes.

    python -m analysis.skip_test scenarios/quickstart.toml --output docs/skip_test.csv

One row per seed, and a table of the means beside it, which docs/results.md shows.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from simnet import Scenario, run
from simnet.record.answer_scores import auc
from simnet.record.events import SvtTested
from simnet.simulate import control

SEEDS = range(1, 11)
HELD_AGAINST = {
    "best_optimum": "*optimum without privacy, at best*",
    "optimum": "*optimum without privacy, λ̂/N = 1e-4*",
    "constant": "*best constant answer*",
}


def figures(scenario: Scenario) -> tuple[dict[str, Any], list[SvtTested]]:
    """The figures of one seed, and what its tests were asked and answered."""
    tested = run(scenario)
    stopped = control(scenario, tested)
    assert stopped is not None
    assert stopped.same_bytes is not None
    assert stopped.same_time is not None
    accuracy, traffic, privacy = (tested.summary[name] for name in ("accuracy", "communication", "privacy"))
    row = {
        "seed": scenario.seed,
        "test_error": accuracy["test_error"],
        "wire_bytes": traffic["wire_bytes"],
        "proven_epsilon": privacy["proven_epsilon"],
    }
    for name in ("same_bytes", "same_time"):
        there = getattr(stopped, name)
        row |= {f"{name}_{figure}": there[figure] for figure in ("test_error", "wire_bytes", "proven_epsilon")}
    row |= {f"tests_{name}": value for name, value in tested.summary["tests"].items()}
    row |= {f"yardsticks_{name}": tested.summary["yardsticks"][name] for name in HELD_AGAINST}
    return row, [event for _, _, event in tested.events if isinstance(event, SvtTested)]


def measured(base: Scenario) -> tuple[pl.DataFrame, float]:
    """One row per seed, and the AUC of all tests together."""
    found = [figures(base.with_(**{"seed": seed, "log.private": True})) for seed in SEEDS]
    every = [event for _, events in found for event in events]
    asked = {passed: np.array([event.query for event in every if event.passed is passed]) for passed in (True, False)}
    pooled = auc(asked[True], asked[False])
    assert pooled is not None
    return pl.DataFrame([row for row, _ in found]), pooled


def markdown(table: pl.DataFrame, pooled: float) -> str:
    """The means of the seeds, and what they say of the test."""
    lines = [
        f"| mean of seeds {min(SEEDS)} to {max(SEEDS)} | test error | sent (MB) | proven ε |",
        "|---|---:|---:|---:|",
    ]
    for title, prefix in (
        ("ipp-admm", ""),
        ("pp-admm, stopped at the same bytes", "same_bytes_"),
        ("pp-admm, at the same time", "same_time_"),
    ):
        mean = {name: table[prefix + name].mean() for name in ("test_error", "wire_bytes", "proven_epsilon")}
        size = mean["wire_bytes"] / 1e6
        lines.append(f"| {title} | {mean['test_error']:.4f} | {size:.2f} | {mean['proven_epsilon']:.2f} |")
    lines += [f"| {title} | {table['yardsticks_' + name].mean():.4f} | | – |" for name, title in HELD_AGAINST.items()]
    better = (table["same_bytes_test_error"] < table["test_error"]).sum()
    asked, passed = table["tests_asked"].sum(), table["tests_passed"].sum()
    return "\n".join(lines) + (
        f"\n\nIn {better} of {len(table)} seeds pp-admm that stops at the same bytes has the lower test error. "
        f"Of {asked:,} tests "
        f"{passed / asked:.1%} passed. The standard deviation of an answer's noise is\n"
        f"{table['tests_noise'].median():.2f}, the median improvement {table['tests_improvement'].median():.4f}; an "
        f"update that passed is better than one that did not with probability {pooled:.2f} (a coin: 0.50).\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--output", type=Path, default=Path("skip_test.csv"))
    options = parser.parse_args()
    table, pooled = measured(Scenario.load(options.scenario))
    table.with_columns(pl.selectors.float().round_sig_figs(6)).write_csv(options.output)
    options.output.with_suffix(".md").write_text(markdown(table, pooled), encoding="utf-8")
    print(f"wrote {options.output} and {options.output.with_suffix('.md')}")


if __name__ == "__main__":
    main()
