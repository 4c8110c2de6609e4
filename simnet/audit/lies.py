"""Methods that break their promise, so that the audit can show that it notices.

A liar charges its ledger like an honest agent; only the noise that it draws, or the direction in which it steps, is
another. Nothing but `simnet audit` can make an agent lie.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from simnet.audit.section import Lie
from simnet.errors import ScenarioError
from simnet.methods.m_admm import ScheduledPeer
from simnet.methods.pdml import Pdml, PdmlPeer
from simnet.methods.peer import Peer, Proposal, Work
from simnet.methods.plans import Budgeting
from simnet.methods.pp_admm import PpAdmmPeer
from simnet.methods.r_admm import RECYCLED, RAdmmPeer
from simnet.privacy.noise_plan import Plan
from simnet.privacy.noise_schedule import NoiseSchedule
from simnet.scenario import Scenario


def lying_budget(honest: Budgeting, liar: int, lie: Lie | None) -> Budgeting:
    """`half-noise`: the noise for a sensitivity of L/m, at the charges of that for 2L/m."""
    if lie != "half-noise":
        return honest
    plans = list(honest.plans)
    plans[liar] = _halved(plans[liar])
    return replace(honest, plans=plans)


def lying_flips(honest: float, scenario: Scenario, lie: Lie | None) -> float:
    """`half-flips`: a coin is tossed as often as a label should be flipped; half of the tosses leave it as it is."""
    if lie != "half-flips":
        return honest
    if not isinstance(scenario.algorithm, Pdml):
        raise ScenarioError("audit.lie = 'half-flips': only pdml flips labels")
    return honest / 2


def _halved(plan: Plan | NoiseSchedule | None) -> Plan | NoiseSchedule | None:
    if plan is None:
        raise ScenarioError("audit.lie = 'half-noise': a method without noise has nothing to lie about")
    if isinstance(plan, Plan):
        return replace(plan, sigma1=plan.sigma1 / 2)
    # The scale of gamma-type noise is a rate: less noise is a larger one.
    factor = 2.0 if plan.noise == "gamma" else 0.5
    return replace(plan, rounds=tuple(replace(each, scale=factor * each.scale) for each in plan.rounds))


def lying_peer(peer: Peer, lie: Lie | None) -> Peer:
    """The peer itself if it is honest, otherwise one that lies in its place."""
    if lie == "reused-noise":
        return cast(Peer, ReusedNoise(peer))
    if lie == "true-gradient":
        return cast(Peer, TrueGradient(peer))
    return peer


class _Liar:
    """Does what an honest peer does, but for `propose`."""

    def __init__(self, honest: Peer) -> None:
        self._honest = honest

    def __getattr__(self, name: str) -> Any:
        return getattr(self._honest, name)


class ReusedNoise(_Liar):
    """Every round draws the noise of the first: its generator starts again."""

    def __init__(self, honest: Peer) -> None:
        super().__init__(honest)
        rng: np.random.Generator
        if isinstance(honest, PpAdmmPeer):
            rng = honest.perturbation.rng
        elif isinstance(honest, ScheduledPeer | PdmlPeer):
            rng = honest.rng
        else:
            raise ScenarioError("audit.lie = 'reused-noise': admm has no noise, and dp-admm no peer that reuses it")
        self._rng = rng
        self._start = rng.bit_generator.state

    def propose(self, t: int) -> Proposal | Work:
        self._rng.bit_generator.state = self._start
        return self._honest.propose(t)


class TrueGradient(_Liar):
    """R-ADMM whose even rounds step along ∇f_i at the inexact solution, instead of along what was made public of it."""

    def __init__(self, honest: Peer) -> None:
        super().__init__(honest)
        if not isinstance(honest, RAdmmPeer):
            raise ScenarioError("audit.lie = 'true-gradient': only r-admm has rounds without a solve")
        self._peer = honest

    def propose(self, t: int) -> Proposal | Work:
        if t % 2:
            return self._honest.propose(t)
        peer, eta = self._peer, self._peer.penalties[t - 1]
        quadratic = 2 * eta * peer.degree
        slope = peer.objective.gradient(peer.theta) + peer.duals.linear(peer.theta, eta) + quadratic * peer.theta
        return Proposal((peer.theta - slope / (quadratic + peer.gammas[t - 1]),), 1, 0.0, (RECYCLED,))
