"""A plan beside which something else is paid for first: the moments by which rows are scaled.

The moments are released once, by the Gaussian mechanism. Their share is one of the squared mean of the Gaussian
trade-off that (ε, δ) is worth, which is what adds up. What learns on the scaled rows has all that is left: its ε' is
the largest that composes with the moments to ε, by the ledger's own account.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import scipy

from simnet.errors import BudgetError
from simnet.privacy import trade_offs
from simnet.privacy.budget import Facts, NoisePlan, Privacy
from simnet.privacy.ledger import Charge, account
from simnet.privacy.ready_plans import ReadyPlan, gaussian_plan
from simnet.privacy.sparse_vector import SvtPlan
from simnet.privacy.trade_offs import TradeOff

_CLOSE = 1e-6
"""The share of ε that may be given away."""


@dataclass(frozen=True)
class MomentsPlan(NoisePlan):
    """Noise on the moments, and the plan of what comes after."""

    moments: ReadyPlan
    then: NoisePlan

    @property
    def opening(self) -> tuple[Charge, ...]:  # type: ignore[override]
        return self.then.opening

    @property
    def test(self) -> SvtPlan | None:  # type: ignore[override]
        return self.then.test

    @property
    def charges(self) -> tuple[Charge, ...]:
        return (*self.moments.charges, *self.then.charges)

    @property
    def sigma(self) -> float:
        """σ of the noise on the moments."""
        return self.moments.rounds[0].scale

    def amounts(self) -> Facts:
        return {"σ on the moments": self.sigma} | self.then.amounts()

    def weakened(self, factor: float) -> Self:
        return replace(self, moments=self.moments.weakened(factor), then=self.then.weakened(factor))


def moments_noise(privacy: Privacy, sensitivity: float, share: float) -> ReadyPlan:
    """Noise that costs that share of what (ε, δ) is worth."""
    if privacy.calibration == "none":
        return gaussian_plan(privacy, 1, sensitivity)
    worth = trade_offs.gaussian_mean(privacy.epsilon, privacy.delta)
    return gaussian_plan(privacy, 1, sensitivity, sigma=sensitivity / (share**0.5 * worth))


def beside(privacy: Privacy, moments: ReadyPlan, plan: Callable[[Privacy], NoisePlan]) -> MomentsPlan:
    """The plan with the largest ε' that meets the budget together with the moments."""

    def over(epsilon: float) -> float:
        try:
            charges = plan(left(epsilon)).charges
        except BudgetError:  # so little meets no plan: more is wanted
            return -privacy.epsilon
        found = account((*moments.charges, *charges), privacy.delta).proven_epsilon
        assert found is not None, "a plan that meets an ε has a price"
        return found - privacy.epsilon

    def left(epsilon: float) -> Privacy:
        return privacy.model_copy(update={"epsilon": epsilon})

    alone = account(moments.charges, privacy.delta).proven_epsilon
    if alone is None or alone >= privacy.epsilon:
        raise BudgetError("the moments alone cost that much; a smaller share would fit")
    worth = trade_offs.gaussian_mean(privacy.epsilon, privacy.delta)
    spent = sum((charge_square(charge) for charge in moments.charges), 0.0)
    guess = trade_offs.epsilon(TradeOff(square=worth**2 - spent), privacy.delta)
    if guess <= 0.0:
        raise BudgetError("nothing is left beside the moments: δ alone would pay for it, and no plan is made for ε = 0")
    if not -_CLOSE * privacy.epsilon <= over(guess) <= 0.0 and over(privacy.epsilon) > 0.0:
        low = 0.5 * guess
        while over(low) > 0.0:  # other proofs than the exact one ask for more (privacy.bound)
            low *= 0.5
        guess = float(scipy.optimize.brentq(over, low, privacy.epsilon, rtol=0.1 * _CLOSE))
    while over(guess) > 0.0:
        guess *= 1.0 - 0.1 * _CLOSE
    return MomentsPlan(moments, plan(left(guess)))


def charge_square(charge: Charge) -> float:
    """ν² of a Gaussian charge."""
    numbers = dict(charge.parameters)
    return float((numbers["sensitivity"] / numbers["sigma"]) ** 2)
