"""R-ADMM, Figure 3: η and γ that grow over rounds, at equal claimed privacy loss, mean and range of 10 runs.

python -m analysis.papers.r_figure_3
"""

from __future__ import annotations

from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, band, by_round, main, panels, where
from simnet.studies.results import StudyResult

GROWTHS = {1.0: (1, 1), 1.01: (4, 2), 1.05: (1, 0)}


def draw(study: StudyResult) -> Drawing:
    """One panel."""
    table = by_round(study, "train_loss")
    figure, axes = panels(1, 1, width=5.6, height=3.4)
    place = axes[0][0]
    for growth, dashes in GROWTHS.items():
        curve = where(table, algorithm__penalty_growth=growth).sort("round")
        band(place, curve, "round", f"η(t) = {growth:g}^(t−1), γ = 0.2 η", COLOURS["r-admm"], dashes=dashes)
    place.set_xlabel("round")
    place.set_ylabel("average training loss")
    place.set_title("private R-ADMM, claimed ε = 12, C = 1750", fontsize=10)
    place.legend(frameon=False)
    return figure, table


if __name__ == "__main__":
    main("r-figure-3", draw, __doc__)
