"""How far from the optimum each kind of duals ends, against the share of messages lost, and what it sends for that.

    python -m analysis.duals_under_loss scenarios/networks/duals-under-loss.toml --output docs/duals_under_loss.png

The measure is the distance of the worst agent's last model to the centralised optimum, relative to the optimum's norm;
the median of several seeds is drawn, and all of them are in the table, which is written beside the picture as CSV.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from analysis.palette import style
from simnet import Scenario, run
from simnet.build import build
from simnet.record.events import ReleaseMade
from simnet.record.lines import unpack

RATES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
WAYS = {
    "node duals (the papers)": ({"algorithm.duals": "node"}, "#000000"),
    "healing duals": ({"algorithm.duals": "healing"}, "#D55E00"),
    "healing, sums in every 5th message": ({"algorithm.duals": "healing", "algorithm.heal_every": 5}, "#E69F00"),
    "edge duals": ({"algorithm.duals": "edge"}, "#0072B2"),
}


def optimum(scenario: Scenario) -> np.ndarray:
    """The minimiser of all agents' objectives together."""
    objectives = build(scenario).objectives

    def total(theta: np.ndarray) -> tuple[float, np.ndarray]:
        return sum(f.value(theta) for f in objectives), np.sum([f.gradient(theta) for f in objectives], axis=0)

    start = np.zeros(objectives[0].features)
    return minimize(total, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-11, "ftol": 1e-16}).x


def distance(scenario: Scenario, best: np.ndarray) -> tuple[float, float]:
    """Relative distance of the worst agent, and payload bytes per message."""
    result = run(scenario)
    last = {}
    for _, _, event in result.events:
        if isinstance(event, ReleaseMade):
            last[event.agent] = unpack(event.value)
    worst = max(float(np.linalg.norm(model - best)) for model in last.values())
    sent = result.summary["communication"]
    return worst / float(np.linalg.norm(best)), sent["payload_bytes"] / sent["messages"]


def measure(scenario: Scenario, seeds: list[int]) -> list[tuple[str, float, int, float, float]]:
    """Way, loss rate, seed, distance, bytes."""
    rows = []
    for seed in seeds:
        best = optimum(scenario.with_(seed=seed))
        for way, (changes, _) in WAYS.items():
            for rate in RATES:
                changed = scenario.with_(seed=seed, **changes, **{"network.link.loss": rate})
                rows.append((way, rate, seed, *distance(changed, best)))
    return rows


def draw(rows: list[tuple[str, float, int, float, float]], output: Path) -> None:
    """One line a way, medians; the spread of the seeds as a band."""
    style()
    figure, axes = plt.subplots(figsize=(7.0, 4.4), layout="constrained")
    for way, (_, colour) in WAYS.items():
        found = [[row[3] for row in rows if row[:2] == (way, rate)] for rate in RATES]
        size = next(row[4] for row in rows if row[0] == way)
        percent = [100 * rate for rate in RATES]
        middle = [statistics.median(each) for each in found]
        axes.plot(percent, middle, marker="o", color=colour, label=f"{way}: {size:.0f} B per message")
        axes.fill_between(
            percent, [min(each) for each in found], [max(each) for each in found], color=colour, alpha=0.15
        )
    axes.set_yscale("log")
    axes.set_xlabel("messages lost (%)")
    axes.set_ylabel("distance to the optimum / its norm")
    figure.legend(frameon=False, loc="outside upper center", ncols=2, fontsize=8)
    figure.savefig(output, dpi=160)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds, from the scenario's on")
    parser.add_argument("--output", type=Path, default=Path("duals_under_loss.png"))
    options = parser.parse_args()
    scenario = Scenario.load(options.scenario)
    rows = measure(scenario, [scenario.seed + k for k in range(options.seeds)])
    draw(rows, options.output)
    with options.output.with_suffix(".csv").open("w", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["duals", "loss", "seed", "distance", "payload_bytes_a_message"])
        writer.writerows((way, rate, seed, f"{far:.4g}", f"{size:.1f}") for way, rate, seed, far, size in rows)
    print(f"wrote {options.output} and {options.output.with_suffix('.csv')}")


if __name__ == "__main__":
    main()
