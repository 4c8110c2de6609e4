"""PP/IPP-ADMM, Figure 6: average training loss against rounds at ε = 1, 2, 10 on Adult.

python -m analysis.papers.pp_figure_6
"""

from __future__ import annotations

import polars as pl

from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, band, by_round, legend_below, main, panels, where
from analysis.papers.pp_figure_5 import METHODS, NAMES
from simnet.studies.results import StudyResult

EPSILONS = (1.0, 2.0, 10.0)


def draw(study: StudyResult) -> Drawing:
    """Above the paper's η, below one that learns."""
    table = by_round(study, "train_loss").filter(pl.col("privacy.epsilon").is_in(EPSILONS))
    figure, axes = panels(2, 3, height=2.8, sharex=True, sharey=True)
    for line, eta in zip(axes, (0.5, 0.01), strict=True):
        for place, epsilon in zip(line, EPSILONS, strict=True):
            rows = where(table, algorithm__eta=eta, privacy__epsilon=epsilon)
            for method in METHODS:
                for calibration, dashes in (("proven", (1, 0)), ("paper", (4, 2))):
                    curve = where(rows, algorithm__name=method, privacy__calibration=calibration).sort("round")
                    if curve.is_empty():
                        continue
                    name = NAMES.get(method, method) + (", paper's calibration" if calibration == "paper" else "")
                    look = {"linestyle": ":"} if method == "admm" else {"dashes": dashes}
                    band(place, curve, "round", name, COLOURS[method], **look)
            place.set_title(f"η = {eta}, ε = {epsilon:g}", fontsize=10)
            place.set_ylim(0.35, 1.0)
        line[0].set_ylabel("average training loss")
    for place in axes[1]:
        place.set_xlabel("round")
    legend_below(figure, axes[1][0], 4)
    return figure, table


if __name__ == "__main__":
    main("pp-figure-6", draw, __doc__, ["pp-figures-5-and-6"])
