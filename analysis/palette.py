"""One colour a method in every figure, and the look that the figures share."""

from __future__ import annotations

import matplotlib.pyplot as plt

from simnet.report.palette import METHODS as COLOURS

__all__ = ["COLOURS", "style"]


def style() -> None:
    """Quiet axes, readable sizes."""
    plt.rcParams.update(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "font.size": 10,
            "lines.linewidth": 1.8,
        }
    )
