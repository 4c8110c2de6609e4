"""Does a scenario keep its promise? An auditor looks at the mechanism, an eavesdropper tries to break the ε.

>>> from simnet import Scenario
>>> from simnet.audit import Audit, audit
>>> scenario = Scenario.of({"data": {"source": "synthetic"}, "algorithm": {"name": "dvp"}, "rounds": 1})
>>> print(audit(scenario, Audit(runs=10)).verdict)
inconclusive
"""

from __future__ import annotations

from simnet.audit.bounds import against_curve, gaussian_shape, lower_bound
from simnet.audit.promises import promise, promised_curve
from simnet.audit.result import AuditResult
from simnet.audit.section import Audit, load_audit
from simnet.audit.trials import Progress, examined, run_trials
from simnet.scenario import Scenario

__all__ = ["Audit", "AuditResult", "audit", "load_audit"]


def audit(
    scenario: Scenario, plan: Audit | None = None, *, workers: int = 1, progress: Progress | None = None
) -> AuditResult:
    """Attack a scenario.

    Args:
        scenario: what is attacked.
        plan: how; the [audit] section of a file.
        workers: processes to spread the runs over; the result does not depend on it.
        progress: told how many runs are done, of how many.
    """
    plan = plan or Audit()
    trials = run_trials(scenario, plan, workers, progress)
    delta, confidence = scenario.privacy.delta, 0.5 * (1.0 + plan.confidence)
    # Two statements about ε, each with half of the error: one at δ, one over the whole curve.
    bound = lower_bound(trials.first, trials.second, delta, confidence)
    curve = promised_curve(trials, scenario, plan)
    closest = against_curve(trials.first, trials.second, curve, confidence) if curve else None
    # The score was chosen by every other run; the rest is for judging it.
    first, second = (table[1::2, bound.column] for table in (trials.first, trials.second))
    shape = gaussian_shape(first, second, delta, plan.confidence)
    seen = examined(trials, scenario, plan)
    return AuditResult(scenario, plan, trials, promise(trials, scenario, plan), bound, closest, shape, seen)
