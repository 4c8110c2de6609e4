"""M-ADMM, Figure 1: convergence without privacy, with a penalty for each agent and with one that grows.

python -m analysis.papers.m_figure_1
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from analysis.papers.drawing import Drawing, by_round, main, panels, where
from simnet.study.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    """Left C = 1, right C = 1750; the dashed line is Figure 1(a)."""
    table = by_round(study, "train_loss").with_columns(own=pl.col("algorithm.agent_eta") != "[]")
    growths = (1.0, 1.01, 1.05, 1.1, 1.2)
    shades = plt.get_cmap("Greens")(np.linspace(0.95, 0.35, len(growths)))
    figure, axes = panels(1, 2, width=4.4, height=3.4)
    for place, weight in zip(axes[0], (1.0, 1750.0), strict=True):
        rows = where(table, algorithm__loss_weight=weight)
        for growth, shade in zip(growths, shades, strict=True):
            curve = where(rows, own=False, algorithm__penalty_growth=growth).sort("round")
            place.plot(curve["round"], curve["mean"], color=shade, label=f"η(t) = 0.5·{growth:g}^(t−1)")
        curve = where(rows, own=True).sort("round")
        place.plot(curve["round"], curve["mean"], "k--", label="an η_i(t) for each agent")
        place.set_title(f"C = {weight:g}", fontsize=10)
        place.set_xlabel("round")
    axes[0][0].set_ylabel("average training loss")
    axes[0][1].legend(frameon=False, fontsize=8)
    return figure, table


if __name__ == "__main__":
    main("m-figure-1", draw, __doc__)
