"""PDML, Figure 4: the bound R, the decay ρ and the label's ε, against the empirical risk.

python -m analysis.papers.pdml_figure_4
"""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes

from analysis.palette import COLOURS, shades
from analysis.papers.drawing import Drawing, band, by_round, finals, main, panels, where
from simnet.studies.results import StudyResult


def curves(place: Axes, study: StudyResult, field: str, sign: str) -> pl.DataFrame:
    """Risk against rounds, one line per value."""
    table = by_round(study, "objective")
    values = table[field].unique().sort().to_list()
    for value, shade in zip(values, reversed(shades("pdml", len(values))), strict=True):
        curve = where(table, **{field.replace(".", "__"): value}).sort("round")
        band(place, curve, "round", f"{sign} = {value:g}", shade)
    place.set_xlabel("round")
    place.set_ylabel("empirical risk")
    place.legend(frameon=False)
    return table.select(
        pl.lit(sign).alias("varied"), pl.col(field).alias("value"), "round", pl.col("n").cast(int), "mean", "min", "max"
    )


def draw(bounds: StudyResult, decays: StudyResult, epsilons: StudyResult) -> Drawing:
    """A panel a parameter."""
    figure, axes = panels(1, 3)
    first = curves(axes[0][0], bounds, "algorithm.objective_bound", "R")
    axes[0][0].set_yscale("log")
    second = curves(axes[0][1], decays, "algorithm.primal_decay", "ρ")
    table = finals(epsilons, "objective")
    for bound, name, dashes in ((0.0, "phase 1 alone", (4, 2)), (1.0, "both phases", (1, 0))):
        rows = where(table, algorithm__objective_bound=bound).sort("privacy.epsilon")
        look = {"dashes": dashes, "marker": "o", "markersize": 4}
        band(axes[0][2], rows, "privacy.epsilon", name, COLOURS["pdml"], **look)
    axes[0][2].set_xlabel("ε of a label")
    axes[0][2].set_ylabel("empirical risk after 100 rounds")
    axes[0][2].legend(frameon=False)
    third = table.select(
        pl.format("ε, R = {}", "algorithm.objective_bound").alias("varied"),
        pl.col("privacy.epsilon").alias("value"),
        pl.lit(100, dtype=first.schema["round"]).alias("round"),
        *("n", "mean", "min", "max"),
    )
    return figure, pl.concat([first, second, third])


if __name__ == "__main__":
    main("pdml-figure-4", draw, __doc__, ["pdml-figure-4a", "pdml-figure-4b", "pdml-figure-4c"])
