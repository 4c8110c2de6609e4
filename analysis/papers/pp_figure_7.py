"""PP/IPP-ADMM, Figure 7: test error against ε on other data sets.

    python -m analysis.papers.pp_figure_7

IPUMS' US and Brazil where their files were at hand; and, instead of them, two generated problems.
"""

from __future__ import annotations

from analysis.papers.drawing import Drawing, band, errors, held_against, legend_below, main, panels, where
from analysis.papers.pp_figure_5 import METHODS, NAMES, colour, look
from simnet.studies.results import StudyResult


def draw(study: StudyResult) -> Drawing:
    """A panel a data set."""
    table = errors(study, "wire_bytes", on=("data.source", "privacy.epsilon"))
    sources = study.runs["data.source"].unique(maintain_order=True).to_list()
    figure, axes = panels(1, len(sources), width=4.4, height=3.6)
    for place, source in zip(axes[0], sources, strict=True):
        for method in METHODS:
            rows = where(table, figure="test_error", data__source=source, algorithm__name=method).sort(
                "privacy.epsilon"
            )
            band(place, rows, "privacy.epsilon", NAMES.get(method, method), colour(method), **look(method))
        held_against(place, where(study.runs, data__source=source, algorithm__name="admm"))
        place.set_xscale("log")
        place.set_xticks(ticks := sorted(set(study.runs["privacy.epsilon"])), [f"{tick:g}" for tick in ticks])
        place.minorticks_off()
        place.set_xlabel("ε (proven), at δ = 1e-4")
        place.set_title(source, fontsize=10)
    axes[0][0].set_ylabel("test error after 30 rounds")
    legend_below(figure, axes[0][0], 6)
    return figure, table


if __name__ == "__main__":
    main("pp-figure-7", draw, __doc__)
    main("pp-figure-7-instead", draw, __doc__)
