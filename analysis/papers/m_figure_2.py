"""M-ADMM, Figure 2: accuracy and claimed privacy loss of penalty perturbation and of DVP, mean and range of 10 runs.

python -m analysis.papers.m_figure_2
"""

from __future__ import annotations

from analysis.papers import perturbation
from analysis.papers.drawing import Drawing, by_round, legend_below, main, panels, where
from simnet.studies.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    """Left C = 1, right C = 1750."""
    table = by_round(study, "train_loss", "claimed_epsilon")
    figure, axes = panels(2, 2, width=4.4, height=2.8, sharex=True)
    for number, weight in enumerate((1.0, 1750.0)):
        rows = where(table, algorithm__loss_weight=weight)
        perturbation.column(axes[0][number], axes[1][number], rows, study.fields)
        axes[0][number].set_title(f"η(1) = θ = 0.5, C = {weight:g}", fontsize=10)
    axes[0][0].set_ylabel("average training loss")
    axes[1][0].set_ylabel("claimed ε so far")
    legend_below(figure, axes[0][1], 2)
    return figure, table


if __name__ == "__main__":
    main("m-figure-2", draw, __doc__)
