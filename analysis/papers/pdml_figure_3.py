"""PDML, Figure 3: the servers' distance from each other, and the empirical risk, against rounds.

python -m analysis.papers.pdml_figure_3
"""

from __future__ import annotations

from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, band, by_round, legend_below, main, panels, where
from simnet.studies.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    """Left the distance, right the risk on the original labels."""
    table = by_round(study, "consensus", "objective")
    figure, axes = panels(1, 2, width=4.2)
    for place, measure in zip(axes[0], ("consensus", "objective"), strict=True):
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
    axes[0][0].set_ylabel("spread of the models")
    axes[0][1].set_ylabel("empirical risk")
    legend_below(figure, axes[0][0], 2)
    return figure, table


if __name__ == "__main__":
    main("pdml-figure-3", draw, __doc__)
