"""The order of all methods on Adult at ε = 1, with 95 % intervals over ten seeds.

    python -m analysis.papers.ordering

Beside picture and CSV, ordering.md holds the table in Markdown.
"""

from __future__ import annotations

import math

import polars as pl
from scipy.stats import t as student

from analysis.controls import CONTROL, STOPPED, with_controls
from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, held_against, main, panels, where
from simnet.studies.aggregate import means
from simnet.studies.results import StudyResult

CENTRAL = ("dp-admm", "dp-acc-admm")
HELD_AGAINST = {
    "yardsticks_best_optimum": "*optimum without privacy, at best*",
    "yardsticks_optimum": "*optimum without privacy, λ̂/N = 1e-4*",
    "yardsticks_constant": "*best constant answer*",
}


REFERENCES = ("admm", "pp-admm", "ipp-admm", "r-admm", "m-admm", "dvp", STOPPED)
"""Methods that the others are held against, seed by seed."""


def paired(runs: pl.DataFrame) -> pl.DataFrame:
    """One row per method: its test error minus that of each reference, and half of the 95 % interval (Student's t)."""
    errors = runs.pivot(on="algorithm.name", index="seed", values="test_error")
    rows = []
    for method in errors.columns[1:]:
        row: dict[str, str | float] = {"method": method}
        for reference in REFERENCES:
            apart = (errors[method] - errors[reference]).to_numpy()
            row[f"over_{reference}"] = float(apart.mean())
            row[f"over_{reference}_half"] = float(
                student.ppf(0.975, len(apart) - 1) * apart.std(ddof=1) / math.sqrt(len(apart))
            )
        rows.append(row)
    return pl.DataFrame(rows)


def table(study: StudyResult) -> pl.DataFrame:
    """Best first: one row per method, and one for the control of IPP-ADMM."""
    runs = with_controls(study)
    figures = ("test_error", "train_loss", "wire_bytes", "proven_epsilon", "claimed_epsilon")
    return (
        means(runs, ["algorithm.name"], [*figures, *HELD_AGAINST])
        .pivot(on="figure", index="algorithm.name", values=["mean", "t95_low", "t95_high"])
        .rename({"algorithm.name": "method"})
        .join(paired(runs), on="method")
        .sort("mean_test_error")
    )


def markdown(found: pl.DataFrame) -> str:
    """The table for people."""
    lines = [
        "| method | test error | average training loss | sent (MB) | proven ε | claimed ε |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in found.to_dicts():
        half = {name: (row[f"t95_high_{name}"] - row[f"t95_low_{name}"]) / 2 for name in ("test_error", "train_loss")}
        epsilons = [row[f"mean_{name}"] for name in ("proven_epsilon", "claimed_epsilon")]
        told = " | ".join("–" if epsilon is None else f"{epsilon:.2f}" for epsilon in epsilons)
        lines.append(
            f"| {row['method']}{' (central)' if row['method'] in CENTRAL else ''} "
            f"| {row['mean_test_error']:.4f} ± {half['test_error']:.4f} "
            f"| {row['mean_train_loss']:.4f} ± {half['train_loss']:.4f} "
            f"| {row['mean_wire_bytes'] / 1e6:.2f} | {told} |"
        )
    plain = found.row(by_predicate=pl.col("method") == "admm", named=True)
    for name, title in HELD_AGAINST.items():
        half = (plain[f"t95_high_{name}"] - plain[f"t95_low_{name}"]) / 2
        lines.append(f"| {title} | {plain[f'mean_{name}']:.4f} ± {half:.4f} | | | – | – |")
    return "\n".join(lines) + "\n"


def draw(study: StudyResult) -> Drawing:
    """A point and its interval a method, best on top."""
    found = table(study)
    figure, axes = panels(1, 1, width=7.2, height=3.6)
    place = axes[0][0]
    for height, row in enumerate(reversed(found.to_dicts())):
        error, colour = row["mean_test_error"], COLOURS[CONTROL if row["method"] == STOPPED else row["method"]]
        reach = [[error - row["t95_low_test_error"]], [row["t95_high_test_error"] - error]]
        place.errorbar(error, height, xerr=reach, fmt="o", color=colour, capsize=4)
    held_against(place, where(study.runs, algorithm__name="admm"), across=False)
    names = [f"{name} (central)" if name in CENTRAL else name for name in reversed(found["method"].to_list())]
    place.set_yticks(range(found.height), names)
    place.set_xlabel(
        "test error after 30 rounds at proven ε = 1 (admm: no privacy),\nmean and 95 % interval over 10 seeds"
    )
    place.legend(frameon=False, loc="upper right", fontsize=8)
    return figure, found


if __name__ == "__main__":
    main("ordering", draw, __doc__, markdown=markdown)
