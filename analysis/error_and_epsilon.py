"""Test error against ε: the papers' calibration and the proven one, on the same data and seeds.

    python -m analysis.error_and_epsilon --output docs/error_and_epsilon.png

Adult, ring of five agents, 30 rounds, η = 0.01, λ̂/N = 1e-4, ideal network. Mean over seeds, with the range as a band.
The table behind the picture is written beside it as CSV.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from analysis.palette import COLOURS, style
from simnet import Scenario, run

BASE = Path(__file__).parents[1] / "scenarios" / "ideal.toml"
EPSILONS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
HELD_AGAINST = {
    "constant": ("best constant answer", ":"),
    "test_error": ("no privacy, 30 rounds", "-."),
    "optimum": ("optimum without privacy", "--"),
}
COLUMNS = (
    *("method", "calibration", "epsilon", "seed", "test_error", "claimed_epsilon", "proven_epsilon"),
    *("constant", "optimum", "best_optimum"),
)
Point = dict[str, Any]


def points(seeds: int) -> list[Point]:
    """A row for every run, with what its error is held against; those of admm have no ε."""
    base = Scenario.load(BASE).with_(**{"algorithm.regulariser": 1e-4})
    asked = [
        (method, calibration, epsilon)
        for method in ("pp-admm", "ipp-admm")
        for calibration in ("paper", "proven")
        for epsilon in EPSILONS
    ]
    found: list[Point] = []
    for method, calibration, epsilon in [*asked, ("admm", "none", None)]:
        changed = base.with_method(method)
        if epsilon is not None:
            changed = changed.with_(**{"privacy.calibration": calibration, "privacy.epsilon": epsilon})
        for seed in range(1, seeds + 1):
            summary = run(changed.with_(seed=seed)).summary
            privacy, known = summary["privacy"], summary["yardsticks"]
            values = (
                *(method, calibration, epsilon, seed, summary["accuracy"]["test_error"]),
                *(privacy["claimed_epsilon"], privacy["proven_epsilon"]),
                *(known["constant"], known["optimum"], known["best_optimum"]),
            )
            found.append(dict(zip(COLUMNS, values, strict=True)))
    return found


def draw(found: list[Point], output: Path) -> None:
    """One line per method and calibration; the others are what they are held against."""

    def errors_of(*key: object) -> list[float]:
        return [p["test_error"] for p in found if (p["method"], p["calibration"], p["epsilon"]) == key]

    style()
    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    for method in ("pp-admm", "ipp-admm"):
        for calibration, dashes in (("paper", (4, 2)), ("proven", (1, 0))):
            at = {e: errors_of(method, calibration, e) for e in EPSILONS}
            axes.plot(
                EPSILONS,
                [sum(errors) / len(errors) for errors in at.values()],
                color=COLOURS[method],
                dashes=dashes,
                marker="o",
                markersize=4,
                label=f"{method}, {calibration}",
            )
            low, high = zip(*((min(errors), max(errors)) for errors in at.values()), strict=True)
            axes.fill_between(EPSILONS, low, high, color=COLOURS[method], alpha=0.12, linewidth=0)
    # The paper's calibration has a regulariser of its own, and so another optimum: lines are those of λ̂/N = 1e-4.
    without = [p for p in found if p["method"] == "admm"]
    for name, (label, dashes) in HELD_AGAINST.items():
        colour = COLOURS["admm"] if name == "test_error" else "#888888"
        mean = sum(p[name] for p in without) / len(without)
        axes.axhline(mean, color=colour, linestyle=dashes, linewidth=1.2, label=label)
    axes.set_xscale("log")
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.minorticks_off()
    axes.set_xlabel("ε asked for, at δ = 1e-4 (claimed under “paper”, proven under “proven”)")
    axes.set_ylabel("test error")
    axes.legend(frameon=False)
    figure.savefig(output, dpi=160)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("error_and_epsilon.png"))
    options = parser.parse_args()
    found = points(options.seeds)
    draw(found, options.output)
    with options.output.with_suffix(".csv").open("w", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    print(f"wrote {options.output} and {options.output.with_suffix('.csv')}")


if __name__ == "__main__":
    main()
