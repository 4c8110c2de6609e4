"""Is a log what it says it is? Schema, order, seal, the laws of every run, and the ε of its charges are checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from simnet.errors import BudgetError, LogError
from simnet.privacy.ledger import Account
from simnet.record.events import PrivacySpent, RunFinished, RunStarted
from simnet.record.folder import find_log, load_summary
from simnet.record.laws import Laws
from simnet.record.log import read
from simnet.record.metrics import PrivacyMeter
from simnet.record.thinning import Thinning


@dataclass(frozen=True)
class Report:
    """What was found out about a log; a finding is a sentence about something that is wrong."""

    events: int
    digest: str
    private: bool
    findings: tuple[str, ...]
    privacy: Account | None = None
    """the ε that the `privacy.spent` events add up to, for the network"""
    notes: tuple[str, ...] = ()
    """what could not be checked, and why"""

    @property
    def ok(self) -> bool:
        return not self.findings


def verify(path: Path) -> Report:
    """Check a run folder or a log. A log that cannot be read to its end is a finding, not an error.

    The log of a run folder must also be the one that its summary.json speaks of, and spend the ε that stands there.
    """
    laws, thinning = Laws(), None
    count, digest, private, meter = 0, "", False, None
    findings = []
    try:
        for seq, t, event in read(find_log(path)):
            laws(seq, t, event)
            count = seq
            if isinstance(event, RunStarted):
                private = event.private
                thinning = Thinning.of(event.scenario)
                if "privacy" in event.scenario:
                    meter = PrivacyMeter(event.scenario["privacy"]["delta"], len(event.rows))
            elif isinstance(event, PrivacySpent) and meter is not None:
                meter.spend(event)
            elif isinstance(event, RunFinished):
                digest = event.digest
    except LogError as error:
        return Report(count, "", private, (str(error),))
    except BudgetError as error:
        return Report(count, digest, private, (f"event {count}, privacy.spent: {error}",))
    findings += laws.finish()
    holds_charges = thinning is None or (PrivacySpent in thinning.kinds and thinning.sample is None)
    spent = meter.network() if meter is not None and holds_charges else None
    if Path(path).is_dir():
        findings += _summary_findings(Path(path), digest, spent)
    missing = [f"the laws of {title}" for title in laws.unchecked] + ([] if holds_charges else ["ε"])
    notes = [] if thinning is None else [f"{thinning}; not checked: {', '.join(missing) or 'nothing'}"]
    return Report(count, digest, private, tuple(findings), spent, tuple(notes))


def _summary_findings(folder: Path, digest: str, spent: Account | None) -> list[str]:
    try:
        summary = load_summary(folder)
    except LogError as error:
        return [str(error)]
    told = summary.get("digest")
    if told != digest:
        return [f"summary.json speaks of another run: its digest is {told}, the log's {digest}"]
    if spent is None:
        return []
    found = {"claimed_epsilon": spent.claimed_epsilon, "proven_epsilon": spent.proven_epsilon}
    stated = summary.get("privacy", {})
    return [
        f"summary.json says {name} = {stated.get(name)}, the log's charges come to {epsilon}"
        for name, epsilon in found.items()
        if not same(stated.get(name), epsilon)
    ]


def same(stated: object, found: object) -> bool:
    """Whether two figures agree, but for the last bits of ε, which depend on the processor's logarithms."""
    if isinstance(stated, (int, float)) and isinstance(found, (int, float)):
        return math.isclose(stated, found, rel_tol=1e-9) or (math.isnan(stated) and math.isnan(found))
    return bool(stated == found)
