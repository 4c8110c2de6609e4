"""DP-ADMM, Figure 1: the gap of the objective to the least one seen, against simulated time.

    python -m analysis.papers.dp_figure_1

The paper has the seconds of one machine on an axis. Ours are simulated; the table also has rounds and bytes.
"""

from __future__ import annotations

import polars as pl

from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, band, by_round, called, legend_below, main, panels, where
from simnet.studies.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    """A column a data set; above the paper's ρ = γ = 1, below ρ = 1e-3."""
    table = by_round(study, "objective", "t", "wire_bytes")
    keys = [*study.fields, "round"]
    table, *costs = (where(table, figure=figure) for figure in ("objective", "t", "wire_bytes"))
    for name, cost in zip(("seconds", "wire_bytes"), costs, strict=True):
        cost = cost.select(*keys, pl.col("mean").alias(name))
        table = table.join(cost, on=keys, nulls_equal=True, maintain_order="left")
    least = table.group_by("data.source").agg(least=pl.col("min").min())
    table = table.join(least, on="data.source", maintain_order="left").with_columns(
        pl.col("mean", "min", "max") - pl.col("least")
    )
    sources = study.runs["data.source"].unique(maintain_order=True).to_list()
    figure, axes = panels(2, len(sources), height=2.7, sharex=True)
    for line, penalty in zip(axes, (1.0, 1e-3), strict=True):
        for place, source in zip(line, sources, strict=True):
            rows = where(table, data__source=source, algorithm__penalty=penalty)
            for method in ("dp-admm", "dp-acc-admm"):
                for calibration, dashes in (("none", (4, 2)), ("paper", (1, 0))):
                    curve = where(rows, algorithm__name=method, privacy__calibration=calibration).sort("round")
                    name = f"{method}, " + ("ε = 0.1" if calibration == "paper" else "no noise")
                    band(place, curve, "seconds", name, COLOURS[method], dashes=dashes)
            place.set_yscale("log")
            place.set_ylim(1e-4, 2)
            place.set_xlim(0, 1.02 * float(table["seconds"].max()))
            place.set_title(f"{called(source)}, ρ = {penalty:g}" + (", γ = 1" if penalty == 1 else ""), fontsize=10)
        line[0].set_ylabel("objective − least seen")
    for place in axes[1]:
        place.set_xlabel("simulated time (s)")
    legend_below(figure, axes[0][0], 4)
    return figure, table.drop("least").with_columns(figure=pl.lit("objective − least seen"))


if __name__ == "__main__":
    main("dp-figure-1", draw, __doc__)
