"""M-ADMM against DVP: training loss and claimed privacy loss against rounds, mean and range over seeds."""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.axes import Axes

from analysis.palette import COLOURS
from analysis.papers.drawing import band, where

DASHED = {"DVP, α = 2", "M-ADMM, q1 = 1.1, q2 = 1.05"}


def told(setting: dict[str, Any]) -> str:
    """A setting in words."""
    if setting["algorithm.name"] == "dvp":
        return f"DVP, α = {setting.get('algorithm.noise_rate', 3.0):g}"
    growth, noise = setting["algorithm.penalty_growth"], setting["algorithm.noise_growth"]
    return f"M-ADMM, q1 = {growth:g}, q2 = {noise:g}"


def column(above: Axes, below: Axes, table: pl.DataFrame, fields: list[str]) -> None:
    """One column of panels: the loss above, the claimed ε so far below."""
    for setting in table.select(fields).unique(maintain_order=True).to_dicts():
        name = told(setting)
        colour, dashes = COLOURS[setting["algorithm.name"]], (4, 2) if name in DASHED else (1, 0)
        rows = where(table, **{name.replace(".", "__"): value for name, value in setting.items()})
        for place, measure in ((above, "train_loss"), (below, "claimed_epsilon")):
            curve = where(rows, figure=measure).sort("round")
            band(place, curve, "round", name, colour, dashes=dashes)
    below.set_xlabel("round")
