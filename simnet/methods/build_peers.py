"""One peer an agent, with its own noise streams."""

from __future__ import annotations

from collections.abc import Sequence

import scipy.sparse as sp

from simnet.learning.dataset import Matrix
from simnet.learning.feature_graph import fused
from simnet.learning.objective import LocalObjective
from simnet.methods.admm import Admm, AdmmPeer
from simnet.methods.agent_size import Standing
from simnet.methods.dp_admm import HUB, DpAccAdmm, DpAdmm, FusedLasso, HubPeer, LeafPeer, Listener, Solver
from simnet.methods.duals import Duals, EdgeDuals, HealingDuals, NodeDuals, constant
from simnet.methods.duals import Schedule as Steps
from simnet.methods.ipp_admm import IppAdmm, IppAdmmPeer
from simnet.methods.m_admm import MAdmmPeer, Pvp, PvpPeer
from simnet.methods.method import Decentralised, Setting
from simnet.methods.pdml import Pdml, PdmlPeer
from simnet.methods.peer import Peer
from simnet.methods.plans import Budgeting
from simnet.methods.pp_admm import Perturbation, PpAdmm, PpAdmmPeer
from simnet.methods.r_admm import RAdmm, RAdmmPeer
from simnet.methods.scheduled import Scheduled
from simnet.methods.schedules import dual_steps, penalties
from simnet.privacy.noise import in_ball
from simnet.privacy.noise_plan import Plan
from simnet.privacy.noise_schedule import NoiseSchedule
from simnet.streams import Streams


def build_peers(
    scenario: Setting,
    objectives: Sequence[LocalObjective],
    standings: Sequence[Standing],
    budgeting: Budgeting,
    public: Matrix | None = None,
) -> list[Peer]:
    """The agents' mathematics, in order; `public` are the features from which a fused lasso takes its graph."""
    if isinstance(scenario.algorithm, DpAdmm):
        return _star(scenario, scenario.algorithm, objectives, standings, budgeting, public)
    peers: list[Peer] = []
    for agent, (objective, standing, plan) in enumerate(zip(objectives, standings, budgeting.plans, strict=True)):
        spec = scenario.algorithm
        if isinstance(spec, Admm):
            duals = build_duals(spec, objective.features, standing.degree, constant(spec.eta))
            peers.append(
                AdmmPeer(objective, degree=standing.degree, eta=spec.eta, tolerance=spec.tolerance, duals=duals)
            )
        elif isinstance(spec, Pdml):
            assert isinstance(plan, NoiseSchedule)
            peers.append(_server(scenario, spec, agent, objective, standing, plan, len(objectives)))
        elif isinstance(plan, NoiseSchedule):
            assert isinstance(spec, Scheduled)
            peers.append(_scheduled(scenario, spec, agent, objective, standing, plan))
        else:
            assert isinstance(spec, PpAdmm)
            assert plan is not None
            peers.append(_perturbed(scenario, spec, agent, objective, standing, plan))
    return peers


def _perturbed(
    scenario: Setting,
    spec: PpAdmm,
    agent: int,
    objective: LocalObjective,
    standing: Standing,
    plan: Plan,
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
        regularised=plan.test.regularised,
        duals=duals,
    )


def _scheduled(
    scenario: Setting,
    spec: Scheduled,
    agent: int,
    objective: LocalObjective,
    standing: Standing,
    plan: NoiseSchedule,
) -> Peer:
    rng = Streams(scenario.seed).generator("noise", agent)
    etas = penalties(spec, agent, scenario.rounds)
    duals = build_duals(spec, objective.features, standing.degree, dual_steps(spec, agent))
    if isinstance(spec, RAdmm):
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
    kind = PvpPeer if isinstance(spec, Pvp) else MAdmmPeer
    return kind(objective, degree=standing.degree, penalties=etas, schedule=plan, rng=rng, duals=duals)


def _server(
    scenario: Setting,
    spec: Pdml,
    agent: int,
    objective: LocalObjective,
    standing: Standing,
    plan: NoiseSchedule,
    servers: int,
) -> Peer:
    streams = Streams(scenario.seed)
    bound = 0.0 if scenario.privacy.calibration == "none" else spec.objective_bound
    return PdmlPeer(
        objective,
        degree=standing.degree,
        eta=spec.eta,
        tilt=in_ball(streams.generator("objective", agent), bound, objective.features) / servers,
        schedule=plan,
        rng=streams.generator("noise", agent),
        duals=build_duals(spec, objective.features, standing.degree, constant(spec.eta)),
    )


def _star(
    scenario: Setting,
    spec: DpAdmm,
    objectives: Sequence[LocalObjective],
    standings: Sequence[Standing],
    budgeting: Budgeting,
    public: Matrix | None,
) -> list[Peer]:
    streams = Streams(scenario.seed)
    features = objectives[HUB].features
    identity = sp.csr_array(sp.eye_array(features))
    joined = identity
    if spec.graph == "public":
        assert public is not None
        joined = sp.csr_array(sp.vstack([fused(public, spec.graph_penalty), identity]))
    problem = FusedLasso.of(joined, sparsity=spec.sparsity, penalty=spec.penalty, eta=spec.eta, gamma=spec.gamma)
    solver = Solver(problem, accelerated=isinstance(spec, DpAccAdmm))
    trusted = spec.hub == "trusted"
    rows = sum(standing.rows for standing in standings)
    shares = {agent: standing.rows / rows for agent, standing in enumerate(standings)}
    share = 1.0 if trusted else shares.pop(HUB)
    peers: list[Peer] = []
    for agent, (objective, plan) in enumerate(zip(objectives, budgeting.plans, strict=True)):
        assert isinstance(plan, NoiseSchedule)
        rng = streams.generator("noise", agent)
        if agent == HUB:
            peers.append(HubPeer(solver, objective, share, {} if trusted else shares, plan, rng))
        else:
            peers.append(Listener(features) if trusted else LeafPeer(objective, plan, rng))
    return peers


def build_duals(spec: Decentralised, features: int, degree: int, step: Steps) -> Duals:
    """One agent's duals, kept as the scenario says; `step` is the dual step of each round."""
    if spec.duals == "healing":
        return HealingDuals(features, degree, step, spec.heal_every)
    if spec.duals == "edge":
        return EdgeDuals(features, degree, spec.eta)
    return NodeDuals(features, degree, step)
