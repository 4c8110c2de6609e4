"""What the audited agent says it spends: the ε that a lower bound is held against."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from simnet.audit.section import Audit
from simnet.methods.dp_admm import HUB, DpAdmm
from simnet.methods.pdml import Pdml
from simnet.privacy import zcdp
from simnet.privacy.ledger import Charge, account
from simnet.privacy.mechanisms import mechanism
from simnet.scenario import Scenario


@dataclass(frozen=True)
class Promise:
    """ε by the method's paper, ε by proof (None: no finite one), and the one of the two that the scenario goes by."""

    claimed: float | None
    proven: float | None
    kept_by: str

    @property
    def epsilon(self) -> float:
        """The ε promised; infinite if nothing is."""
        found = self.claimed if self.kept_by == "claimed" else self.proven
        return math.inf if found is None else found


def promise(charges: Iterable[Charge], scenario: Scenario, plan: Audit) -> Promise:
    """Price the entries in the log of who has the row: `paper` calibration promises what its paper claims, any other a
    proof.

    PDML promises a label its local ε whoever listens, and the row a proven ε against all who do not hear the reports. A
    trusted hub promises nothing to a leaf whose upload is heard.
    Of the tests alone the paper claims what the theorem that it cites gives, ε1 + ε2, before it turns that into zCDP.
    """
    every = tuple(charges)
    kept_by = "claimed" if scenario.privacy.calibration == "paper" else "proven"
    spec = scenario.algorithm
    if plan.evidence != "tests":
        spent = account(every, scenario.privacy.delta)
        if isinstance(spec, Pdml):
            # Who hears the reports is told the features; who does not is promised, for the whole row, what is proven.
            if plan.evidence == "all":
                return Promise(spent.label_epsilon, spent.label_epsilon, kept_by)
            return Promise(None, spent.proven_epsilon, "proven")
        if isinstance(spec, DpAdmm) and spec.hub == "trusted" and plan.evidence == "all" and plan.victim != HUB:
            return Promise(None, None, kept_by)
        return Promise(spent.claimed_epsilon, spent.proven_epsilon, kept_by)
    tests = [charge for charge in every if charge.mechanism == "sparse-vector"]
    looked_at = [charge for charge in every if charge.mechanism == "tested-objective"]
    claimed = sum(_pure(charge) for charge in tests)
    return Promise(claimed, account([*tests, *looked_at], scenario.privacy.delta).proven_epsilon, kept_by)


def _pure(test: Charge) -> float:
    numbers = dict(test.parameters)
    claim = mechanism(test.mechanism, numbers).claim(numbers)
    return math.inf if claim is None else zcdp.pure_epsilon(claim.rho)
