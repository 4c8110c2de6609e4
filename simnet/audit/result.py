"""What an audit found, and the folder that keeps it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import tomli_w

from simnet.audit.bounds import Bound
from simnet.audit.section import Audit
from simnet.audit.trials import Trials
from simnet.methods.method import Promise
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

        texts = {
            "audit.json": json_text(self.summary()),
            "scores.csv": csv_text(self._rows()),
            "scenario.toml": self._toml(),
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
        """One row a run; data set 1 or 2, then the scores to eight digits."""
        rows = []
        for number, table in enumerate((self.trials.first, self.trials.second), 1):
            for run, scores in enumerate(table):
                named = zip(self.trials.names, (f"{score:.8g}" for score in scores), strict=True)
                rows.append({"data": number, "run": run, **dict(named)})
        return rows

    def _toml(self) -> str:
        mine = self.plan.model_dump(mode="json", exclude_none=True)
        return tomli_w.dumps(self.scenario.resolved() | {"audit": mine})


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
