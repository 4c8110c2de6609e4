"""R-ADMM, Figure 2: accuracy and claimed privacy loss against rounds at equal totals, mean and range of 10 runs.

python -m analysis.papers.r_figure_2
"""

from __future__ import annotations

from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, band, by_round, legend_below, main, panels, where
from simnet.studies.results import StudyResult

SETTINGS = ((1.0, 0.0069, 2), (1750.0, 12.0, 2), (1750.0, 24.0, 4))
"""C, ε, and the α of R-ADMM that it comes to."""


def draw(study: StudyResult) -> Drawing:
    """Above the loss, below the claimed ε so far."""
    table = by_round(study, "train_loss", "claimed_epsilon", "gradients")
    figure, axes = panels(2, 3, height=2.7, sharex=True)
    for column, (weight, epsilon, rate) in enumerate(SETTINGS):
        rows = where(table, algorithm__loss_weight=weight, privacy__epsilon=epsilon)
        for place, measure in zip(axes[:, column], ("train_loss", "claimed_epsilon"), strict=True):
            for method in ("dvp", "m-admm", "r-admm"):
                curve = where(rows, figure=measure, algorithm__name=method).sort("round")
                band(place, curve, "round", method, COLOURS[method])
        axes[0][column].set_title(f"C = {weight:g}, ε = {epsilon:g} (α near {rate})", fontsize=10)
        axes[1][column].set_xlabel("round")
    axes[0][0].set_ylabel("average training loss")
    axes[1][0].set_ylabel("claimed ε so far")
    legend_below(figure, axes[0][0], 3)
    return figure, table


if __name__ == "__main__":
    main("r-figure-2", draw, __doc__)
