"""What a method's theorems ask of a scenario, and by how much it meets that: from public numbers only.

Rows have norm at most 1, so an agent's gradient is Lipschitz with M = C c1 + λ̂/N, and λ̂/N strongly monotone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from simnet.learning.losses import LOSSES
from simnet.methods.agent_size import Standing
from simnet.methods.dp_admm import DpAccAdmm, DpAdmm
from simnet.methods.m_admm import Dvp, MAdmm, Pvp
from simnet.methods.method import Setting
from simnet.methods.pdml import Pdml
from simnet.methods.pdml_plan import label_epsilon
from simnet.methods.plans import Budgeting
from simnet.methods.pp_admm import PpAdmm
from simnet.methods.r_admm import RAdmm
from simnet.methods.scheduled import Scheduled
from simnet.methods.schedules import dual_steps, penalties
from simnet.privacy.noise_plan import Plan
from simnet.privacy.noise_schedule import NoiseSchedule

Square = npt.NDArray[np.float64]

FAILURE = 0.05
"""ξ, with which the sample size bounds may fail, and δ of PDML's bound."""
_MUS = 1.0 + np.geomspace(1e-3, 1e3, 61)
_LARGEST_GAMMA = 1e9


@dataclass(frozen=True)
class Finding:
    """A precondition or a bound; `holds` is None for a number that is neither right nor wrong."""

    name: str
    holds: bool | None
    margin: float
    sentence: str


def theory(
    scenario: Setting, standings: Sequence[Standing], budgeting: Budgeting, adjacency: Square, features: int
) -> list[Finding]:
    """All that the method's papers say about it; nothing for plain ADMM, which converges on every convex problem."""
    spec = scenario.algorithm
    if isinstance(spec, Dvp | Pvp | MAdmm):
        return _penalties(scenario, spec, standings, adjacency)
    if isinstance(spec, RAdmm):
        return [*_recycling(spec, standings, adjacency), _jacobian(spec, standings, [spec.eta] * len(standings))]
    if isinstance(spec, PpAdmm):
        return _sample_size(budgeting, features)
    if isinstance(spec, Pdml):
        return _generalisation(scenario, spec, standings, budgeting, features)
    if isinstance(spec, DpAdmm):
        return _linearised(spec)
    return []


def rate(etas: Sequence[float], step: float, adjacency: Square, weakest: float, steepest: float) -> float:
    """M-ADMM, equation (23): the largest δ, over μ > 1: the distance to the optimum falls by 1 + δ a round."""
    degrees, weights = np.diag(adjacency.sum(axis=0)), np.diag(etas)
    laplacian = degrees - adjacency
    apart = np.linalg.svd((weights - step * np.eye(len(etas))) @ laplacian, compute_uv=False)
    gap = _smallest(np.linalg.svd(laplacian, compute_uv=False))
    widest = float(np.linalg.norm(weights @ (degrees + adjacency), 2))
    first = step * gap / (_MUS**2 * widest)
    cost = (_MUS**2 * steepest**2 + _MUS * apart[0] ** 2) / (step * gap * (_MUS - 1.0)) + widest
    second = (2.0 * weakest + 2.0 * _smallest(apart)) / cost
    return float(np.max(np.minimum(first, second)))


def recycling_margins(eta: float, gamma: float, adjacency: Square, steepest: float) -> tuple[float, float]:
    """R-ADMM, conditions (26) and (27): the smallest eigenvalue of each left side minus its right side.

    The matrices are not symmetric; what counts is the quadratic form, so the symmetric part.
    """
    degrees = np.diag(adjacency.sum(axis=0))
    signless, laplacian = degrees + adjacency, degrees - adjacency
    held = 2.0 * eta * degrees + gamma * np.eye(len(adjacency))
    least = float(np.diag(held).min())
    share = eta * signless @ np.linalg.inv(held)
    square = steepest**2 * np.eye(len(adjacency))
    first = np.eye(len(adjacency)) + share - 2.0 / (least * eta) * square @ np.linalg.pinv(laplacian)
    second = eta * signless - 2.0 * share @ (eta * degrees) - 2.0 / least * square
    return _lowest(first), _lowest(second)


def _penalties(
    scenario: Setting, spec: Dvp | Pvp | MAdmm, standings: Sequence[Standing], adjacency: Square
) -> list[Finding]:
    agents, rounds = range(len(standings)), range(1, scenario.rounds + 1)
    etas = [penalties(spec, agent, scenario.rounds) for agent in agents]
    steps = [[dual_steps(spec, agent)(t) for t in rounds] for agent in agents]
    growth = min(b / a for own in etas for a, b in pairwise(own)) if scenario.rounds > 1 else 1.0
    least, step = min(
        ((eta, step) for own, theirs in zip(etas, steps, strict=True) for eta, step in zip(own, theirs, strict=True)),
        key=lambda pair: pair[0] - pair[1],
    )
    found = [
        Finding(
            "M-ADMM Theorem 3.1: η_i(t+1) >= η_i(t)",
            growth >= 1.0,
            growth - 1.0,
            f"a penalty changes by a factor of at least {growth:.4g} a round",
        ),
        Finding(
            "M-ADMM Theorem 3.1: η_i(t) >= θ",
            least >= step,
            least - step,
            f"where they are closest, the penalty is {least:.4g} and the dual step {step:.4g}",
        ),
        _one_step(steps) if len({step for own in steps for step in own}) > 1 else _rate(spec, etas, step, adjacency),
    ]
    return found if isinstance(spec, Pvp) else [*found, _jacobian(spec, standings, [min(own) for own in steps])]


def _rate(spec: Scheduled, etas: Sequence[Sequence[float]], step: float, adjacency: Square) -> Finding:
    steepest = spec.loss_weight * LOSSES[spec.loss].smoothness + spec.regulariser
    delta = rate([own[0] for own in etas], step, adjacency, spec.regulariser, steepest)
    return Finding(
        "M-ADMM equation (23): rate",
        delta > 0.0,
        delta,
        f"without noise the distance to the optimum falls by a factor of at least 1 + {delta:.3g} a round",
    )


def _one_step(steps: Sequence[Sequence[float]]) -> Finding:
    """Theorem 3.1 has one θ; with several, Σ λ_i/θ_i stays zero instead of Σ λ_i, if the θ_i do not change."""
    apart = max(max(now) - min(now) for now in zip(*steps, strict=True))
    wide = max(map(max, steps)) - min(map(min, steps))
    consequence = (
        "they differ between agents, so the models agree on the minimiser of Σ f_i/θ_i, not of Σ f_i"
        if apart
        else "they are the same for all agents, so the duals still sum to zero and the fixed point is the optimum"
    )
    return Finding("M-ADMM Theorem 3.1: one θ for all agents and rounds", False, -wide, consequence)


def _jacobian(spec: Scheduled, standings: Sequence[Standing], etas: Sequence[float]) -> Finding:
    """What the privacy theorems of M-ADMM and R-ADMM need for their 1.4 c1, `etas` the least θ_i or η of each agent."""
    bend = 2.0 * LOSSES[spec.loss].smoothness
    sides = [
        s.rows / spec.loss_weight * (spec.regulariser + 2.0 * eta * s.degree)
        for s, eta in zip(standings, etas, strict=True)
    ]
    return Finding(
        "privacy theorem: 2 c1 < (m/C)(λ̂/N + 2ηV)",
        bend < min(sides),
        min(sides) - bend,
        f"the right side is {min(sides):.4g} at the worst agent, the left {bend:g}",
    )


def _recycling(spec: RAdmm, standings: Sequence[Standing], adjacency: Square) -> list[Finding]:
    steepest = spec.loss_weight * LOSSES[spec.loss].smoothness + spec.regulariser
    margins = recycling_margins(spec.eta, spec.gamma, adjacency, steepest)
    advice = _enough_gamma(spec.eta, adjacency, steepest)
    return [
        Finding(
            f"R-ADMM condition ({number})",
            margin > 0.0,
            margin,
            "sufficient for convergence, with L = μ = 2" + ("" if margin > 0.0 else f"; {advice}"),
        )
        for number, margin in zip((26, 27), margins, strict=True)
    ]


def _enough_gamma(eta: float, adjacency: Square, steepest: float) -> str:
    """From which γ on both conditions hold."""

    def both(gamma: float) -> bool:
        return min(recycling_margins(eta, gamma, adjacency, steepest)) > 0.0

    if not both(_LARGEST_GAMMA):
        return "no gamma is enough on a graph whose signless Laplacian is singular, as every bipartite one's is"
    low, high = 0.0, _LARGEST_GAMMA
    while high > 1.01 * low + 1e-6:
        middle = math.sqrt(max(low, 1e-6) * high)
        low, high = (low, middle) if both(middle) else (middle, high)
    return f"both hold from gamma = {high:.3g} on"


def _sample_size(budgeting: Budgeting, features: int) -> list[Finding]:
    """PP-ADMM, Theorems 3 and 4 with |θ_ref| = 1 and a, Δ → 0: which error they can promise with any number of rows.

    Their bounds on the rows are positive only where a²/2 exceeds β + H, H = σ2 a √(2d ln 1/ξ) + 2σ1² d ln 1/ξ.
    """
    found = []
    for name, noisy in (("PP-ADMM Theorem 3: least error, no noise", False), ("PP-ADMM Theorem 4: least error", True)):
        errors = []
        for plan in budgeting.plans:
            assert isinstance(plan, Plan)
            log = math.log(1.0 / FAILURE)
            slope = plan.sigma2 * math.sqrt(2.0 * features * log) if noisy else 0.0
            fixed = plan.tolerance + (2.0 * plan.sigma1**2 * features * log if noisy else 0.0)
            errors.append(slope + math.sqrt(slope**2 + 2.0 * fixed))
        worst = max(errors)
        found.append(
            Finding(
                name,
                worst < math.log(2.0),
                math.log(2.0) - worst,
                f"no number of rows promises less than {worst:.3g} above the loss of a model of norm 1 "
                f"(ξ = {FAILURE:g}); the zero model is at most log 2 above it",
            )
        )
    return found


def _generalisation(
    scenario: Setting, spec: Pdml, standings: Sequence[Standing], budgeting: Budgeting, features: int
) -> list[Finding]:
    """PDML, Theorem 1 and Corollary 1, term by term, for models of norm at most 1."""
    servers = len(standings)
    labels = 0.0 if scenario.privacy.calibration == "none" else 1.0 / math.tanh(0.5 * label_epsilon(scenario, spec))
    highest = float(LOSSES[spec.loss].value(np.array([-1.0]))[0])
    rows = [
        LOSSES[spec.loss].lipschitz / math.sqrt(s.rows)
        + 2.0 * highest * math.sqrt(2.0 * math.log(4.0 / FAILURE) / s.rows)
        for s in standings
    ]
    bound = 0.0 if scenario.privacy.calibration == "none" else spec.objective_bound
    curvature = servers * spec.regulariser
    tilt = bound**2 / curvature if curvature else (math.inf if bound else 0.0)
    scales = [plan.rounds[0].scale for plan in budgeting.plans if isinstance(plan, NoiseSchedule)]
    decay = spec.primal_decay
    noise = sum(features * scale**2 for scale in scales) / scenario.rounds
    noise = noise / (1.0 - decay) if decay < 1.0 else (math.inf if noise else 0.0)
    data = 4.0 * max(labels, 1.0) * float(np.mean(rows))
    return [
        Finding(
            "PDML Theorem 1: ρ < 1",
            decay < 1.0,
            1.0 - decay,
            "the noise on the models must decay, and its variance faster than the method converges (ρ < C)",
        ),
        Finding(
            "PDML Theorem 1: rows and labels",
            None,
            data,
            f"with probability {1 - FAILURE:g} they cost at most {data:.3g} in the loss of a model of norm 1, of which "
            f"flipped labels are a factor of {max(labels, 1.0):.3g}",
        ),
        Finding(
            "PDML Theorem 1: noise in the objective",
            None,
            tilt,
            f"it costs at most R²/κ = {tilt:.3g} in the objective of all servers",
        ),
        Finding(
            "PDML Theorem 1: noise on the models",
            None,
            noise,
            f"its term is a constant of the graph times η Σ d V²/((1−ρ)T), where the sum over (1−ρ)T is {noise:.3g}",
        ),
    ]


def _linearised(spec: DpAdmm) -> list[Finding]:
    steepest = LOSSES[spec.loss].smoothness
    found = [
        Finding(
            "DP-ADMM: η <= 1/L_f",
            spec.eta * steepest <= 1.0,
            1.0 / steepest - spec.eta,
            f"L_f is at most c1 = {steepest:g}; sufficient, and too careful where rows are short",
        ),
        Finding(
            "DP-ADMM Assumption 2: A has full row rank",
            False,
            0.0,
            "A = [W; I] has more rows than columns, in the paper's own experiments as well",
        ),
    ]
    if isinstance(spec, DpAccAdmm):
        found.append(
            Finding("DP-AccADMM: convergence", False, 0.0, "the paper has no theorem for the accelerated form")
        )
    return found


def _smallest(values: npt.NDArray[np.floating]) -> float:
    """The smallest singular value that is not zero; 0 if all are."""
    present = values[values > 1e-12 * max(float(values.max()), 1e-300)]
    return float(present.min()) if present.size and values.max() > 0.0 else 0.0


def _lowest(matrix: Square) -> float:
    return float(np.linalg.eigvalsh((matrix + matrix.T) / 2.0)[0])
