"""One colour a method in every figure, and the look that the figures share."""

from __future__ import annotations

import matplotlib.pyplot as plt

# Okabe and Ito's palette: told apart by colour-blind readers, and in print.
COLOURS = {
    "admm": "#000000",
    "pp-admm": "#0072B2",
    "ipp-admm": "#D55E00",
    "m-admm": "#009E73",
    "r-admm": "#CC79A7",
    "dvp": "#56B4E9",
    "pvp": "#E69F00",
    "pdml": "#8C6BB1",
    "dp-admm": "#7F7F7F",
    "dp-acc-admm": "#B8860B",
}


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
