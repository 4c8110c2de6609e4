"""DP-ADMM, Figure 2: objective and accuracy against ε, beside the same without noise.

python -m analysis.papers.dp_figure_2
"""

from __future__ import annotations

import polars as pl

from analysis.palette import COLOURS
from analysis.papers.drawing import BEST, Drawing, band, called, finals, held_against, legend_below, main, panels, where
from simnet.studies.results import StudyResult

KNOWN = ("yardsticks_constant", "yardsticks_best_optimum")


def draw(study: StudyResult, first: StudyResult) -> Drawing:
    """A column a data set; the upper two rows with the paper's ρ = γ = 1, the lower two with ρ = 1e-3.

    Runs without noise are those of Figure 1, the same but for the links. In the table their ε is empty.
    """
    table = finals(study, "objective", "test_error")
    quiet = where(finals(first, "objective", "test_error", *KNOWN), privacy__calibration="none")
    table = pl.concat([table, quiet.drop("privacy.calibration")], how="diagonal_relaxed")
    sources = study.runs["data.source"].unique(maintain_order=True).to_list()
    figure, axes = panels(4, len(sources), height=2.4, sharex=True)
    lines = [(penalty, measure) for penalty in (1.0, 1e-3) for measure in ("objective", "test_error")]
    for line, (penalty, measure) in zip(axes, lines, strict=True):
        for place, source in zip(line, sources, strict=True):
            for method in ("dp-admm", "dp-acc-admm"):
                at = {"algorithm__penalty": penalty, "algorithm__name": method}
                rows = where(table, figure=measure, data__source=source, **at).sort("privacy.epsilon")
                noisy, without = rows.drop_nulls("privacy.epsilon"), where(rows, privacy__epsilon=None)
                band(place, noisy, "privacy.epsilon", method, COLOURS[method], marker="o", markersize=4)
                place.axhline(without["mean"].item(), color=COLOURS[method], dashes=(4, 2), label=f"{method}, no noise")
            if measure == "test_error":
                held_against(place, where(study.runs, data__source=source), among=BEST)
            place.set_xscale("log")
            place.set_yscale("log" if measure == "objective" else "linear")
            place.set_title(f"{called(source)}, ρ = {penalty:g}" + (", γ = 1" if penalty == 1 else ""), fontsize=10)
        line[0].set_ylabel(measure.replace("_", " "))
    for place in axes[-1]:
        place.set_xlabel("ε claimed, at δ = 1e-3")
    legend_below(figure, axes[1][0], 3)
    return figure, table


if __name__ == "__main__":
    main("dp-figure-2", draw, __doc__, studies=("dp-figure-2", "dp-figure-1"))
