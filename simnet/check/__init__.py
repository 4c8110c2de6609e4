"""`simnet check`: does a part, whoever wrote it, keep the rules that every part of simnet keeps?

>>> from simnet.check import check
>>> check("admm", quick=True).passed
True
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simnet.check.kit import LOADS, Progress, asked, looked_at
from simnet.check.outcome import CheckResult, Failing, Outcome, Status
from simnet.check.subject import subject

__all__ = ["CheckResult", "Outcome", "Status", "check"]


def check(
    reference: str,
    changes: Mapping[str, Any] | None = None,
    *,
    scenario: Path | None = None,
    quick: bool = False,
    progress: Progress | None = None,
) -> CheckResult:
    """Ask a part everything.

    Args:
        reference: `my_file.py:MyMethod`, `package.module:MyMethod`, or a word of simnet's own such as `admm`.
        changes: fields of the scenario by their dotted paths, such as {"algorithm.step": 0.5}.
        scenario: a scenario file in place of the small world.
        quick: whether to leave live runs and audits out.
        progress: told how many checks are done, of how many.
    """
    try:
        found = subject(reference, changes, scenario)
    except Failing as sentence:
        return CheckResult(reference, "", None, (Outcome(LOADS.name, Status.FAILED, str(sentence), LOADS.why),))
    bound = getattr(found.part, "bound", None)
    outcomes = tuple(looked_at(found, asked(found, quick=quick), progress))
    return CheckResult(reference, found.place.path, None if bound is None else bound.sha256, outcomes)
