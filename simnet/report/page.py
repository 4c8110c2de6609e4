"""A page: a frame, a body, styles, scripts and data in one file that may load nothing else; numbers and colours for it.

The page's own policy forbids every request and every script but the one written here, named by its hash; so even a
scenario's name that slipped through the escaping could neither run nor call home.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any

from simnet.methods import METHODS

COLOURS = {name: method.colour for name, method in METHODS.items()}
"""One colour per method, on every page as in every figure: Okabe and Ito's, which colour-blind readers tell apart."""
ON_DARK = {
    "#000000": "#EDEDED",
    "#0072B2": "#4BA3DD",
    "#009E73": "#2FBF95",
    "#D55E00": "#F07F2E",
    "#004488": "#7A9FDB",
    "#661100": "#C9705C",
    "#332288": "#9C8FE6",
}
"""Those that are too dark for a dark page, and the lighter tones that stand for them there."""


def page(title: str, accent: tuple[str, str], body: str, scripts: Sequence[str], data: Mapping[str, Any]) -> str:
    """The whole file. `body` is HTML; `scripts` are names of assets, joined in this order into one module."""
    script = "\n".join(asset(name) for name in scripts)
    digest = base64.b64encode(sha256(f"\n{script}".encode()).digest()).decode()
    return Template(asset("frame.html")).substitute(
        title=html.escape(title),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'",
        style=asset("page.css"),
        accent=accent[0],
        accent_on_dark=accent[1],
        body=body,
        data=embedded(data),
        script=script,
    )


def asset(name: str) -> str:
    """The text of a file that ships with the package."""
    return (files("simnet.report") / "assets" / name).read_text(encoding="utf-8")


def embedded(data: Mapping[str, Any]) -> str:
    """JSON that can stand inside a script element whatever texts it holds."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """A table column by column, so that each name is written once and not once per row."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def facts(pairs: Mapping[str, str]) -> str:
    """A list of names and values."""
    return "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in pairs.items())


def cards(entries: Sequence[tuple[str, str, str]]) -> str:
    """One card per entry: its name, figure and remark."""
    return "".join(
        f'<li><span class="name">{html.escape(name)}</span><strong>{html.escape(figure)}</strong>'
        f'<span class="remark">{html.escape(remark)}</span></li>'
        for name, figure, remark in entries
    )


def figure(value: float | None) -> str:
    """Four digits, `–` for none.

    >>> figure(0.38617927), figure(7.42194985), figure(0.99999999907), figure(2.5e-7), figure(None)
    ('0.3862', '7.422', '1.000', '2.500e-07', '–')
    """
    if value is None:
        return "–"
    size = abs(value)
    if value == 0 or 0.001 <= size < 1e5:
        digits = 4 if size < 0.9995 else 3 if size < 10 else 2 if size < 100 else 1
        return f"{value:,.{digits}f}" if value else "0"
    return f"{value:.3e}"


def percent(share: float | None) -> str:
    """
    >>> percent(0.2318)
    '23.2 %'
    """
    return "–" if share is None else f"{100 * share:.1f} %"


def seconds(value: float) -> str:
    """
    >>> seconds(6.0), seconds(0.3512), seconds(7325.0)
    ('6.00 s', '0.35 s', '2 h 02 min')
    """
    if value < 600:
        return f"{value:.2f} s"
    minutes = round(value / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"


def colours(method: str) -> tuple[str, str]:
    """A method's colour on a light page and on a dark one."""
    light = COLOURS.get(method)
    if light is not None:
        return light, ON_DARK.get(light, light)
    # A method that is not ours: a hue by its name, the same on every page.
    hue = int(sha256(method.encode()).hexdigest()[:8], 16) % 360
    return f"hsl({hue} 65% 40%)", f"hsl({hue} 65% 62%)"
