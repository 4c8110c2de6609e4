"""Decentralised ADMM without privacy.

The iteration that all methods share, as written in Ding, Wang, Liang, Bi, Pan, "Towards Plausible Differentially
Private ADMM Based Distributed Machine Learning" (CIKM 2020), equations (3) and (4):

    θ_i ← argmin f_i(θ) + 2λ_i·θ + η Σ_j |½(θ_i + θ_j) − θ|²
    λ_i ← λ_i + (η/2) Σ_j (θ_i − θ_j)

The penalty expands to ½·2ηV|θ|² − η Σ_j (θ_i + θ_j)·θ plus a constant, so a local problem is the objective with a
linear and a quadratic term, and its curvature is at least μ = λ̂/N + 2ηV.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simnet.algorithms.peer import Parts, Proposal, Vector
from simnet.learning.objective import LocalObjective
from simnet.learning.solver import Solution, Solver
from simnet.privacy.ledger import Charge

UNPROTECTED = Charge.of("bare-model", {})
"""A release without noise: no finite ε."""


class AdmmPeer:
    """Equations (3) and (4) for one agent with `degree` neighbours."""

    def __init__(self, objective: LocalObjective, *, degree: int, eta: float, tolerance: float) -> None:
        self.objective = objective
        self.eta = eta
        self.tolerance = tolerance
        self.degree = degree
        self.theta: Vector = np.zeros(objective.features)
        self.dual: Vector = np.zeros(objective.features)
        self._known_sum: Vector = np.zeros(objective.features)
        self._solver = Solver(objective)
        self._start: Vector = self.theta

    def initial(self) -> Parts:
        return (np.zeros(self.objective.features),)

    def propose(self, t: int) -> Proposal:
        solution = self.minimise()
        return Proposal((solution.theta,), solution.gradients, solution.gradient_norm, (UNPROTECTED,))

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Parts]) -> None:
        if sent is not None:
            self.theta = sent[0]
        self._known_sum = np.sum([parts[0] for parts in known], axis=0)
        self.dual = self.dual + (self.eta / 2) * (self.degree * self.theta - self._known_sum)

    def minimise(self, perturbation: Vector | None = None) -> Solution:
        """The local problem's approximate minimiser, with `perturbation`·θ added to the objective."""
        linear = 2 * self.dual - self.eta * (self.degree * self.theta + self._known_sum)
        if perturbation is not None:
            linear += perturbation
        solution = self._solver.solve(linear, 2 * self.eta * self.degree, self._start, self.tolerance)
        self._start = solution.theta
        return solution
