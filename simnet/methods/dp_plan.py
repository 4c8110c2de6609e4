"""DP-ADMM's noise: the same on every gradient, for all rows at a trusted hub, or for each agent's own."""

from __future__ import annotations

from collections.abc import Sequence

from simnet.learning.losses import LOSSES
from simnet.methods.agent_size import Standing
from simnet.methods.dp_admm import HUB, DpAdmm
from simnet.methods.method import Setting
from simnet.privacy import baselines, paper
from simnet.privacy.ledger import BARE, Charge
from simnet.privacy.noise_schedule import NoiseSchedule, bare


def dp_schedules(scenario: Setting, spec: DpAdmm, standings: Sequence[Standing]) -> list[NoiseSchedule]:
    """Every agent's schedule. A trusted hub's is for all rows, and its leaves pay for their upload alone."""
    if spec.hub == "trusted":
        opening = (BARE if scenario.privacy.calibration == "none" else Charge.of("trusted-upload", {}),)
        leaf = NoiseSchedule("gaussian", (), opening)
        return [
            _schedule(scenario, spec, standing.rows) if agent == HUB else leaf
            for agent, standing in enumerate(standings)
        ]
    found = {standing.rows: _schedule(scenario, spec, standing.rows) for standing in standings}
    return [found[standing.rows] for standing in standings]


def _schedule(scenario: Setting, spec: DpAdmm, rows: int) -> NoiseSchedule:
    privacy, rounds = scenario.privacy, scenario.rounds
    if privacy.calibration == "none":
        return bare(rounds, None)
    # |∇l| <= L for rows of norm at most 1.
    bound = LOSSES[spec.loss].lipschitz
    if spec.sigma is not None:
        plan = baselines.gradient_round(rows, bound, spec.sigma)
    elif privacy.calibration == "paper":
        sigma = paper.dp_admm_sigma(privacy.epsilon, privacy.delta, rounds, rows, bound)
        plan = baselines.gradient_round(rows, bound, sigma)
    else:
        plan = baselines.plan_gradient(rows, bound, rounds, privacy.epsilon, privacy.delta)
    return NoiseSchedule("gaussian", (plan,) * rounds)
