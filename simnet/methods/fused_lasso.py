"""The steps by which a hub solves a graph-guided fused lasso, plain or accelerated.

    min (1/n) Σ l(x) + λ1 |y|_1    subject to Ax − y = 0

Gradients of the smooth part are handed in: whoever adds noise to them knows why (`simnet.methods.dp_admm`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from simnet.vectors import Vector


@dataclass(frozen=True, eq=False)
class FusedLasso:
    """A and the constants of the iteration; `gamma` is at least ηρ|AᵀA| + 1."""

    A: scipy.sparse.csr_array
    sparsity: float
    penalty: float
    eta: float
    gamma: float


class LassoSteps:
    """Algorithm 3: x and u, and the points x̂ and û ahead of them that steps start from.

    Without acceleration the momentum is 0 and x̂ = x, û = u: that is Algorithm 2, lines 1 to 4.

    line 1  agent.program: `for t in range(first, rounds + 1):`
    line 2  `image = p.A @ self.start + self._u_start`
    line 2  `self._y = np.sign(image) * np.maximum(np.abs(image) - p.sparsity / p.penalty, 0.0)`
    line 3  dp_admm.HubPeer: `self.objective.loss_gradient(self.solver.start) + noise`
    line 3  `return self.start - p.eta / p.gamma * (gradient + p.penalty * (p.A.T @ (image - self._y)))`
    line 4  `u = self._u_start + self.problem.A @ x - self._y`
    line 5  `return (1.0 + math.sqrt(1.0 + 4.0 * self._theta**2)) / 2.0`
    line 6  `return x + self._momentum() * (x - self.x)`
    line 7  `self._u_start = u + self._momentum() * (u - self._u)`
    line 8  agent.program: `peer.absorb(t, sent, ())`
    """

    def __init__(self, problem: FusedLasso, *, accelerated: bool) -> None:
        self.problem = problem
        self.accelerated = accelerated
        links, features = problem.A.shape
        self.x: Vector = np.zeros(features)
        self.start: Vector = self.x
        self._u: Vector = np.zeros(links)
        self._u_start: Vector = self._u
        self._y: Vector = self._u
        self._theta = 1.0

    def step(self, gradient: Vector) -> Vector:
        """The next x, given a (noisy) gradient at `start`."""
        p = self.problem
        image = p.A @ self.start + self._u_start
        self._y = np.sign(image) * np.maximum(np.abs(image) - p.sparsity / p.penalty, 0.0)
        return self.start - p.eta / p.gamma * (gradient + p.penalty * (p.A.T @ (image - self._y)))

    def ahead(self, x: Vector) -> Vector:
        """Where the step after x starts."""
        return x + self._momentum() * (x - self.x)

    def adopt(self, x: Vector, start: Vector) -> None:
        """Go on from x, as it was sent, and from the start of the next step."""
        u = self._u_start + self.problem.A @ x - self._y
        self._u_start = u + self._momentum() * (u - self._u)
        self.x, self._u, self.start = x, u, start
        self._theta = self._next_theta()

    def _momentum(self) -> float:
        return (self._theta - 1.0) / self._next_theta() if self.accelerated else 0.0

    def _next_theta(self) -> float:
        return (1.0 + math.sqrt(1.0 + 4.0 * self._theta**2)) / 2.0
