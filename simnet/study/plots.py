"""A study's curves, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from simnet.study.aggregate import means

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def curves(rounds: pl.DataFrame, by: Sequence[str], x: str, y: str) -> Figure:
    """Mean of `y` against mean of `x`, round by round, a line a setting, with the 95 % interval (t) of `y`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for names, group in rounds.group_by(list(by), maintain_order=True) if by else [((), rounds)]:
        table = means(group, ["round"], list(dict.fromkeys((x, y)))).sort("round")
        across, up = (table.filter(figure=name) for name in (x, y))
        label = ", ".join(f"{field.rpartition('.')[2]} {value}" for field, value in zip(by, names, strict=True))
        line = axes.plot(across["mean"], up["mean"], label=label or None)[0]
        low, high = (up[name].to_numpy().astype(np.float64) for name in ("t95_low", "t95_high"))
        axes.fill_between(across["mean"], low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set_xlabel(x.replace("_", " "))
    axes.set_ylabel(y.replace("_", " "))
    if by:
        axes.legend(frameon=False)
    return figure
