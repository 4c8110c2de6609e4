"""An audit as a table for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from simnet.audit.result import AuditResult


def audit_table(result: AuditResult) -> Table:
    """One audit, at most 80 columns wide."""
    plan, bound = result.plan, result.bound
    kept = {"claimed": "by its paper", "proven": "by proof"}
    scenario = result.scenario
    attack = f"{scenario.algorithm.name}, {plan.canary} canary, δ = {scenario.privacy.delta:g}"
    table = Table(title=f"{scenario.name}\n{attack}", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    side = "tests only; " if plan.evidence == "tests" else ""
    event = f"{result.score}: {bound.likely:,} of {bound.runs[0]:,} against {bound.unlikely:,} of {bound.runs[1]:,}"
    rows = [
        ("ε claimed", _number(result.promise.claimed), f"{side}by the method's paper"),
        ("ε proven", _number(result.promise.proven), f"{side}by a theorem we stand behind"),
        ("lower bound", _number(bound.epsilon), f"at {plan.confidence:.0%} confidence; {event}"),
        ("Gaussian shape", _number(result.gaussian), "a lower bound only if the score is Gaussian"),
        ("runs", f"{plan.runs:,}", "on each data set, half of them to choose the event"),
    ]
    if plan.lie is not None:
        rows.append(("lie", plan.lie, "what the victim was made to do"))
    rows.append(("verdict", result.verdict.partition(":")[0], _reason(result, kept[result.promise.kept_by])))
    for row in rows:
        table.add_row(*row)
    return table


def _reason(result: AuditResult, kept: str) -> str:
    if result.broken:
        return f"lower bound above the claim of {result.promise.epsilon:.4g} ({kept})"
    if not math.isfinite(result.promise.epsilon):
        return "no finite ε is promised"
    return f"nothing found against ε = {result.promise.epsilon:.4g} ({kept})"


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if math.isfinite(value) else "∞"
