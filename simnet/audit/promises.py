"""What an audit is held against: the ε that whoever has the row says it spends, at one δ and at all of them."""

from __future__ import annotations

import math

import numpy as np

from simnet.audit.insider import View
from simnet.audit.section import Audit
from simnet.audit.trials import Trials
from simnet.methods.method import Promise
from simnet.privacy import claims
from simnet.privacy.ledger import account, claim_of
from simnet.privacy.observers import epsilon_of_shift
from simnet.scenario import Scenario

_DELTAS = np.geomspace(1e-6, 0.5, 18)
_TESTS = ("sparse-vector", "single-threshold", "threshold-test")


def promised_curve(trials: Trials, scenario: Scenario, plan: Audit) -> list[tuple[float, float]]:
    """Pairs of δ and the ε promised at it, where there is one; the scenario's own δ is among them."""
    deltas = sorted({scenario.privacy.delta, *(float(delta) for delta in _DELTAS)})
    found = [(delta, promise(trials, scenario, plan, delta).epsilon) for delta in deltas]
    return [(delta, epsilon) for delta, epsilon in found if math.isfinite(epsilon)]


def promise(trials: Trials, scenario: Scenario, plan: Audit, delta: float | None = None) -> Promise:
    """What the audited agent says it spends at δ, by default the scenario's: the ε that a lower bound is held against.

    The charges are those of whoever has the row. `paper` calibration promises what its paper claims, any other a proof;
    the method knows whom it promises what (`Method.promise`). Of the tests alone the paper claims what the theorem that
    it cites gives, ε1 + ε2, before it turns that into zCDP. Against an observer it is what holds for what that one saw.
    """
    delta = scenario.privacy.delta if delta is None else delta
    if trials.view is not None:
        return _against(trials.view, delta)
    kept_by = "claimed" if scenario.privacy.calibration == "paper" else "proven"
    if plan.evidence != "tests":
        spent = account(trials.charges, delta)
        heard = plan.evidence == "all"
        return scenario.algorithm.promise(spent, kept_by, owner=plan.victim, reports_heard=heard)
    tests = [
        charge
        for charge in trials.charges
        if charge.mechanism in ("sparse-vector", "single-threshold", "threshold-test")
    ]
    looked_at = [charge for charge in trials.charges if charge.mechanism == "tested-objective"]
    prices = [claim_of(charge.use) for charge in tests]
    claimed = sum(math.inf if price is None else claims.pure_epsilon(price.rho) for price in prices)
    return Promise(claimed, account([*tests, *looked_at], delta).proven_epsilon, kept_by)


def _against(view: View, delta: float) -> Promise:
    """ε against an observer: by Theorem O, or by the formula that somebody claims in its place."""
    proven, claimed = epsilon_of_shift(view.proven, delta), view.claimed
    if claimed is None:
        return Promise(None, proven, "proven")
    return Promise(epsilon_of_shift(claimed, delta), proven, "claimed")
