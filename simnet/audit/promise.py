"""What the audited agent says it spends: the ε that a lower bound is held against."""

from __future__ import annotations

import math
from collections.abc import Iterable

from simnet.audit.section import Audit
from simnet.methods.method import Promise
from simnet.privacy import zcdp
from simnet.privacy.ledger import Charge, account
from simnet.privacy.mechanisms import mechanism
from simnet.scenario import Scenario


def promise(charges: Iterable[Charge], scenario: Scenario, plan: Audit) -> Promise:
    """Price the entries in the log of who has the row: `paper` calibration promises what its paper claims, any other a
    proof.

    The method knows whom it promises what (`Method.promise`).
    Of the tests alone the paper claims what the theorem that it cites gives, ε1 + ε2, before it turns that into zCDP.
    """
    every = tuple(charges)
    kept_by = "claimed" if scenario.privacy.calibration == "paper" else "proven"
    if plan.evidence != "tests":
        spent = account(every, scenario.privacy.delta)
        heard = plan.evidence == "all"
        return scenario.algorithm.promise(spent, kept_by, owner=plan.victim, reports_heard=heard)
    tests = [charge for charge in every if charge.mechanism == "sparse-vector"]
    looked_at = [charge for charge in every if charge.mechanism == "tested-objective"]
    claimed = sum(_pure(charge) for charge in tests)
    return Promise(claimed, account([*tests, *looked_at], scenario.privacy.delta).proven_epsilon, kept_by)


def _pure(test: Charge) -> float:
    numbers = dict(test.parameters)
    claim = mechanism(test.mechanism, numbers).claim(numbers)
    return math.inf if claim is None else zcdp.pure_epsilon(claim.rho)
