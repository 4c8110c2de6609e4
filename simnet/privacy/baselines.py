"""Calibration of the other methods: dvp, m-admm, r-admm, pvp, pdml, dp-admm, each to a target ε.

Their noise follows a schedule, so a plan is a list of rounds. The target is met in the accounting asked for: "proven",
or "claimed" by the method's own paper. Gamma-type noise is pure differential privacy for exact minimisers only; a
solver stops at a tolerance, so every round adds the small Gaussian noise of `curves.output` to what it releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from simnet.errors import BudgetError
from simnet.privacy.calibration import smallest_scale
from simnet.privacy.ledger import Basis, Charge, account, claimed
from simnet.privacy.mechanisms import problem_parameters
from simnet.privacy.noise_plan import RoundPlan
from simnet.privacy.problem import LocalProblem
from simnet.privacy.proven import OUTPUT_SHARE, default_tolerance

Noise = Literal["gamma", "gaussian"]
GammaMechanism = Literal["penalty-gamma", "linear-gamma"]


@dataclass(frozen=True)
class Round:
    """A round that uses the data: its local problem, w where the noise enters as w n·θ, and its noise's shrinkage.

    α grows, or σ falls, by the factor `growth` against the first round.
    """

    problem: LocalProblem
    noise_weight: float = 1.0
    growth: float = 1.0

    def __post_init__(self) -> None:
        if not self.noise_weight > 0.0:
            raise BudgetError(
                "an agent without neighbours has no penalty to put noise into; give it one, or use r-admm or pvp"
            )


def penalty_rounds(
    rows: int,
    neighbours: int,
    eta: float,
    regulariser: float,
    rounds: int,
    *,
    penalty_growth: float = 1.0,
    noise_growth: float = 1.0,
    lipschitz: float = 1.0,
    smoothness: float = 0.25,
    weight: float = 1.0,
) -> list[Round]:
    """M-ADMM: penalty η q1^(t−1) and rate α q2^(t−1), noise n inside the penalty, so w = 2η(t)V. dvp is q1 = 1."""
    found = []
    for t in range(rounds):
        penalty = eta * penalty_growth**t
        problem = LocalProblem.of(
            rows, neighbours, penalty, regulariser, lipschitz=lipschitz, smoothness=smoothness, weight=weight
        )
        found.append(Round(problem, 2.0 * penalty * neighbours, noise_growth**t))
    return found


def linear_rounds(problem: LocalProblem, odd_rounds: int, noise_growth: float = 1.0) -> list[Round]:
    """R-ADMM: n·θ in the odd rounds; the even ones are computed from what is public."""
    return [Round(problem, 1.0, noise_growth**k) for k in range(odd_rounds)]


def plan_objective(
    rounds: Sequence[Round],
    mechanism: GammaMechanism,
    noise: Noise,
    epsilon: float,
    delta: float,
    *,
    basis: Basis = "proven",
    tolerance: float | None = None,
    output_share: float = OUTPUT_SHARE,
) -> list[RoundPlan]:
    """Noise in the objective (dvp, m-admm, r-admm). `scale` is the rate α_t, or the σ_t of n itself.

    The Gaussian variant is priced by `curves.objective` at w σ_t; no paper claims anything for it.
    """

    def at(scale: float) -> list[RoundPlan]:
        return objective_rounds(rounds, mechanism, noise, scale, tolerance, output_share)

    return _calibrated(at, epsilon, delta, basis, "the curvature part, log(1+κ) a round,")


def objective_rounds(
    rounds: Sequence[Round],
    mechanism: GammaMechanism,
    noise: Noise,
    scale: float,
    tolerance: float | None = None,
    output_share: float = OUTPUT_SHARE,
) -> list[RoundPlan]:
    """Noise in the objective at a given scale, 1/α or σ of the first round; ε is what it comes to."""
    return [_objective_round(r, mechanism, noise, scale, tolerance, output_share) for r in rounds]


def primal_rounds(
    rounds: Sequence[Round], noise: Noise, scale: float, tolerance: float | None = None
) -> list[RoundPlan]:
    """Noise on the minimiser at a given scale, 1/α or σ of the first round; ε is what it comes to."""
    return [_primal_round(r, noise, scale, tolerance) for r in rounds]


def plan_primal(
    rounds: Sequence[Round],
    noise: Noise,
    epsilon: float,
    delta: float,
    *,
    basis: Basis = "proven",
    tolerance: float | None = None,
) -> list[RoundPlan]:
    """Noise on the minimiser before it is sent (pvp); it covers the solver's tolerance as well."""

    def at(scale: float) -> list[RoundPlan]:
        return primal_rounds(rounds, noise, scale, tolerance)

    return _calibrated(at, epsilon, delta, basis, "nothing")


def pdml_problem(problem: LocalProblem, label_epsilon: float) -> LocalProblem:
    """PDML's local problem: the loss made unbiased under flipped labels has L(e^ε+1)/(e^ε−1) (Proposition 2)."""
    return LocalProblem(
        problem.rows,
        problem.curvature,
        problem.lipschitz / math.tanh(0.5 * label_epsilon),
        problem.smoothness,
        problem.weight,
        problem.regulariser,
    )


def pdml_label_charge(label_epsilon: float) -> Charge:
    """Phase 1: the label is ε-locally private for ever; the features go to the agent's own server as they are."""
    return Charge.of("reported-label", {"label_epsilon": label_epsilon})


def pdml_rounds(
    problem: LocalProblem, primal_scale: float, primal_decay: float, rounds: int, tolerance: float | None = None
) -> list[RoundPlan]:
    """Phase 2: N(0, V² ρ^(t−1) I) on the minimiser; its loss grows geometrically in t.

    `problem` is `pdml_problem`. The bounded objective noise is independent of the data and guarantees nothing.
    """
    found = []
    for t in range(rounds):
        sigma = primal_scale * math.sqrt(primal_decay) ** t
        beta = default_tolerance(problem) if tolerance is None else tolerance
        numbers = problem_parameters(problem) | {"sigma": sigma, "tolerance": beta}
        charge = Charge.of("reported-primal", numbers)
        found.append(RoundPlan(scale=sigma, tolerance=beta, output_sigma=0.0, charge=charge))
    return found


def plan_pdml(
    problem: LocalProblem,
    primal_decay: float,
    rounds: int,
    epsilon: float,
    delta: float,
    tolerance: float | None = None,
) -> list[RoundPlan]:
    """The least V whose models together cost (ε, δ) against all who do not see the reports."""

    def at(scale: float) -> list[RoundPlan]:
        return pdml_rounds(problem, scale, primal_decay, rounds, tolerance)

    return _calibrated(at, epsilon, delta, "proven", "nothing")


def plan_gradient(rows: int, gradient_bound: float, rounds: int, epsilon: float, delta: float) -> RoundPlan:
    """DP-ADMM: the same N(0, σ² I) on the mean gradient of `rows` rows in every round, replace-one sensitivity 2c/n."""

    def at(scale: float) -> list[RoundPlan]:
        return [gradient_round(rows, gradient_bound, scale)] * rounds

    return _calibrated(at, epsilon, delta, "proven", "nothing")[0]


def gradient_round(rows: int, gradient_bound: float, sigma: float) -> RoundPlan:
    """One noisy gradient at a given σ (for the paper's own, `paper.dp_admm_sigma`)."""
    numbers = {"rows": float(rows), "gradient_bound": gradient_bound, "sigma": sigma}
    return RoundPlan(scale=sigma, tolerance=0.0, output_sigma=0.0, charge=Charge.of("noisy-gradient", numbers))


def _objective_round(
    r: Round, mechanism: GammaMechanism, noise: Noise, scale: float, tolerance: float | None, output_share: float
) -> RoundPlan:
    problem = r.problem
    beta = default_tolerance(problem) if tolerance is None else tolerance
    amount = scale / r.growth
    # How far n moves when a row is replaced, in units of its own scale: d of the Gaussian, αΔ of the gamma type.
    ratio = problem.gradient_shift / (r.noise_weight * amount)
    output_sigma = 2.0 * beta / (problem.curvature * ratio * math.sqrt(output_share / (1.0 - output_share)))
    numbers = problem_parameters(problem) | {"tolerance": beta, "output_sigma": output_sigma}
    if noise == "gamma":
        numbers |= {"rate": 1.0 / amount, "noise_weight": r.noise_weight}
        charge = Charge.of(mechanism, numbers)
    else:
        charge = Charge.of("perturbed-minimiser", numbers | {"sigma": r.noise_weight * amount})
    shown = 1.0 / amount if noise == "gamma" else amount
    return RoundPlan(scale=shown, tolerance=beta, output_sigma=output_sigma, charge=charge)


def _primal_round(r: Round, noise: Noise, scale: float, tolerance: float | None) -> RoundPlan:
    beta = default_tolerance(r.problem) if tolerance is None else tolerance
    amount = scale / r.growth
    numbers = problem_parameters(r.problem) | {"tolerance": beta}
    if noise == "gamma":
        charge = Charge.of("primal-gamma", numbers | {"rate": 1.0 / amount})
        return RoundPlan(scale=1.0 / amount, tolerance=beta, output_sigma=0.0, charge=charge)
    charge = Charge.of("primal-gaussian", numbers | {"sigma": amount})
    return RoundPlan(scale=amount, tolerance=beta, output_sigma=0.0, charge=charge)


def _calibrated(
    at: Callable[[float], list[RoundPlan]], epsilon: float, delta: float, basis: Basis, part: str
) -> list[RoundPlan]:
    def loss(scale: float) -> float:
        charges = [plan.charge for plan in at(scale)]
        found = account(charges, delta).proven_epsilon if basis == "proven" else claimed(charges, delta)
        return math.inf if found is None else found

    return at(smallest_scale(loss, epsilon, part))
