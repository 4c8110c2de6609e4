"""An adversarial neighbour: an agent that learns nothing and sends what drives its victim's model somewhere.

The linear term of the victim's local problem that belongs to one link is 2λ − η(θ_i + θ_j), with λ the link's share of
the dual. With θ_j(t) = λ(t−1)/η + g it is −2ηg after every round, whatever the victim released: the victim then solves
min f(θ) + ηV|θ − g/V|² + b·θ, the same problem in every round. So a goal of V times the wanted place pulls the
minimiser there, as far as its other neighbours let it.

The leaf of a star takes its gradient wherever the hub says: an adversarial hub says so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simnet.learning.objective import LocalObjective
from simnet.methods.admm import AdmmPeer
from simnet.methods.dp_admm import HubPeer
from simnet.methods.duals import Duals
from simnet.methods.peer import Known, Parts, Proposal
from simnet.vectors import Vector


class Driver(AdmmPeer):
    """Sends what keeps the problem of `victim` at `goal`; it is the victim's neighbour, so it knows what it needs."""

    def __init__(
        self, objective: LocalObjective, *, degree: int, eta: float, duals: Duals, victim: int, goal: Vector
    ) -> None:
        super().__init__(objective, degree=degree, eta=eta, tolerance=1.0, duals=duals)
        self._victim = victim
        self._goal = goal
        self._share: Vector = np.zeros(objective.features)

    def propose(self, t: int) -> Proposal:
        return Proposal((self._share / self.eta + self._goal,), 0, 0.0)

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        super().absorb(t, sent, known)
        for value in known:
            if value.peer == self._victim:
                self._share = self._share + self.eta / 2 * (value.parts[0] - self.theta)


class HubDriver(HubPeer):
    """The hub of a star that sends `goal` in place of a model, whatever its leaves tell it."""

    def __init__(self, honest: HubPeer, goal: Vector) -> None:
        super().__init__(honest.solver, honest.objective, honest.share, honest.shares, honest.schedule, honest.rng)
        self._goal = goal

    def propose(self, t: int) -> Proposal:
        return Proposal((self._goal,), 0, 0.0)

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        return ()

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        if sent is not None:
            self.theta = sent[0]
