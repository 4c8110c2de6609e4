"""The papers' theorems in numbers: functions of what is public, for the `theory` of the methods.

Each says in which norm and under which preconditions its number is one. Matrices that are not symmetric stand for their
quadratic forms, so for their symmetric parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simnet.vectors import Square

FAILURE = 0.05
"""ξ, with which bounds on samples may fail."""
_MUS = 1.0 + np.geomspace(1e-3, 1e3, 61)
_LS = np.geomspace(1e-2, 1e2, 17)
_LARGEST_GAMMA = 1e9


# M-ADMM: how fast it converges.


def rate(
    etas: Sequence[float],
    step: float,
    adjacency: Square,
    weakest: float,
    steepest: float,
    *,
    printed: bool = False,
) -> float:
    """M-ADMM, Theorem 3.2: |Z(t) − Z*|² falls by 1 + δ, in the norm of J(t), without noise; the largest δ over μ > 1.

    Equation (23) `printed` counts the least singular value of (W − θI)(D − A) that is not zero. But (22) asks for an
    inequality in all directions, and in that of consensus this matrix is zero. So its least eigenvalue is what counts;
    where penalties are below the dual step it is below zero, and nothing is promised. Nor is anything where penalties
    differ: J(t) is not symmetric then, as the proof takes it to be, and runs break even what (21) and (22) allow.
    """
    if not printed and len(set(etas)) > 1:
        return 0.0
    degrees, weights = np.diag(adjacency.sum(axis=0)), np.diag(etas)
    laplacian = degrees - adjacency
    apart = (weights - step * np.eye(len(etas))) @ laplacian
    values = np.linalg.svd(apart, compute_uv=False)
    gap = _smallest(np.linalg.svd(laplacian, compute_uv=False))
    widest = float(np.linalg.norm(weights @ (degrees + adjacency), 2))
    first = step * gap / (_MUS**2 * widest)
    cost = (_MUS**2 * steepest**2 + _MUS * values[0] ** 2) / (step * gap * (_MUS - 1.0)) + widest
    second = (2.0 * weakest + 2.0 * (_smallest(values) if printed else lowest(apart))) / cost
    return max(0.0, float(np.max(np.minimum(first, second))))


# R-ADMM: whether it converges.


def recycling_margins(
    eta: float, gamma: float, adjacency: Square, steepest: float, weight: float = 2.0, mu: float = 2.0
) -> tuple[float, float]:
    """R-ADMM, (24) and (25) with L = `weight` and μ: the smallest eigenvalue of each left side minus its right side.

    At L = μ = 2 they are (26) and (27).
    """
    degrees = np.diag(adjacency.sum(axis=0))
    signless, laplacian, one = degrees + adjacency, degrees - adjacency, np.eye(len(adjacency))
    held = 2.0 * eta * degrees + gamma * one
    least = float(np.diag(held).min())
    share, bent = eta * signless @ np.linalg.inv(held), steepest**2 * one
    first = one + share - weight * mu / (2.0 * least * eta) * bent @ np.linalg.pinv(laplacian)
    taken = eta * laplacian + 2.0 / weight * eta * signless
    second = eta * signless - share @ taken - weight * mu / (2.0 * least * (mu - 1.0)) * bent
    return lowest(first), lowest(second)


def best_recycling(eta: float, gamma: float, adjacency: Square, steepest: float) -> tuple[float, float, float, float]:
    """L and μ for which the smaller margin of (24) and (25) is largest, the second in units of η; and both margins."""

    def margins(weight: float, mu: float) -> tuple[float, float, float, float]:
        return (weight, mu, *recycling_margins(eta, gamma, adjacency, steepest, weight, mu))

    tried = [margins(float(weight), float(mu)) for weight in _LS for mu in _MUS[::10]]
    return max([margins(2.0, 2.0), *tried], key=lambda found: min(found[2], found[3] / eta))


def enough_gamma(eta: float, adjacency: Square, steepest: float) -> float | None:
    """From which γ on (26) and (27) hold; None if no γ is enough."""

    def both(gamma: float) -> bool:
        return min(recycling_margins(eta, gamma, adjacency, steepest)) > 0.0

    if not both(_LARGEST_GAMMA):
        return None
    low, high = 0.0, _LARGEST_GAMMA
    while high > 1.01 * low + 1e-6:
        middle = math.sqrt(max(low, 1e-6) * high)
        low, high = (low, middle) if both(middle) else (middle, high)
    return high


# DP-ADMM: how near it comes.


@dataclass(frozen=True)
class Utility:
    """DP-ADMM, Theorem 2: E R(x̃, ỹ) <= start/T + noise, for the averages of T rounds' x and y.

    R = f(x̃) − f(x*) − ∇f(x*)·(x̃ − x*) + the same of g. It needs η <= 1/L_f and γ >= ηρ|AᵀA| + 1.
    """

    start: float
    noise: float
    rounds: int

    @classmethod
    def of(
        cls,
        *,
        A: npt.NDArray[np.floating],
        eta: float,
        penalty: float,
        gamma: float,
        sparsity: float,
        sigma: float,
        rounds: int,
        distance: float = 1.0,
    ) -> Utility:
        """`distance` is |x_0 − x*|, `sigma` the σ of the noise on the mean gradient.

        The paper's c1 has L_f |A†A†ᵀ|/(2ρ) for a dual that starts at −(Aᵀ)†∇f(x_0)/ρ. Here it starts at 0, and ρu* is a
        subgradient of λ1|y|_1: so ρ|u_0 − u*|²/2 <= λ1² links/(2ρ), whatever the rank of A.
        """
        square = A.T @ A
        widest = float(np.linalg.norm(square, 2))
        held = gamma - eta * penalty * lowest(square)
        start = (held / (2.0 * eta) + penalty * widest / 2.0) * distance**2 + len(A) * sparsity**2 / (2.0 * penalty)
        return cls(start, eta * sigma**2 * A.shape[1], rounds)

    @property
    def bound(self) -> float:
        """What R is at most, on average over the noise."""
        return self.start / self.rounds + self.noise

    @property
    def best_rounds(self) -> float:
        """T at which the bound is least where σ² grows as T, so that ε stays; infinite without noise."""
        return math.sqrt(self.start * self.rounds / self.noise) if self.noise else math.inf

    @property
    def best_bound(self) -> float:
        """The bound after so many rounds."""
        return 2.0 * math.sqrt(self.start * self.noise / self.rounds)


# PP-ADMM: how many rows it needs.


@dataclass(frozen=True)
class Samples:
    """PP-ADMM, Theorems 3 (σ1 = σ2 = 0) and 4, in units of their constant V, which the paper does not give.

    With |θ_ref| = 1 and a, Δ → 0: |D_i| >= V log(1/ξ)/(e²/2 − β − H), H = σ2 e √(2p log 1/ξ) + 2σ1² p log(1/ξ),
    promises a loss within e of that of any model of norm 1, but for a probability of ξ (three times that with noise).
    """

    tolerance: float
    features: int
    sigma1: float = 0.0
    sigma2: float = 0.0

    def rows(self, error: float) -> float:
        """The least |D_i|/V; infinite if no number of rows is enough."""
        left = error**2 / 2.0 - self._slope * error - self._constant
        return math.log(1.0 / FAILURE) / left if left > 0.0 else math.inf

    @property
    def least_error(self) -> float:
        """The e that no number of rows goes below."""
        return self._slope + math.sqrt(self._slope**2 + 2.0 * self._constant)

    @property
    def _slope(self) -> float:
        return self.sigma2 * math.sqrt(2.0 * self.features * math.log(1.0 / FAILURE))

    @property
    def _constant(self) -> float:
        return self.tolerance + 2.0 * self.sigma1**2 * self.features * math.log(1.0 / FAILURE)


def lowest(matrix: npt.NDArray[np.floating]) -> float:
    """The smallest eigenvalue of the symmetric part."""
    return float(np.linalg.eigvalsh((matrix + matrix.T) / 2.0)[0])


def _smallest(values: npt.NDArray[np.floating]) -> float:
    """The smallest singular value that is not zero; 0 if all are."""
    present = values[values > 1e-12 * max(float(values.max()), 1e-300)]
    return float(present.min()) if present.size and values.max() > 0.0 else 0.0
