"""One colour per method, on every page as in every figure: Okabe and Ito's, which colour-blind readers tell apart."""

from __future__ import annotations

from simnet.methods import METHODS
from simnet.methods.method import Method

COLOURS = {name: method.colour for name, method in METHODS.items()}

ON_DARK = {"#000000": "#EDEDED", "#0072B2": "#4BA3DD", "#009E73": "#2FBF95", "#D55E00": "#F07F2E"}
"""Those that are too dark for a dark page, and the lighter tones that stand for them there."""


def colours(method: str) -> tuple[str, str]:
    """A method's colour on a light page and on a dark one."""
    light = COLOURS.get(method, Method.colour)
    return light, ON_DARK.get(light, light)
