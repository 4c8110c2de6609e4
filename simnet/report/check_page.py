"""The verdict of `simnet check` as a page: every check, what it found, and why it is asked."""

from __future__ import annotations

import html
from pathlib import Path

from simnet.check.outcome import CheckResult, Outcome, Status
from simnet.record.atomic import refusing, write_file
from simnet.report.page import cards, colours, facts, page
from simnet.version import VERSION

_MARKS = {Status.PASSED: "✓", Status.FAILED: "✗", Status.NOT_APPLICABLE: "–"}
_CLASSES = {Status.PASSED: "fine", Status.FAILED: "broken", Status.NOT_APPLICABLE: "moot"}


def check_page(result: CheckResult) -> str:
    """HTML, the same for the same result."""
    name = html.escape(result.reference)
    identity = {"part": result.reference, "place": result.place or "none", "simnet": VERSION}
    if result.source is not None:
        identity["SHA-256 of its module"] = result.source
    body = (
        f'<header><p class="kind">simnet check</p><h1>{name}</h1>'
        f'<p class="lead"><span class="method">{html.escape(result.verdict)}</span></p>'
        f'<ul class="cards three">{cards(_counts(result))}</ul></header>'
        f'<main><section><div class="head"><h2>Checks</h2></div><div class="card"><table class="checks"><tbody>'
        f"{''.join(map(_row, result.outcomes))}</tbody></table></div></section>"
        f'<section><div class="head"><h2>What was checked</h2></div><dl class="facts">{facts(identity)}</dl>'
        '<p class="note">A check is a trial, not a proof: what it did not try it did not see.</p></section></main>'
    )
    return page(f"check of {result.reference}", colours(result.reference), body, (), {})


def write_check_page(result: CheckResult, path: Path) -> None:
    """Write the page to a file."""
    with refusing(path, "the page cannot be written"):
        write_file(path, check_page(result).encode())


def _counts(result: CheckResult) -> list[tuple[str, str, str]]:
    remarks = ("no rule broken", "see what to do below", "nothing to check, or waits for another check")
    return [
        (status.value.capitalize(), str(result.count(status)), remark)
        for status, remark in zip(Status, remarks, strict=True)
    ]


def _row(each: Outcome) -> str:
    mark = f'<span aria-hidden="true">{_MARKS[each.status]}</span> {each.status.value}'
    return (
        f'<tr class="{_CLASSES[each.status]}"><td class="text"><b>{html.escape(each.name)}</b></td>'
        f'<td class="text mark">{mark}</td><td class="text long">{html.escape(each.sentence)}'
        f'<br><span class="note">{html.escape(each.why)}</span></td></tr>'
    )
