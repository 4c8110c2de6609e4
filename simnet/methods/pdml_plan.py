"""PDML's noise: ε of the labels, and the decaying noise on the servers' models."""

from __future__ import annotations

from collections.abc import Sequence

from simnet.learning.losses import LOSSES
from simnet.methods.agent_size import Standing
from simnet.methods.method import Setting
from simnet.methods.pdml import Pdml
from simnet.privacy import baselines
from simnet.privacy.noise_schedule import NoiseSchedule, bare
from simnet.privacy.problem import LocalProblem

PAPER_SCALE = 1.0
"""V_i under the paper's calibration: the paper has neither a formula nor a number for it."""


def label_epsilon(scenario: Setting, spec: Pdml) -> float:
    """ε of randomised response: the method's own, or the scenario's."""
    return scenario.privacy.epsilon if spec.label_epsilon is None else spec.label_epsilon


def pdml_schedules(scenario: Setting, spec: Pdml, standings: Sequence[Standing]) -> list[NoiseSchedule]:
    """Every server's schedule; its opening pays for the labels, which are private against everybody."""
    found: dict[Standing, NoiseSchedule] = {}
    for standing in dict.fromkeys(standings):
        found[standing] = _schedule(scenario, spec, standing)
    return [found[standing] for standing in standings]


def _schedule(scenario: Setting, spec: Pdml, standing: Standing) -> NoiseSchedule:
    privacy, loss = scenario.privacy, LOSSES[spec.loss]
    if privacy.calibration == "none":
        return bare(scenario.rounds, spec.tolerance)
    reported = LocalProblem.of(
        standing.rows,
        standing.degree,
        spec.eta,
        spec.regulariser,
        lipschitz=loss.lipschitz,
        smoothness=loss.smoothness,
    )
    problem = baselines.pdml_problem(reported, label_epsilon(scenario, spec))
    if spec.primal_scale is None and privacy.calibration == "proven":
        plans = baselines.plan_pdml(
            problem, spec.primal_decay, scenario.rounds, privacy.epsilon, privacy.delta, spec.tolerance
        )
    else:
        scale = PAPER_SCALE if spec.primal_scale is None else spec.primal_scale
        plans = baselines.pdml_rounds(problem, scale, spec.primal_decay, scenario.rounds, spec.tolerance)
    return NoiseSchedule("gaussian", tuple(plans), (baselines.pdml_label_charge(label_epsilon(scenario, spec)),))
