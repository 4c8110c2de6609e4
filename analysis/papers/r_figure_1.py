"""R-ADMM, Figure 1: convergence without privacy for several γ, 5 and 20 agents.

python -m analysis.papers.r_figure_1
"""

from __future__ import annotations

from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, band, by_round, legend_below, main, panels, where
from simnet.studies.results import StudyResult

GAMMAS = {0.0: (1, 0), 1.0: (4, 2), 5.0: (1, 1)}


def draw(study: StudyResult) -> Drawing:
    """A panel a network and C."""
    table = by_round(study, "train_loss", "gradients")
    figure, axes = panels(2, 2, width=4.2, height=2.8, sharex=True)
    for line, weight in zip(axes, (1.0, 1750.0), strict=True):
        for place, agents in zip(line, (5, 20), strict=True):
            rows = where(table, figure="train_loss", algorithm__loss_weight=weight, topology__agents=agents)
            plain = where(rows, algorithm__name="dvp").sort("round")
            band(place, plain, "round", "ADMM", COLOURS["admm"])
            for gamma, dashes in GAMMAS.items():
                curve = where(rows, algorithm__name="r-admm", algorithm__gamma=gamma).sort("round")
                band(place, curve, "round", f"R-ADMM, γ = {gamma:g}", COLOURS["r-admm"], dashes=dashes)
            place.set_title(f"{agents} agents, η = 0.5, C = {weight:g}", fontsize=10)
        line[0].set_ylabel("average training loss")
    for place in axes[1]:
        place.set_xlabel("round")
    legend_below(figure, axes[0][0], 4)
    return figure, table


if __name__ == "__main__":
    main("r-figure-1", draw, __doc__)
