"""DP-ADMM, Figure 2: objective and accuracy against ε.

python -m analysis.papers.dp_figure_2
"""

from __future__ import annotations

from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, band, finals, legend_below, main, panels, where
from simnet.studies.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    """A column a data set."""
    table = finals(study, "objective", "test_error")
    sources = study.runs["data.source"].unique(maintain_order=True).to_list()
    figure, axes = panels(2, len(sources), height=2.7, sharex=True)
    for number, source in enumerate(sources):
        for place, measure in zip(axes[:, number], ("objective", "test_error"), strict=True):
            for method in ("dp-admm", "dp-acc-admm"):
                rows = where(table, figure=measure, data__source=source, algorithm__name=method).sort("privacy.epsilon")
                band(place, rows, "privacy.epsilon", method, COLOURS[method], marker="o", markersize=4)
            place.set_xscale("log")
        axes[0][number].set_title(source, fontsize=10)
        axes[0][number].set_yscale("log")
        axes[1][number].set_xlabel("ε claimed, at δ = 1e-3")
    axes[0][0].set_ylabel("objective")
    axes[1][0].set_ylabel("test error")
    legend_below(figure, axes[0][0], 2)
    return figure, table


if __name__ == "__main__":
    main("dp-figure-2", draw, __doc__)
