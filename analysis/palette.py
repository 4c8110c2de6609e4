"""One colour per method in every figure, and the look that the figures share."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb

from simnet.report.page import COLOURS

__all__ = ["COLOURS", "shades", "style"]


def shades(method: str, count: int) -> list[tuple[float, ...]]:
    """A method's colour in several tones, the full one first: for settings of one method side by side."""
    full = to_rgb(COLOURS[method])
    return [tuple(1 - (1 - part) * (1 - 0.75 * step / max(1, count - 1)) for part in full) for step in range(count)]


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
