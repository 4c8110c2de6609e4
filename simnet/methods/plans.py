"""From a scenario's budget to each agent's noise: which calibration, for which agent.

An agent's plan depends on its number of rows and of neighbours only, so agents that agree in both share one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from simnet.errors import BudgetError, ScenarioError
from simnet.learning.losses import LOSSES
from simnet.methods.admm import Admm
from simnet.methods.agent_size import Standing
from simnet.methods.dp_admm import DpAdmm
from simnet.methods.dp_plan import dp_schedules
from simnet.methods.ipp_admm import IppAdmm
from simnet.methods.method import Setting
from simnet.methods.pdml import Pdml
from simnet.methods.pdml_plan import pdml_schedules
from simnet.methods.pp_admm import PpAdmm
from simnet.methods.scheduled import Scheduled
from simnet.methods.schedules import schedules
from simnet.privacy import paper, proven
from simnet.privacy.fixed_noise import plan_given
from simnet.privacy.ledger import BARE, Charge, Ledger
from simnet.privacy.noise_plan import Plan, SvtPlan
from simnet.privacy.noise_schedule import BARE_TOLERANCE, NoiseSchedule
from simnet.privacy.problem import LocalProblem

PAPER_OUTPUT_SHARE = 0.001
"""The paper's `splits`."""
PAPER_TEST_SHARE = 0.1
"""The paper does not say what the test may cost."""


@dataclass(frozen=True)
class Budgeting:
    """The plan of each agent, None where nothing is perturbed, and the regulariser that goes with them.

    `limit` is the ε beyond which a ledger refuses: that of the scenario where noise was chosen to meet it by proof. The
    papers' calibrations overspend by themselves, and noise that the scenario names costs what it costs.
    """

    regulariser: float
    plans: Sequence[Plan | NoiseSchedule | None]
    limit: float = math.inf

    def ledger(self, scenario: Setting) -> Ledger:
        """An empty ledger."""
        return Ledger(scenario.privacy.delta, self.limit)


def budgeting(scenario: Setting, standings: Sequence[Standing]) -> Budgeting:
    """Calibrate every agent."""
    spec = scenario.algorithm
    if isinstance(spec, Admm):
        return Budgeting(spec.regulariser, [None] * len(standings))
    try:
        if isinstance(spec, Scheduled):
            raw = spec.noise_rate is not None or spec.sigma is not None
            return Budgeting(spec.regulariser, schedules(scenario, spec, standings), _limit(scenario, raw=raw))
        if isinstance(spec, Pdml):
            raw = spec.primal_scale is not None
            return Budgeting(spec.regulariser, pdml_schedules(scenario, spec, standings), _limit(scenario, raw=raw))
        if isinstance(spec, DpAdmm):
            raw = spec.sigma is not None
            return Budgeting(0.0, dp_schedules(scenario, spec, standings), _limit(scenario, raw=raw))
        assert isinstance(spec, PpAdmm)
        if spec.sigma is not None:
            return _given(scenario, spec, standings)
        return _CALIBRATIONS[scenario.privacy.calibration](scenario, spec, standings)
    except BudgetError as error:
        raise ScenarioError(f"privacy.epsilon = {scenario.privacy.epsilon:g}: {error}") from None


def _limit(scenario: Setting, *, raw: bool) -> float:
    return scenario.privacy.epsilon if scenario.privacy.calibration == "proven" and not raw else math.inf


def _bare(scenario: Setting, spec: PpAdmm, standings: Sequence[Standing]) -> Budgeting:
    """No noise at all: pp-admm is then admm, and ipp-admm broadcasts what improves its objective by the threshold."""
    tolerance = BARE_TOLERANCE if spec.tolerance is None else spec.tolerance
    releases, test = scenario.rounds, None
    opening: tuple[Charge, ...] = ()
    if isinstance(spec, IppAdmm):
        releases = spec.max_releases
        opening = (Charge.of(BARE.mechanism, {}, "test", releases),)
        test = SvtPlan(
            cap=releases,
            epsilon1=math.inf,
            epsilon2=math.inf,
            threshold_scale=0.0,
            query_scale=0.0,
            redraw=False,
            shared_noise=True,
            regularised=True,
        )
    plan = Plan(
        sigma1=0.0,
        sigma2=0.0,
        tolerance=tolerance,
        releases=releases,
        opening=opening,
        release=BARE,
        epsilon=math.inf,
        test=test,
    )
    return Budgeting(spec.regulariser, [plan] * len(standings))


def _paper(scenario: Setting, spec: PpAdmm, standings: Sequence[Standing]) -> Budgeting:
    """The papers' formulas; their λ̂ is one number for the network, so the agent with the fewest rows decides."""
    budget = paper.budget(
        scenario.privacy.epsilon,
        scenario.privacy.delta,
        spec.max_releases if isinstance(spec, IppAdmm) else scenario.rounds,
        output_share=spec.output_share or PAPER_OUTPUT_SHARE,
        objective_share=spec.objective_share,
        test_share=(spec.test_share or PAPER_TEST_SHARE) if isinstance(spec, IppAdmm) else 0.0,
    )
    smoothness = LOSSES[spec.loss].smoothness
    floor = budget.regulariser_floor(min(standing.rows for standing in standings), smoothness)
    regulariser = max(spec.regulariser, floor)
    tolerance = paper.TOLERANCE if spec.tolerance is None else spec.tolerance
    found: dict[Standing, Plan] = {}
    for standing in dict.fromkeys(standings):
        problem = _problem(spec, standing, regulariser)
        if isinstance(spec, IppAdmm):
            found[standing] = paper.plan_ipp(
                budget,
                problem,
                scenario.rounds,
                spec.clip,
                tolerance,
                sensitivity=spec.sensitivity,
                threshold_noise=spec.threshold_noise,
            )
        else:
            found[standing] = paper.plan_pp(budget, problem, tolerance)
    return Budgeting(regulariser, [found[standing] for standing in standings])


def _proven(scenario: Setting, spec: PpAdmm, standings: Sequence[Standing]) -> Budgeting:
    """The least noise whose proven ε is the one asked for; no regulariser that learning did not want."""
    found: dict[Standing, Plan] = {}
    for standing in dict.fromkeys(standings):
        problem = _problem(spec, standing, spec.regulariser)
        output_share = proven.OUTPUT_SHARE if spec.output_share is None else spec.output_share
        if isinstance(spec, IppAdmm):
            found[standing] = proven.plan_ipp(
                problem,
                scenario.privacy.epsilon,
                scenario.privacy.delta,
                spec.max_releases,
                scenario.rounds,
                spec.clip,
                test_share=proven.TEST_SHARE if spec.test_share is None else spec.test_share,
                tested=spec.test or "noise-free",
                tolerance=spec.tolerance,
                output_share=output_share,
                transport=scenario.privacy.bound == "transport",
            )
        else:
            found[standing] = proven.plan_pp(
                problem,
                scenario.privacy.epsilon,
                scenario.privacy.delta,
                scenario.rounds,
                tolerance=spec.tolerance,
                output_share=output_share,
                transport=scenario.privacy.bound == "transport",
            )
    return Budgeting(spec.regulariser, [found[standing] for standing in standings], scenario.privacy.epsilon)


def _given(scenario: Setting, spec: PpAdmm, standings: Sequence[Standing]) -> Budgeting:
    """Noise that the scenario names, the test as the calibration has it; no regulariser that learning did not want."""
    assert spec.sigma is not None
    assert spec.output_sigma is not None
    printed = scenario.privacy.calibration == "paper"
    found: dict[Standing, Plan] = {}
    for standing in dict.fromkeys(standings):
        problem = _problem(spec, standing, spec.regulariser)
        tolerance = spec.tolerance or (paper.TOLERANCE if printed else proven.default_tolerance(problem))
        releases, test, charge = scenario.rounds, None, None
        if isinstance(spec, IppAdmm):
            assert spec.test_epsilon is not None
            releases = spec.max_releases
            if printed:
                test = paper.svt(
                    problem, spec.test_epsilon, releases, spec.clip, spec.sensitivity, spec.threshold_noise
                )
            else:
                shared = spec.test == "shared-noise"
                test = proven.svt(problem, spec.test_epsilon, releases, spec.clip, tolerance, shared_noise=shared)
            literal = printed and spec.sensitivity == "printed"
            charge = test.charge(problem, scenario.rounds, spec.clip, tolerance, printed=literal)
        found[standing] = plan_given(
            problem,
            spec.sigma,
            spec.output_sigma,
            tolerance,
            releases,
            scenario.privacy.delta,
            transport=scenario.privacy.bound == "transport",
            test=test,
            test_charge=charge,
            rounds=scenario.rounds,
        )
    return Budgeting(spec.regulariser, [found[standing] for standing in standings])


_CALIBRATIONS = {"paper": _paper, "proven": _proven, "none": _bare}


def _problem(spec: PpAdmm, standing: Standing, regulariser: float) -> LocalProblem:
    loss = LOSSES[spec.loss]
    return LocalProblem.of(
        standing.rows,
        standing.degree,
        spec.eta,
        regulariser,
        lipschitz=loss.lipschitz,
        smoothness=loss.smoothness,
    )
