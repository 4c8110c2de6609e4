"""What a method and its peers tell an auditor.

A release is turned back into the noise that must have made it. The minimiser θ of f + ℓ·θ + (q/2)|θ|² + w n·θ
determines n = −(∇f(θ) + ℓ + qθ)/w, once under each hypothesis about the data, since ℓ, q and w are public. The density
of that candidate, with the Jacobian of the map, is the hypothesis's likelihood. A gradient or a minimiser that was sent
with noise on top is simpler: each hypothesis computes it and subtracts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simnet.learning.objective import Subproblem
from simnet.vectors import Vector


@dataclass(frozen=True)
class Candidate:
    """The noise that one hypothesis finds in a release, and log density × Jacobian of it."""

    noise: Vector
    log_likelihood: float


@dataclass(frozen=True)
class Promise:
    """ε by the method's paper, ε by proof (None: no finite one), and the one of the two that the scenario goes by."""

    claimed: float | None
    proven: float | None
    kept_by: str

    @property
    def epsilon(self) -> float:
        """The ε promised; infinite if nothing is."""
        found = self.claimed if self.kept_by == "claimed" else self.proven
        return math.inf if found is None else found


def without_noise(residual: Vector) -> Candidate:
    """Where no noise is added: the gradient that should be zero, the smaller the likelier."""
    return Candidate(residual, -float(np.linalg.norm(residual)))


def added(noise: Vector, kind: str, scale: float) -> Candidate:
    """Noise that was added to what was released."""
    return Candidate(noise, log_density(noise, kind, scale))


def in_objective(problem: Subproblem, released: Vector, weight: float, kind: str, scale: float) -> Candidate:
    """Noise n that entered the objective as w n·θ, `released` the minimiser."""
    noise = -problem.gradient(released) / weight
    log_jacobian = float(np.linalg.slogdet(problem.hessian(released))[1])
    return Candidate(noise, log_density(noise, kind, scale) + log_jacobian)


def log_density(noise: Vector, kind: str, scale: float) -> float:
    """Up to a constant: N(0, scale² I), or exp(−scale |n|); without noise the smaller n is the likelier."""
    if scale == 0.0:
        return -float(np.linalg.norm(noise))
    if kind == "gaussian":
        return -float(noise @ noise) / (2 * scale**2)
    return -scale * float(np.linalg.norm(noise))
