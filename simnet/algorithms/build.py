"""One peer an agent, with its own noise streams."""

from __future__ import annotations

from collections.abc import Sequence

from simnet.algorithms.admm import AdmmPeer
from simnet.algorithms.duals import Duals, EdgeDuals, HealingDuals, NodeDuals, constant
from simnet.algorithms.duals import Schedule as Steps
from simnet.algorithms.ipp_admm import IppAdmmPeer
from simnet.algorithms.m_admm import MAdmmPeer, PvpPeer
from simnet.algorithms.peer import Peer
from simnet.algorithms.plans import Budgeting
from simnet.algorithms.pp_admm import Perturbation, PpAdmmPeer
from simnet.algorithms.r_admm import RAdmmPeer, odd_steps
from simnet.algorithms.schedules import Schedule, Scheduled, dual_step, penalties
from simnet.algorithms.standing import Standing
from simnet.learning.objective import LocalObjective
from simnet.privacy.plan import Plan
from simnet.scenario import Scenario
from simnet.scenario.algorithm import Admm, IppAdmm, PpAdmm, Pvp, RAdmm
from simnet.streams import Streams


def build_peers(
    scenario: Scenario, objectives: Sequence[LocalObjective], standings: Sequence[Standing], budgeting: Budgeting
) -> list[Peer]:
    """The agents' mathematics, in order."""
    peers: list[Peer] = []
    for agent, (objective, standing, plan) in enumerate(zip(objectives, standings, budgeting.plans, strict=True)):
        spec = scenario.algorithm
        if isinstance(spec, Admm):
            duals = build_duals(spec, objective.features, standing.degree, constant(spec.eta))
            peers.append(
                AdmmPeer(objective, degree=standing.degree, eta=spec.eta, tolerance=spec.tolerance, duals=duals)
            )
        elif isinstance(plan, Schedule):
            assert isinstance(spec, Scheduled)
            peers.append(_scheduled(scenario, spec, agent, objective, standing, plan))
        else:
            assert isinstance(spec, PpAdmm)
            assert plan is not None
            peers.append(_perturbed(scenario, spec, agent, objective, standing, plan))
    return peers


def _perturbed(
    scenario: Scenario, spec: PpAdmm, agent: int, objective: LocalObjective, standing: Standing, plan: Plan
) -> Peer:
    streams = Streams(scenario.seed)
    noise = Perturbation(plan.sigma1, plan.sigma2, streams.generator("noise", agent), plan.release)
    duals = build_duals(spec, objective.features, standing.degree, constant(spec.eta))
    if not isinstance(spec, IppAdmm):
        return PpAdmmPeer(
            objective,
            degree=standing.degree,
            eta=spec.eta,
            tolerance=plan.tolerance,
            perturbation=noise,
            duals=duals,
        )
    assert plan.test is not None
    return IppAdmmPeer(
        objective,
        degree=standing.degree,
        eta=spec.eta,
        tolerance=plan.tolerance,
        perturbation=noise,
        test=plan.test.begin(spec.threshold, streams.generator("svt", agent)),
        opening=plan.opening,
        clip=spec.clip,
        shared_noise=plan.test.shared_noise,
        duals=duals,
    )


def _scheduled(
    scenario: Scenario, spec: Scheduled, agent: int, objective: LocalObjective, standing: Standing, plan: Schedule
) -> Peer:
    rng = Streams(scenario.seed).generator("noise", agent)
    etas = penalties(spec, agent, scenario.rounds)
    if isinstance(spec, RAdmm):
        steps = odd_steps(spec.eta, spec.penalty_growth)
        duals = build_duals(spec, objective.features, standing.degree, steps)
        gammas = [spec.gamma * spec.penalty_growth**t for t in range(scenario.rounds)]
        return RAdmmPeer(
            objective,
            degree=standing.degree,
            penalties=etas,
            gammas=gammas,
            schedule=plan,
            rng=rng,
            duals=duals,
        )
    duals = build_duals(spec, objective.features, standing.degree, constant(dual_step(spec)))
    kind = PvpPeer if isinstance(spec, Pvp) else MAdmmPeer
    return kind(objective, degree=standing.degree, penalties=etas, schedule=plan, rng=rng, duals=duals)


def build_duals(spec: Admm | PpAdmm | Scheduled, features: int, degree: int, step: Steps) -> Duals:
    """One agent's duals, kept as the scenario says; `step` is the dual step of each round."""
    if spec.duals == "healing":
        return HealingDuals(features, degree, step, spec.heal_every)
    if spec.duals == "edge":
        return EdgeDuals(features, degree, spec.eta)
    return NodeDuals(features, degree, step)
