"""DP-ADMM, Figure 2: objective and accuracy against ε.

python -m analysis.papers.dp_figure_2
"""

from __future__ import annotations

from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, band, finals, legend_below, main, panels, where
from simnet.studies.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    """A column a data set; the upper two rows with the paper's ρ = γ = 1, the lower two with ρ = 1e-3."""
    table = finals(study, "objective", "test_error")
    sources = study.runs["data.source"].unique(maintain_order=True).to_list()
    figure, axes = panels(4, len(sources), height=2.4, sharex=True)
    lines = [(penalty, measure) for penalty in (1.0, 1e-3) for measure in ("objective", "test_error")]
    for line, (penalty, measure) in zip(axes, lines, strict=True):
        for place, source in zip(line, sources, strict=True):
            for method in ("dp-admm", "dp-acc-admm"):
                at = {"algorithm__penalty": penalty, "algorithm__name": method}
                rows = where(table, figure=measure, data__source=source, **at).sort("privacy.epsilon")
                band(place, rows, "privacy.epsilon", method, COLOURS[method], marker="o", markersize=4)
            place.set_xscale("log")
            place.set_yscale("log" if measure == "objective" else "linear")
            place.set_title(f"{source}, ρ = {penalty:g}" + (", γ = 1" if penalty == 1 else ""), fontsize=10)
        line[0].set_ylabel(measure.replace("_", " "))
    for place in axes[-1]:
        place.set_xlabel("ε claimed, at δ = 1e-3")
    legend_below(figure, axes[0][0], 2)
    return figure, table


if __name__ == "__main__":
    main("dp-figure-2", draw, __doc__)
