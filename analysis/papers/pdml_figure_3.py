"""PDML, Figure 3: the largest distance between two servers' classifiers, and the empirical risk, against rounds.

python -m analysis.papers.pdml_figure_3

The study's results hold what servers send; classifiers before noise come from its runs, which are done again for it.
"""

from __future__ import annotations

from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, band, legend_below, main, panels, where
from analysis.papers.pdml_classifiers import study_of_classifiers
from simnet.studies.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    """Left the distance, right the risk on the original labels."""
    table = study_of_classifiers("pdml-figure-3")
    figure, axes = panels(1, 2, width=4.2)
    for place, measure in zip(axes[0], ("distance", "risk"), strict=True):
        rows = where(table, figure=measure)
        for name, bound, dashes in (
            ("phase 1 alone (R = 0, V → 0)", 0.0, (4, 2)),
            ("both phases (R = 1, V = 1, ρ = 0.8)", 1.0, (1, 0)),
        ):
            curve = where(rows, algorithm__name="pdml", algorithm__objective_bound=bound).sort("round")
            band(place, curve, "round", f"PDML, {name}", COLOURS["pdml"], dashes=dashes)
        plain = where(rows, algorithm__name="admm").sort("round")
        band(place, plain, "round", "ADMM, original labels", COLOURS["admm"], linestyle=":")
        place.set_xlabel("round")
    axes[0][0].set_yscale("log")
    axes[0][0].set_ylabel("largest distance")
    axes[0][1].set_ylabel("empirical risk")
    legend_below(figure, axes[0][0], 2)
    return figure, table


if __name__ == "__main__":
    main("pdml-figure-3", draw, __doc__)
