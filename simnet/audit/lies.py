"""Methods that break their promise, so that the audit can show that it notices.

A liar charges its ledger like an honest agent; only the noise that it draws, or the direction in which it steps, is
another. Nothing but `simnet audit` can make an agent lie.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from simnet.audit.section import Lie
from simnet.errors import ScenarioError
from simnet.methods import METHODS
from simnet.methods.method import Calibration
from simnet.methods.peer import Peer, Proposal, Work
from simnet.scenario import Scenario


def lying_plans(honest: Calibration, liar: int, lie: Lie | None) -> Calibration:
    """`half-noise`: half of the noise at the full charges."""
    if lie != "half-noise":
        return honest
    plans = list(honest.plans)
    plan = plans[liar]
    if plan is None:
        raise ScenarioError("audit.lie = 'half-noise': a method without noise has nothing to lie about")
    plans[liar] = plan.halved()
    return replace(honest, plans=plans)


def lying_flips(honest: float, scenario: Scenario, lie: Lie | None) -> float:
    """`half-flips`: a coin is tossed as often as a label should be flipped; half of the tosses leave it as it is."""
    if lie != "half-flips":
        return honest
    if not scenario.algorithm.flips_labels:
        raise ScenarioError(f"audit.lie = 'half-flips': only {who('flips_labels')} flips labels")
    return honest / 2


def lying_peer(peer: Peer, lie: Lie | None) -> Peer:
    """The peer itself if it is honest, otherwise one that lies in its place."""
    if lie == "reused-noise":
        return cast(Peer, ReusedNoise(peer))
    if lie == "true-gradient":
        return cast(Peer, TrueGradient(peer))
    return peer


def who(does: str) -> str:
    """The methods of which something is true."""
    return ", ".join(name for name, method in METHODS.items() if getattr(method, does))


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
        rng = honest.noise_source
        if rng is None:
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
        if not honest.recycles:
            raise ScenarioError(f"audit.lie = 'true-gradient': only {who('recycles')} has rounds without a solve")

    def propose(self, t: int) -> Proposal | Work:
        if t % 2:
            return self._honest.propose(t)
        return self._honest.step_by_data(t)
