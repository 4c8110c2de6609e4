"""A page: a frame, a body, styles, scripts and data in one file that may load nothing else.

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
    """A table column by column: names stand there once, not once a row."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def facts(pairs: Mapping[str, str]) -> str:
    """A list of names and values."""
    return "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in pairs.items())


def cards(entries: Sequence[tuple[str, str, str]]) -> str:
    """Name, figure and remark, a card each."""
    return "".join(
        f'<li><span class="name">{html.escape(name)}</span><strong>{html.escape(figure)}</strong>'
        f'<span class="remark">{html.escape(remark)}</span></li>'
        for name, figure, remark in entries
    )
