"""What an audit found, what it is held against, and the folder that keeps it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import tomli_w
from rich.table import Table

from simnet.audit.bounds import Bound
from simnet.audit.section import Audit
from simnet.audit.trials import Trials
from simnet.methods.method import Promise
from simnet.privacy import claims
from simnet.privacy.ledger import Charge, account, claim_of
from simnet.record.atomic import AtomicFolder, refusing
from simnet.record.folder import slug
from simnet.record.formats import csv_text, json_text
from simnet.scenario import Scenario


@dataclass(frozen=True)
class AuditResult:
    """The lower bound on ε and what it is held against.

    `gaussian` is the bound that would hold if the chosen score were Gaussian on both data sets; None if it is not.
    """

    scenario: Scenario
    plan: Audit
    trials: Trials
    promise: Promise
    bound: Bound
    gaussian: float | None

    @property
    def broken(self) -> bool:
        return self.bound.epsilon > self.promise.epsilon

    @property
    def verdict(self) -> str:
        if self.broken:
            return "BROKEN: lower bound above the claim"
        return "holds" if math.isfinite(self.promise.epsilon) else "nothing is promised"

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
            "lie": self.plan.lie,
            "runs": self.plan.runs,
            "delta": self.scenario.privacy.delta,
            "claimed_epsilon": _finite(self.promise.claimed),
            "proven_epsilon": _finite(self.promise.proven),
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
            "broken": self.broken,
            "verdict": self.verdict,
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


def promise(charges: Iterable[Charge], scenario: Scenario, plan: Audit) -> Promise:
    """What the audited agent says it spends: the ε that a lower bound is held against.

    The charges are those of whoever has the row. `paper` calibration promises what its paper claims, any other a proof;
    the method knows whom it promises what (`Method.promise`). Of the tests alone the paper claims what the theorem that
    it cites gives, ε1 + ε2, before it turns that into zCDP.
    """
    every = tuple(charges)
    kept_by = "claimed" if scenario.privacy.calibration == "paper" else "proven"
    if plan.evidence != "tests":
        spent = account(every, scenario.privacy.delta)
        heard = plan.evidence == "all"
        return scenario.algorithm.promise(spent, kept_by, owner=plan.victim, reports_heard=heard)
    tests = [charge for charge in every if charge.mechanism == "sparse-vector"]
    looked_at = [charge for charge in every if charge.mechanism == "tested-objective"]
    prices = [claim_of(charge.use) for charge in tests]
    claimed = sum(math.inf if price is None else claims.pure_epsilon(price.rho) for price in prices)
    return Promise(claimed, account([*tests, *looked_at], scenario.privacy.delta).proven_epsilon, kept_by)


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
