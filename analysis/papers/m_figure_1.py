"""M-ADMM, Figure 1: convergence without privacy, with penalties and dual steps of each agent and with growing ones.

python -m analysis.papers.m_figure_1
"""

from __future__ import annotations

import polars as pl

from analysis.palette import COLOURS, shades
from analysis.papers.drawing import Drawing, band, by_round, main, panels, where
from simnet.studies.results import StudyResult

GROWTHS = (1.0, 1.01, 1.05, 1.1, 1.2)
STEPS = {
    "θ = 0.5": (1, 0),
    "θ(t) = 0.5·1.01^(t−1)": (4, 2),
    "a θ_i for each agent": (1, 1),
}


def variant() -> pl.Expr:
    """Which curve of Figure 1(a) a run belongs to; None if to 1(b)."""
    fixed, changing, own = STEPS
    return (
        pl.when(pl.col("algorithm.agent_eta") == "[]")
        .then(None)
        .when(pl.col("algorithm.agent_dual_step") != "[]")
        .then(pl.lit(own))
        .when(pl.col("algorithm.dual_growth") != 1.0)
        .then(pl.lit(changing))
        .otherwise(pl.lit(fixed))
    )


def draw(study: StudyResult) -> Drawing:
    """Above Figure 1(a), below 1(b); left C = 1, right C = 1750."""
    table = by_round(study, "train_loss").with_columns(dual_steps=variant())
    figure, axes = panels(2, 2, width=4.4, height=2.9, sharex=True)
    for column, weight in enumerate((1.0, 1750.0)):
        rows = where(table, algorithm__loss_weight=weight)
        for name, dashes in STEPS.items():
            curve = where(rows, dual_steps=name).sort("round")
            band(axes[0][column], curve, "round", name, COLOURS["m-admm"], dashes=dashes)
        for growth, shade in zip(GROWTHS, shades("m-admm", len(GROWTHS)), strict=True):
            curve = where(rows, dual_steps=None, algorithm__penalty_growth=growth).sort("round")
            band(axes[1][column], curve, "round", f"η(t) = 0.5·{growth:g}^(t−1)", shade)
        axes[0][column].set_title(f"C = {weight:g}", fontsize=10)
        axes[1][column].set_xlabel("round")
    for line, title in zip(axes, ("(a) an η_i(t) for each agent", "(b) one η(t) for all, θ = 0.5"), strict=True):
        line[0].set_ylabel("average training loss")
        line[1].legend(frameon=False, fontsize=8, title=title, title_fontsize=8)
    return figure, table


if __name__ == "__main__":
    main("m-figure-1", draw, __doc__)
