"""One parameter of PP-ADMM or IPP-ADMM against error, loss and broadcasts, under three settings."""

from __future__ import annotations

from analysis.controls import STOPPED
from analysis.palette import COLOURS
from analysis.papers.drawing import Drawing, band, errors, held_against, legend_below, panels, where
from simnet.studies.results import StudyResult

SETTINGS = (
    (0.5, "paper", (1, 1), "η = 0.5, paper's calibration (as published)"),
    (0.01, "paper", (4, 2), "η = 0.01, paper's calibration"),
    (0.01, "proven", (1, 0), "η = 0.01, proven calibration"),
)


def draw(study: StudyResult, method: str, field: str, label: str, controls: StudyResult | None = None) -> Drawing:
    """A panel a measure, ε = 1; only IPP-ADMM can do without some of its broadcasts, and has a control."""
    measures = {"test_error": "test error", "train_loss": "average training loss", "broadcasts": "broadcasts of 150"}
    on = ("privacy.calibration", "algorithm.eta")
    table = errors(study, "train_loss", "broadcasts", on=on, controls=controls)
    shown = list(measures.items())[: 3 if method == "ipp-admm" else 2]
    figure, axes = panels(1, len(shown), width=4.0)
    for place, (measure, title) in zip(axes[0], shown, strict=True):
        for eta, calibration, dashes, name in SETTINGS:
            rows = where(table, figure=measure, algorithm__eta=eta, privacy__calibration=calibration).sort(field)
            own = where(rows, algorithm__name=method)
            band(place, own, field, name, COLOURS[method], dashes=dashes, marker="o", markersize=4)
            beside = where(rows, algorithm__name=STOPPED)
            if measure == "test_error" and not beside.is_empty():
                look = {"color": COLOURS["pp-admm"], "dashes": dashes, "linewidth": 1, "marker": "x", "markersize": 4}
                label = STOPPED if calibration == "proven" else None
                place.plot(beside[field], beside["mean"], label=label, **look)
        if measure == "test_error":
            held_against(place, where(study.runs, privacy__calibration="proven"))
        place.set_xscale("log")
        values = table[field].unique().sort().to_list()
        if values[-1] < 100 * values[0]:
            place.set_xticks(values, [f"{value:g}" for value in values])
            place.minorticks_off()
        place.set_xlabel(label)
        place.set_ylabel(title)
        if measure == "broadcasts":
            place.set_ylim(0, 155)
    axes[0][0].set_ylim(0.15, 0.55)
    axes[0][1].set_ylim(0.35, 1.1)
    legend_below(figure, axes[0][0], 3 if len(shown) == 3 else 2)
    return figure, table
