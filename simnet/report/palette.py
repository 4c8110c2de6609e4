"""One colour a method, on every page as in every figure: Okabe and Ito's, told apart by colour-blind readers."""

from __future__ import annotations

METHODS = {
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

ON_DARK = {"#000000": "#EDEDED", "#0072B2": "#4BA3DD", "#009E73": "#2FBF95", "#D55E00": "#F07F2E"}
"""Those that are too dark for a dark page, and the lighter tones that stand for them there."""


def colours(method: str) -> tuple[str, str]:
    """A method's colour on a light page and on a dark one."""
    light = METHODS.get(method, "#7F7F7F")
    return light, ON_DARK.get(light, light)
