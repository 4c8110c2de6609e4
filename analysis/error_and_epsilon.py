"""Test error against ε: the papers' calibration and the proven one, on the same data and seeds.

    python -m analysis.error_and_epsilon --output docs/error_and_epsilon.png

Adult, ring of five agents, 30 rounds, η = 0.01, λ̂/N = 1e-4, ideal network. Mean over seeds, with the range as a band.
The table behind the picture is written beside it as CSV.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from analysis.palette import COLOURS, style
from simnet import Scenario, run

BASE = Path(__file__).parents[1] / "scenarios" / "ideal.toml"
EPSILONS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
Point = tuple[str, str, float, int, float, float | None, float | None]


def points(seeds: int) -> list[Point]:
    """(method, calibration, ε, seed, test error, claimed ε, proven ε) of every run."""
    base = Scenario.load(BASE).with_(**{"algorithm.regulariser": 1e-4})
    found: list[Point] = []
    for method in ("pp-admm", "ipp-admm"):
        for calibration in ("paper", "proven"):
            for epsilon in EPSILONS:
                for seed in range(1, seeds + 1):
                    changed = base.with_method(method).with_(
                        **{"privacy.calibration": calibration, "privacy.epsilon": epsilon, "seed": seed}
                    )
                    summary = run(changed).summary
                    privacy = summary["privacy"]
                    found.append(
                        (
                            *(method, calibration, epsilon, seed, summary["accuracy"]["test_error"]),
                            *(privacy["claimed_epsilon"], privacy["proven_epsilon"]),
                        )
                    )
    return found


def baseline(seeds: int) -> float:
    """Mean test error without privacy."""
    base = Scenario.load(BASE).with_(**{"algorithm.regulariser": 1e-4}).with_method("admm")
    return sum(run(base.with_(seed=seed)).summary["accuracy"]["test_error"] for seed in range(1, seeds + 1)) / seeds


def draw(found: list[Point], without: float, output: Path) -> None:
    """One line per method and calibration; the dotted line is no privacy."""
    style()
    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    for method in ("pp-admm", "ipp-admm"):
        for calibration, dashes in (("paper", (4, 2)), ("proven", (1, 0))):
            at = {e: [p[4] for p in found if p[:3] == (method, calibration, e)] for e in EPSILONS}
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
    axes.axhline(without, color=COLOURS["admm"], linestyle=":", label="no privacy")
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
    draw(found, baseline(options.seeds), options.output)
    with options.output.with_suffix(".csv").open("w", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["method", "calibration", "epsilon", "seed", "test_error", "claimed_epsilon", "proven_epsilon"])
        writer.writerows(found)
    print(f"wrote {options.output} and {options.output.with_suffix('.csv')}")


if __name__ == "__main__":
    main()
