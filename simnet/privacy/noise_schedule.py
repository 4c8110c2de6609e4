"""Noise by a schedule: which rounds use the data, and with how much noise each.

The noise is Gaussian, or of the gamma type (density ∝ exp(−α|n|)). It stands in the objective, on the minimiser, or on
whatever a method releases. A schedule meets a budget (`calibrated`), or has the noise that somebody names; then ε is
what it comes to.

Gamma-type noise is pure differential privacy for exact minimisers only. A solver stops at a tolerance, so every round
with noise in the objective adds a little Gaussian noise to what it releases.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import scipy

from simnet.errors import BudgetError
from simnet.privacy.budget import BARE_TOLERANCE, Facts, NoisePlan, span
from simnet.privacy.ledger import BARE, Basis, Charge, account, claimed, trade_off_of
from simnet.privacy.mechanisms import Bound, problem_parameters
from simnet.privacy.noise import (
    gamma_length,
    gamma_spread,
    gamma_type,
    gaussian,
    gaussian_length,
    gridded,
    laplace_vector,
)
from simnet.privacy.objective_perturbation import OUTPUT_SHARE, default_tolerance
from simnet.privacy.problem import LocalProblem
from simnet.privacy.rounding import certified, domain
from simnet.privacy.trade_offs import TradeOff, gaussian_mean
from simnet.vectors import Vector

Noise = Literal["gamma", "gaussian", "laplace"]
DRAWS = {"gamma": gamma_type, "gaussian": gaussian, "laplace": laplace_vector}
"""How noise of each kind is drawn."""
GammaMechanism = Literal["penalty-gamma", "linear-gamma"]

_SMALLEST, _LARGEST = 1e-12, 1e12
"""Scales beyond which no noise is looked for."""


@dataclass(frozen=True, kw_only=True)
class RoundPlan:
    """The noise and the charge of one round.

    `scale` is the rate α of gamma-type noise or the σ of Gaussian noise; `output_sigma` the noise on the approximate
    minimiser (0 where the method's own noise covers it). `domain` is how long the linear term of the round's problem
    may be for its certificate to hold (`simnet.privacy.rounding`).
    """

    scale: float
    tolerance: float
    output_sigma: float
    charge: Charge
    domain: float = math.inf

    @property
    def stop(self) -> float:
        """Where the round's solve ends, so that its certificate is `tolerance`."""
        return certified(self.tolerance, self.domain)


@dataclass(frozen=True)
class NoiseSchedule(NoisePlan):
    """The rounds that use the data, one after another; `opening` is charged before the first."""

    noise: Noise
    rounds: tuple[RoundPlan, ...]
    opening: tuple[Charge, ...] = ()

    @property
    def charges(self) -> tuple[Charge, ...]:
        return (*self.opening, *(plan.charge for plan in self.rounds))

    @property
    def silent(self) -> bool:
        """Whether there is no noise at all."""
        return self.rounds[0].scale == 0.0

    def draw(self, plan: RoundPlan, rng: np.random.Generator, features: int) -> tuple[Vector, Vector]:
        """The method's noise of one of the rounds, and the noise on its approximate minimiser."""
        return DRAWS[self.noise](rng, plan.scale, features), gaussian(rng, plan.output_sigma, features)

    def on_grid(self, plan: RoundPlan, release: Vector) -> Vector:
        """What a round releases, on the grid of the noise that was added last: to the output, or the method's own."""
        if plan.output_sigma or self.noise != "gamma":
            return gridded(release, plan.output_sigma or plan.scale)
        return gridded(release, gamma_spread(plan.scale, len(release)) if plan.scale else 0.0)

    def amounts(self) -> Facts:
        scale = {"gamma": "rate α", "gaussian": "σ", "laplace": "scale"}[self.noise] + ", first round to last"
        return {
            "rounds that use the data": len(self.rounds),
            "noise": "none" if self.silent else self.noise,
            scale: f"{self.rounds[0].scale:.6g} to {self.rounds[-1].scale:.6g}",
            "σ on the output": span([found.output_sigma for found in self.rounds]),
            "β, gradient norm": span([found.tolerance for found in self.rounds]),
            "B, domain": span([found.domain for found in self.rounds]),
        }

    def weakened(self, factor: float) -> Self:
        # The scale of gamma-type noise is a rate: less noise is a larger one.
        factor = 1.0 / factor if self.noise == "gamma" else factor
        return replace(self, rounds=tuple(replace(each, scale=factor * each.scale) for each in self.rounds))


def bare_schedule(rounds: int, tolerance: float | None) -> NoiseSchedule:
    """No noise at all."""
    stop = BARE_TOLERANCE if tolerance is None else tolerance
    plan = RoundPlan(scale=0.0, tolerance=stop, output_sigma=0.0, charge=BARE)
    return NoiseSchedule("gaussian", (plan,) * rounds)


def calibrated(
    at: Callable[[float], list[RoundPlan]],
    epsilon: float,
    delta: float,
    *,
    basis: Basis = "proven",
    part: str,
    beside: Sequence[Charge] = (),
) -> list[RoundPlan]:
    """The rounds at the smallest scale that costs at most (ε, δ), by proof or by the papers' claims.

    `at` gives the rounds at a scale, 1/α or σ of the first round; `part` names what no noise can reduce, such as the
    charges `beside` them.
    """

    def loss(scale: float) -> float:
        # Equal charges at once: a state of spending for each of them would be made otherwise.
        counts = Counter(p.charge for p in at(scale))
        charges = [*beside, *(replace(charge, times=times) for charge, times in counts.items())]
        found = account(charges, delta).proven_epsilon if basis == "proven" else claimed(charges, delta)
        return math.inf if found is None else found

    asked = [*beside, *(plan.charge for plan in at(1.0))]
    if basis == "proven" and (exact := _exact_scale(asked, epsilon, delta)):
        return at(exact)
    return at(smallest_scale(loss, epsilon, part))


def _exact_scale(charges: Sequence[Charge], epsilon: float, delta: float) -> float | None:
    """The scale that meets (ε, δ) exactly, given the charges at scale 1; None if they are not plain Gaussian noise.

    Their ν falls as 1/scale, and no proof beats the exact one. Nine digits are given away to rounding.
    """
    spent = TradeOff()
    for charge in charges:
        one = trade_off_of(charge.use)
        if one is None or not one.exact:
            return None
        spent += one.times(charge.times)
    return math.sqrt(spent.square) / gaussian_mean(epsilon, delta) * (1.0 + 1e-9)


def smallest_scale(loss_of_scale: Callable[[float], float], target: float, part: str) -> float:
    """The smallest scale, to nine digits, at which a decreasing loss is at most `target`; never above it.

    `part` names what no noise can reduce, for the sentence that says that the target cannot be met.
    """
    if not target > 0.0:
        raise BudgetError(f"epsilon = {target}: it must be above 0")
    low = high = 1.0
    while loss_of_scale(high) > target:
        low, high = high, high * 8.0
        if high > _LARGEST:
            raise BudgetError(
                f"ε = {target:g} cannot be met: {part} alone costs ε = {loss_of_scale(_LARGEST):.4g} "
                "however much noise is added; a target above that would fit"
            )
    while loss_of_scale(low) <= target:
        low, high = low / 8.0, low
        if low < _SMALLEST:
            return high
    # brentq needs finite values; far beyond the target only the sign matters.
    most = max(1e6, 2.0 * target)
    root = scipy.optimize.brentq(
        lambda x: min(loss_of_scale(math.exp(x)), most) - target, math.log(low), math.log(high), xtol=1e-10
    )
    scale = math.exp(root)
    nudge = 1e-10
    while loss_of_scale(scale) > target:
        scale *= 1.0 + nudge
        nudge *= 2.0
    return scale


@dataclass(frozen=True)
class DataRound:
    """A round that uses the data: its local problem, w where the noise enters as w n·θ, and its noise's shrinkage.

    α grows, or σ falls, by the factor `growth` against the first round.
    """

    problem: LocalProblem
    noise_weight: float = 1.0
    growth: float = 1.0


def objective_rounds(
    rounds: Sequence[DataRound],
    mechanism: GammaMechanism,
    noise: Noise,
    scale: float,
    tolerance: float | None = None,
    output_share: float = OUTPUT_SHARE,
    bound: Bound = "least",
) -> list[RoundPlan]:
    """Noise in the objective at a given scale, 1/α or σ of the first round.

    The Gaussian variant is priced as PP-ADMM's is, at w σ_t and with the curvature of its round; no paper claims
    anything for it.
    """
    made = {
        r: _objective_round(r, mechanism, noise, scale / r.growth, tolerance, output_share, bound)
        for r in dict.fromkeys(rounds)
    }
    return [made[r] for r in rounds]


def _objective_round(
    r: DataRound,
    mechanism: GammaMechanism,
    noise: Noise,
    amount: float,
    tolerance: float | None,
    output_share: float,
    bound: Bound,
) -> RoundPlan:
    beta = default_tolerance(r.problem) if tolerance is None else tolerance
    # How far n moves when a row is replaced, in units of its own scale: d of the Gaussian, αΔ of the gamma type.
    ratio = r.problem.gradient_shift / (r.noise_weight * amount)
    output_sigma = 2.0 * beta / (r.problem.curvature * ratio * math.sqrt(output_share / (1.0 - output_share)))
    numbers = problem_parameters(r.problem) | {"tolerance": beta, "output_sigma": output_sigma}
    if noise == "gamma":
        numbers |= {"rate": 1.0 / amount, "noise_weight": r.noise_weight}
        charge, shown = Charge.of(mechanism, numbers, bound=bound), 1.0 / amount
    else:
        numbers |= {"sigma": r.noise_weight * amount}
        charge, shown = Charge.of("perturbed-minimiser", numbers, bound=bound), amount
    return RoundPlan(scale=shown, tolerance=beta, output_sigma=output_sigma, charge=charge)


def primal_rounds(
    rounds: Sequence[DataRound],
    noise: Noise,
    scale: float,
    tolerance: float | None = None,
    bound: Bound = "least",
) -> list[RoundPlan]:
    """Noise on the minimiser at a given scale, 1/α or σ of the first round; it covers the tolerance as well."""
    plans = []
    for r in rounds:
        beta = default_tolerance(r.problem) if tolerance is None else tolerance
        amount = scale / r.growth
        shown = 1.0 / amount if noise == "gamma" else amount
        numbers = problem_parameters(r.problem) | {"tolerance": beta, "rate" if noise == "gamma" else "sigma": shown}
        charge = Charge.of(f"primal-{noise}", numbers, bound=bound)
        plans.append(RoundPlan(scale=shown, tolerance=beta, output_sigma=0.0, charge=charge))
    return plans


def guarded(plans: Sequence[RoundPlan], rounds: Sequence[DataRound], noise: Noise | None) -> tuple[RoundPlan, ...]:
    """The rounds with their domains; `noise` is the kind that stands in the objective, if some does."""

    def length(plan: RoundPlan, r: DataRound) -> float:
        if noise is None:
            return 0.0
        return r.noise_weight * (gamma_length if noise == "gamma" else gaussian_length)(plan.scale, r.problem.features)

    return tuple(
        replace(plan, domain=domain(r.problem, plan.tolerance, length(plan, r)))
        for plan, r in zip(plans, rounds, strict=True)
    )
