"""What an audit found, what it is held against, and the folder that keeps it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

import tomli_w
from rich.table import Table

from simnet.audit.bounds import Bound
from simnet.audit.conformance import LEAST_FACTOR, LEAST_RUNS, Conformance
from simnet.audit.section import Audit
from simnet.audit.trials import Trials
from simnet.methods.method import Promise
from simnet.record.atomic import AtomicFolder, refusing
from simnet.record.folder import slug
from simnet.record.formats import csv_text, json_text
from simnet.scenario import Scenario


class Verdict(StrEnum):
    """What an audit comes to."""

    HOLDS = "holds"
    BROKEN_MECHANISM = "broken (mechanism)"
    BROKEN_EPSILON = "broken (ε)"
    INCONCLUSIVE = "inconclusive"
    NOTHING = "nothing is promised"


EXIT_CODES = {Verdict.BROKEN_MECHANISM: 1, Verdict.BROKEN_EPSILON: 1, Verdict.INCONCLUSIVE: 3}
"""Of the command line, where it is not 0; 2 is for a user's mistake."""


@dataclass(frozen=True)
class AuditResult:
    """What the mechanism was seen to do, the lower bound on ε, and what both are held against.

    `closest` is the lower bound at the δ where it comes closest to the promise, or farthest above it; None if nothing
    is promised at any. `gaussian` is the bound that would hold if the chosen score were Gaussian on both data sets;
    None if it is not.
    """

    scenario: Scenario
    plan: Audit
    trials: Trials
    promise: Promise
    bound: Bound
    closest: Bound | None
    gaussian: float | None
    conformance: Conformance

    @property
    def broken(self) -> bool:
        return self.verdict in (Verdict.BROKEN_MECHANISM, Verdict.BROKEN_EPSILON)

    @property
    def epsilon_broken(self) -> bool:
        """Whether a lower bound lies above the promise, at the scenario's δ or at another."""
        return self.bound.epsilon > self.promise.epsilon or (self.closest is not None and self.closest.excess > 0.0)

    @property
    def verdict(self) -> Verdict:
        if not math.isfinite(self.promise.epsilon):
            return Verdict.NOTHING
        if self.conformance.broken_by:
            return Verdict.BROKEN_MECHANISM
        if self.epsilon_broken:
            return Verdict.BROKEN_EPSILON
        return Verdict.HOLDS if self.conformance.conclusive else Verdict.INCONCLUSIVE

    @property
    def exit_code(self) -> int:
        """Of the command line."""
        return EXIT_CODES.get(self.verdict, 0)

    @property
    def score(self) -> str:
        """The name of the score that was chosen."""
        return self.trials.names[self.bound.column]

    def summary(self) -> dict[str, Any]:
        """Everything but the scores themselves, as plain values."""
        bound = self.bound
        return {
            "scenario": self.scenario.name,
            "algorithm": self.scenario.algorithm.name,
            "seed": self.scenario.seed,
            "canary": self.plan.canary,
            "evidence": self.plan.evidence,
            "observer": list(self.plan.observer),
            "lie": self.plan.lie,
            "runs": self.plan.runs,
            "delta": self.scenario.privacy.delta,
            "claimed_epsilon": _finite(self.promise.claimed),
            "proven_epsilon": _finite(self.promise.proven),
            **({} if self.promise.declared is None else {"declared_epsilon": _finite(self.promise.declared)}),
            "promise": self.promise.kept_by,
            "lower_bound": bound.epsilon,
            "confidence": self.plan.confidence,
            "gaussian_shape_bound": _finite(self.gaussian),
            "score": self.score,
            "event": {
                "threshold": _finite(bound.threshold),
                "above": bound.above,
                "speaks_for": "first" if bound.first else "second",
                "likely": bound.likely,
                "unlikely": bound.unlikely,
                "runs": list(bound.runs),
            },
            "curve": None if self.closest is None else self._curve(self.closest),
            "f90": self.conformance.f90,
            "conformance": self.conformance.summary(),
            "broken": self.broken,
            "verdict": self.verdict.value,
        }

    def _curve(self, closest: Bound) -> dict[str, Any]:
        """Where on the curve of ε and δ the lower bound comes closest to the promise."""
        return {
            "delta": closest.delta,
            "promised": closest.promised,
            "lower_bound": closest.epsilon,
            "score": self.trials.names[closest.column],
        }

    def store(self, out: str | Path) -> Path:
        """Keep the audit as `out/<name>/<digest12>/`, all of it or nothing: figures, scores, picture, scenario."""
        from simnet.audit.figure import draw

        plan = self.plan.model_dump(mode="json", exclude_none=True)
        texts = {
            "audit.json": json_text(self.summary()),
            "scores.csv": csv_text(self._rows()),
            "scenario.toml": tomli_w.dumps(self.scenario.resolved() | {"audit": plan}),
        }
        digest = sha256("".join(texts.values()).encode()).hexdigest()
        parent = Path(out) / slug(self.scenario.name)
        with refusing(parent, "the audit cannot be stored"):
            folder = AtomicFolder(parent)
            try:
                for name, text in texts.items():
                    folder.add(name, text.encode())
                draw(self, folder.path / "audit.png")
                folder.commit(parent / digest[:12])
            finally:
                folder.discard()
        return parent / digest[:12]

    def _rows(self) -> list[dict[str, Any]]:
        """One row per run: data set 1 or 2, then the scores to eight digits."""
        rows = []
        for number, table in enumerate((self.trials.first, self.trials.second), 1):
            for run, scores in enumerate(table):
                named = zip(self.trials.names, (f"{score:.8g}" for score in scores), strict=True)
                rows.append({"data": number, "run": run, **dict(named)})
        return rows


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def audit_table(result: AuditResult) -> Table:
    """One audit, at most 80 columns wide."""
    plan, bound = result.plan, result.bound
    kept = {"claimed": "by its paper", "proven": "by proof", "declared": "by its author"}
    scenario = result.scenario
    whom = f"observer {'+'.join(map(str, plan.observer))}, " if plan.observer else ""
    attack = f"{scenario.algorithm.name}, {whom}{plan.canary} canary, δ = {scenario.privacy.delta:g}"
    table = Table(title=f"{scenario.name}\n{attack}", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    side = "tests only; " if plan.evidence == "tests" else ""
    event = f"{result.score}: {bound.likely:,} of {bound.runs[0]:,} against {bound.unlikely:,} of {bound.runs[1]:,}"
    seen = result.conformance
    rows = [
        ("ε claimed", _number(result.promise.claimed), f"{side}by the method's paper"),
        ("ε proven", _number(result.promise.proven), f"{side}by a theorem we stand behind"),
        *_declared(result.promise.declared, side),
        ("lower bound", _number(bound.epsilon), f"at {plan.confidence:.0%} confidence; {event}"),
        ("Gaussian shape", _number(result.gaussian), "a lower bound only if the score is Gaussian"),
    ]
    if result.closest is not None:
        closest = result.closest
        where = f"at δ = {closest.delta:.2g}, where {closest.promised:.4g} is promised; the closest it comes"
        rows.append(("on the curve", _number(closest.epsilon), where))
    rows += [
        ("mechanism", _number_of_findings(len(seen.broken_by)), _findings(seen)),
        ("f90", "–" if seen.f90 is None else f"{seen.f90:.2f}", "noise times this is caught in nine audits of ten"),
        ("runs", f"{plan.runs:,}", "on each data set, half of them to choose the event"),
    ]
    if plan.lie is not None:
        rows.append(("lie", plan.lie, "what the victim was made to do"))
    rows.append(("verdict", result.verdict, _reason(result, kept[result.promise.kept_by])))
    for row in rows:
        table.add_row(*row)
    return table


def _declared(epsilon: float | None, side: str) -> list[tuple[str, str, str]]:
    return [] if epsilon is None else [("ε declared", _number(epsilon), f"{side}by the method's author")]


def _reason(result: AuditResult, kept: str) -> str:
    seen, promised = result.conformance, result.promise.epsilon
    match result.verdict:
        case Verdict.NOTHING:
            return "no finite ε is promised"
        case Verdict.BROKEN_MECHANISM:
            return seen.sentences[0] if seen.sentences else "what is drawn is not what was promised"
        case Verdict.BROKEN_EPSILON:
            return f"lower bound above the claim of {promised:.4g} ({kept}), or above its curve"
        case Verdict.HOLDS:
            return f"nothing found against ε = {promised:.4g} ({kept})"
    if result.plan.runs < LEAST_RUNS:
        return f"nothing found, but it takes at least {LEAST_RUNS} runs on each data set to say so"
    if seen.f90 is None:
        return "nothing found, but no noise could be recovered to look at"
    return f"nothing found, but noise times {LEAST_FACTOR:g} might have been missed"


def _findings(seen: Conformance) -> str:
    if seen.breaches:
        return ", ".join(f"{check} ({count:,} times)" for check, count in seen.breaches.items())
    broken = [each for each in seen.families if each.name in seen.broken_by]
    found = [f"{each.name}: {each.worst}, p = {each.p_value:.1g}" for each in broken]
    return "; ".join(found[:2]) or "payloads, ledger, traffic and noise are as they should be"


def _number_of_findings(count: int) -> str:
    return f"{count} broken" if count else "clean"


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if math.isfinite(value) else "∞"
