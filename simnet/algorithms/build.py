"""One peer an agent, with its own noise streams."""

from __future__ import annotations

from collections.abc import Sequence

from simnet.algorithms.admm import AdmmPeer
from simnet.algorithms.ipp_admm import IppAdmmPeer
from simnet.algorithms.peer import Peer
from simnet.algorithms.plans import Budgeting, Standing
from simnet.algorithms.pp_admm import Perturbation, PpAdmmPeer
from simnet.learning.objective import LocalObjective
from simnet.scenario import Scenario
from simnet.scenario.algorithm import Admm, IppAdmm
from simnet.streams import Streams


def build_peers(
    scenario: Scenario, objectives: Sequence[LocalObjective], standings: Sequence[Standing], budgeting: Budgeting
) -> list[Peer]:
    """The agents' mathematics, in order."""
    streams = Streams(scenario.seed)
    spec = scenario.algorithm
    peers: list[Peer] = []
    for agent, (objective, standing, plan) in enumerate(zip(objectives, standings, budgeting.plans, strict=True)):
        if isinstance(spec, Admm):
            peers.append(AdmmPeer(objective, degree=standing.degree, eta=spec.eta, tolerance=spec.tolerance))
            continue
        assert plan is not None
        noise = Perturbation(plan.sigma1, plan.sigma2, streams.generator("noise", agent), plan.release)
        if isinstance(spec, IppAdmm):
            assert plan.test is not None
            peers.append(
                IppAdmmPeer(
                    objective,
                    degree=standing.degree,
                    eta=spec.eta,
                    tolerance=plan.tolerance,
                    perturbation=noise,
                    test=plan.test.begin(spec.threshold, streams.generator("svt", agent)),
                    opening=plan.opening,
                    clip=spec.clip,
                    shared_noise=plan.test.shared_noise,
                )
            )
        else:
            peers.append(
                PpAdmmPeer(
                    objective, degree=standing.degree, eta=spec.eta, tolerance=plan.tolerance, perturbation=noise
                )
            )
    return peers
