"""M-ADMM, Figure 3: 100 agents, data evenly spread, penalty perturbation against DVP.

python -m analysis.papers.m_figure_3
"""

from __future__ import annotations

from analysis.papers import perturbation
from analysis.papers.drawing import Drawing, by_round, legend_below, main, panels
from simnet.studies.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    """Left the loss, right the claimed ε so far."""
    table = by_round(study, "train_loss", "claimed_epsilon")
    figure, axes = panels(1, 2, width=4.2)
    above, below = axes[0]
    perturbation.column(above, below, table, study.fields)
    above.set_xlabel("round")
    above.set_ylabel("average training loss")
    below.set_ylabel("claimed ε so far")
    figure.suptitle("100 agents, even data, α(1) = 3, C = 100", fontsize=10)
    legend_below(figure, above, 2)
    return figure, table


if __name__ == "__main__":
    main("m-figure-3", draw, __doc__)
