"""PP/IPP-ADMM, Figure 5: test error against ε on Adult.

python -m analysis.papers.pp_figure_5
"""

from __future__ import annotations

from typing import Any

from analysis.controls import STOPPED
from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, band, errors, held_against, legend_below, main, panels, where
from simnet.studies.results import StudyResult

METHODS = ("admm", "dvp", "m-admm", "r-admm", "pp-admm", "ipp-admm", STOPPED)
NAMES = {"admm": "no privacy"}


def colour(method: str) -> str:
    """A control has that of its method."""
    return COLOURS["pp-admm" if method == STOPPED else method]


def look(method: str, dashes: tuple[int, int] = (1, 0)) -> dict[str, Any]:
    """No privacy is dotted, and a control is thin with crosses."""
    if method == "admm":
        return {"linestyle": ":"}
    thin = {"marker": "x", "linewidth": 0.8} if method == STOPPED else {"marker": "o"}
    return {"dashes": dashes, "markersize": 4} | thin


def draw(study: StudyResult) -> Drawing:
    """Left the paper's η, right one that learns."""
    on = ("privacy.epsilon", "privacy.calibration", "algorithm.eta")
    table = errors(study, "claimed_epsilon", "proven_epsilon", "wire_bytes", on=on)
    figure, axes = panels(1, 2, width=4.6, height=4.0, sharey=True)
    for place, eta in zip(axes[0], (0.5, 0.01), strict=True):
        rows = where(table, figure="test_error", algorithm__eta=eta).sort("privacy.epsilon")
        for method in METHODS:
            for calibration, dashes in (("proven", (1, 0)), ("paper", (4, 2))):
                line = where(rows, algorithm__name=method, privacy__calibration=calibration)
                if line.is_empty():
                    continue
                name = NAMES.get(method, method) + (", paper's calibration" if calibration == "paper" else "")
                band(place, line, "privacy.epsilon", name, colour(method), **look(method, dashes))
        held_against(place, where(study.runs, algorithm__name="admm", algorithm__eta=eta))
        place.set_xscale("log")
        place.set_xticks([0.5, 1, 2, 10], ["0.5", "1", "2", "10"])
        place.minorticks_off()
        place.set_xlabel("ε asked for, at δ = 1e-4")
        place.set_title(f"η = {eta}" + (" (the paper's)" if eta == 0.5 else ""), fontsize=10)
    axes[0][0].set_ylabel("test error after 30 rounds")
    legend_below(figure, axes[0][1], 3)
    return figure, table


if __name__ == "__main__":
    main("pp-figure-5", draw, __doc__, ["pp-figures-5-and-6"])
