"""Decentralised ADMM without privacy.

The iteration that all methods share, as written in Ding, Wang, Liang, Bi, Pan, "Towards Plausible Differentially
Private ADMM Based Distributed Machine Learning" (CIKM 2020), equations (3) and (4):

    θ_i ← argmin f_i(θ) + 2λ_i·θ + η Σ_j |½(θ_i + θ_j) − θ|²
    λ_i ← λ_i + (η/2) Σ_j (θ_i − θ_j)

The penalty expands to ½·2ηV|θ|² − η Σ_j (θ_i + θ_j)·θ plus a constant, so a local problem is the objective with a
linear and a quadratic term, and its curvature is at least μ = λ̂/N + 2ηV. How λ_i is kept, and with it the linear term,
is the business of `simnet.methods.duals`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from simnet.learning.objective import LocalObjective
from simnet.learning.solver import Problem, Solution, Solver
from simnet.methods.duals import Duals, NodeDuals, constant
from simnet.methods.method import Decentralised
from simnet.methods.peer import Known, Parts, Proposal, Solving, Work, alone
from simnet.parts.fields import Positive
from simnet.privacy.ledger import BARE
from simnet.vectors import Vector


class Admm(Decentralised):
    """Decentralised ADMM without privacy."""

    name: Literal["admm"]
    tolerance: Positive = Field(1e-6, description="β, the gradient norm at which a local solve may stop")


class AdmmPeer:
    """Equations (3) and (4) for one agent with `degree` neighbours."""

    def __init__(
        self, objective: LocalObjective, *, degree: int, eta: float, tolerance: float, duals: Duals | None = None
    ) -> None:
        self.objective = objective
        self.eta = eta
        self.tolerance = tolerance
        self.degree = degree
        self.duals = duals or NodeDuals(objective.features, degree, constant(eta))
        self.theta: Vector = np.zeros(objective.features)
        self._solver = Solver(objective)
        self._start: Vector = self.theta

    @property
    def dual(self) -> Vector:
        return self.duals.dual

    def initial(self) -> Parts:
        return (np.zeros(self.objective.features),)

    def propose(self, t: int) -> Proposal | Work:
        solution = yield from self.minimiser(self.linear())
        return Proposal((solution.theta,), solution.gradients, solution.gradient_norm, (BARE,))

    def settled(self, *, accepted: bool) -> None:
        """Nothing here depends on it: a refused release was never made."""

    def accompany(self, t: int, model: Vector, known: Sequence[Known]) -> Parts:
        return self.duals.accompany(t, model, known)

    def letters(self, model: Vector, neighbours: Iterable[int]) -> Mapping[int, Parts] | None:
        return self.duals.letters(model, neighbours)

    def absorb(self, t: int, sent: Parts | None, known: Sequence[Known]) -> None:
        if sent is not None:
            self.theta = sent[0]
        self.duals.absorb(t, self.theta, sent, known)

    def forget(self) -> None:
        """A crash: model and dual are gone. What was spent stays spent, and what was tested stays tested."""
        self.theta = self._start = np.zeros(self.objective.features)
        self.duals.forget()

    def recall(self, answers: Sequence[Known]) -> None:
        """Take over what the neighbours last heard from this agent, the newest of it."""
        newest = max(answers, key=lambda answer: answer.round, default=None)
        if newest is not None and newest.round > 0:
            self.theta = self.duals.recall(newest)

    def retell(self, last: Known) -> Parts:
        return self.duals.retell(last)

    def linear(self) -> Vector:
        """The linear term of this round's local problem."""
        return self.duals.linear(self.theta, self.eta)

    def minimise(self) -> Solution:
        """The local problem's approximate minimiser."""
        return alone(self.minimiser(self.linear()))

    def minimiser(self, linear: Vector) -> Solving[Solution]:
        """That of the problem with another linear term, for somebody else to solve."""
        quadratic = 2 * self.eta * self.degree
        solution: Solution = yield Problem(self._solver, linear, quadratic, self._start, self.tolerance)
        self._start = solution.theta
        return solution
