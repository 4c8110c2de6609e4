"""A figure that a notebook shows, whatever its backend."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Plot(Figure):
    """A figure of matplotlib that knows itself as PNG."""

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=120)
        return drawn.getvalue()
