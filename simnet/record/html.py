"""Figures as HTML tables, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from simnet.record.formats import flat

_MOST = 200


def table_html(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with the same columns, which the first row names; nothing for no rows."""
    if not rows:
        return ""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row.values()) + "</tr>" for row in rows[:_MOST]
    )
    more = f"<p>… and {len(rows) - _MOST:,} more</p>" if len(rows) > _MOST else ""
    return f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def summary_html(summary: Mapping[str, Any]) -> str:
    """A run's summary, a row a figure."""
    rows = [{"figure": name, "value": value} for name, value in flat(summary).items()]
    return table_html(f"{summary['scenario']}: {summary['algorithm']}, seed {summary['seed']}", rows)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
