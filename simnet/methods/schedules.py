"""Noise by a schedule: the plans of dvp, pvp, m-admm and r-admm.

A schedule lists the rounds that use the data, each with its noise, its solver's tolerance and its charge. It comes from
the budget, by proof or by the method's own theorem, or from the noise that the scenario names; then ε is what it comes
to. Without privacy (`calibration = "none"`) every round is bare.
"""

from __future__ import annotations

from collections.abc import Sequence

from simnet.errors import BudgetError, ScenarioError
from simnet.learning.losses import LOSSES
from simnet.methods.agent_size import Standing
from simnet.methods.duals import Schedule as Steps
from simnet.methods.m_admm import Dvp, MAdmm, Pvp
from simnet.methods.method import Setting
from simnet.methods.r_admm import RAdmm
from simnet.methods.scheduled import Scheduled
from simnet.privacy import baselines
from simnet.privacy.baselines import GammaMechanism, Round
from simnet.privacy.ledger import Basis
from simnet.privacy.noise_schedule import NoiseSchedule, bare
from simnet.privacy.problem import LocalProblem
from simnet.privacy.proven import OUTPUT_SHARE

_OUTPUT_SHARE = {"gaussian": OUTPUT_SHARE, "gamma": 1e-4}
"""Gamma-type noise costs a pure ε, beside which even a little Gaussian noise is dear at a small δ; and it is so wide
that it hides a hundred times as much noise on the output."""


def schedules(scenario: Setting, spec: Scheduled, standings: Sequence[Standing]) -> list[NoiseSchedule]:
    """Every agent's schedule; agents whose rounds are alike share one."""
    _check_lists(spec, len(standings))
    found: dict[tuple[Round, ...], NoiseSchedule] = {}
    chosen = []
    for agent, standing in enumerate(standings):
        etas = penalties(spec, agent, scenario.rounds)[:: data_every(spec)]
        if scenario.privacy.calibration == "paper":
            _check_theorem(spec, agent, standing, etas)
        rounds = _data_rounds(spec, standing, etas)
        if rounds not in found:
            found[rounds] = _schedule(scenario, spec, rounds)
        chosen.append(found[rounds])
    return chosen


def penalties(spec: Scheduled, agent: int, rounds: int) -> list[float]:
    """η_i(t) = η_i q1^(t−1), round by round."""
    first, growth = spec.eta, getattr(spec, "penalty_growth", 1.0)
    if isinstance(spec, MAdmm):
        first = spec.agent_eta[agent] if spec.agent_eta else first
        growth = spec.agent_growth[agent] if spec.agent_growth else growth
    return [first * growth**t for t in range(rounds)]


def dual_steps(spec: Scheduled, agent: int) -> Steps:
    """θ_i(t) of the dual update: η(t) but in M-ADMM, which has θ_i r^(t−1); r-admm's duals rest in even rounds."""
    first, growth = spec.eta, getattr(spec, "penalty_growth", 1.0)
    if isinstance(spec, MAdmm):
        first = first if spec.dual_step is None else spec.dual_step
        first = spec.agent_dual_step[agent] if spec.agent_dual_step else first
        growth = spec.agent_dual_growth[agent] if spec.agent_dual_growth else spec.dual_growth
    rest = data_every(spec)
    return lambda t: first * growth ** (t - 1) if (t - 1) % rest == 0 else 0.0


def data_every(spec: Scheduled) -> int:
    """How many rounds lie between two that touch the data: r-admm's even rounds do not."""
    return 2 if isinstance(spec, RAdmm) else 1


def _data_rounds(spec: Scheduled, standing: Standing, etas: Sequence[float]) -> tuple[Round, ...]:
    """What privacy needs to know of the rounds that touch the data."""
    found = []
    for k, eta in enumerate(etas):
        weight = 2.0 * eta * standing.degree if isinstance(spec, Dvp | MAdmm) else 1.0
        found.append(Round(_problem(spec, standing, eta), weight, spec.noise_growth**k))
    return tuple(found)


def _check_lists(spec: Scheduled, agents: int) -> None:
    for field in ("agent_eta", "agent_growth", "agent_dual_step", "agent_dual_growth"):
        values = getattr(spec, field, ())
        if values and len(values) != agents:
            raise ScenarioError(f"algorithm.{field}: {len(values)} values for {agents} agents; give one for each")


def _problem(spec: Scheduled, standing: Standing, eta: float) -> LocalProblem:
    loss = LOSSES[spec.loss]
    return LocalProblem.of(
        standing.rows,
        standing.degree,
        eta,
        spec.regulariser,
        lipschitz=loss.lipschitz,
        smoothness=loss.smoothness,
        weight=spec.loss_weight,
    )


def _schedule(scenario: Setting, spec: Scheduled, rounds: tuple[Round, ...]) -> NoiseSchedule:
    privacy = scenario.privacy
    if privacy.calibration == "none":
        return bare(len(rounds), spec.tolerance)
    raw = spec.sigma if spec.noise_rate is None else 1.0 / spec.noise_rate
    basis: Basis = "claimed" if privacy.calibration == "paper" else "proven"
    share = _OUTPUT_SHARE[spec.noise] if spec.output_share is None else spec.output_share
    if isinstance(spec, Pvp):
        if raw is not None:
            plans = baselines.primal_rounds(rounds, spec.noise, raw, spec.tolerance)
        else:
            plans = baselines.plan_primal(
                rounds, spec.noise, privacy.epsilon, privacy.delta, basis=basis, tolerance=spec.tolerance
            )
        return NoiseSchedule(spec.noise, tuple(plans))
    mechanism: GammaMechanism = "linear-gamma" if isinstance(spec, RAdmm) else "penalty-gamma"
    if raw is not None:
        plans = baselines.objective_rounds(rounds, mechanism, spec.noise, raw, spec.tolerance, share)
    else:
        plans = baselines.plan_objective(
            rounds,
            mechanism,
            spec.noise,
            privacy.epsilon,
            privacy.delta,
            basis=basis,
            tolerance=spec.tolerance,
            output_share=share,
        )
    return NoiseSchedule(spec.noise, tuple(plans))


def _check_theorem(spec: Scheduled, agent: int, standing: Standing, etas: Sequence[float]) -> None:
    """What the papers' privacy theorems need: only then does their 1.4 c1 cover the Jacobian.

    M-ADMM, Algorithm 1: 2c1 < (m/C)(ρ/N + 2θV) at the dual step θ, and (which the proof uses and nobody says)
    η_i(t) >= θ. It looks at one round at a time, so where θ varies that is θ_i(t). R-ADMM, Algorithm 2: the same with
    η in place of θ. pvp perturbs the output and needs neither.
    """
    if isinstance(spec, Pvp):
        return
    least = min(etas)
    if isinstance(spec, MAdmm):
        step = dual_steps(spec, agent)
        for t, eta in enumerate(etas, 1):
            if eta < step(t):
                raise BudgetError(
                    f"agent {agent}'s penalty of round {t} is {eta:g}, and M-ADMM's theorem needs it at least as large "
                    f"as the dual step {step(t):g}; a smaller algorithm.dual_step would do"
                )
        least = min(step(t) for t in range(1, len(etas) + 1))
    problem = _problem(spec, standing, least)
    if not 2.0 * problem.smoothness < problem.rows / problem.weight * problem.curvature:
        raise BudgetError(
            f"agent {agent} has too few rows for {spec.name}'s theorem: 2 c1 = {2.0 * problem.smoothness:g} must be "
            f"below (m/C)(λ̂/N + 2ηV) = {problem.rows / problem.weight * problem.curvature:.3g}; a larger eta would do"
        )
