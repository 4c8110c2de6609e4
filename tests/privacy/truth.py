"""The exact privacy loss of objective perturbation on small problems, computed without any theorem.

For noise b the minimiser θ̃(b) solves ∇J(θ̃) + b = 0. Its density under either data set follows from the change of
variables alone, so the Rényi divergence is a Gaussian integral over b of a function that Newton's method evaluates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simnet.vectors import Vector


@dataclass(frozen=True)
class RowLoss:
    """A convex loss of z = θ·x with |l'| <= lipschitz and l'' <= smoothness, both attained or approached.

    "logistic" has l' of one sign; "valley" has l' = L tanh(c1(z − z0)/L), which changes sign at z0.
    """

    kind: str
    x: Vector
    lipschitz: float
    smoothness: float
    centre: float

    def slopes(self, theta: Vector) -> tuple[Vector, Vector]:
        """l' and l'' at the rows of `theta`."""
        z = theta @ self.x - self.centre
        if self.kind == "valley":
            t = np.tanh(self.smoothness / self.lipschitz * z)
            return self.lipschitz * t, self.smoothness * (1.0 - t * t)
        steepness = 4.0 * self.smoothness / self.lipschitz
        s = 0.5 * (1.0 - np.tanh(0.5 * steepness * z))
        return -self.lipschitz * s, 4.0 * self.smoothness * s * (1.0 - s)


@dataclass(frozen=True)
class Case:
    """Two neighbouring problems: common rows, then one row or another; (1/m) Σ l + (μ/2)|θ|² + linear·θ."""

    common: tuple[RowLoss, ...]
    row: RowLoss
    other: RowLoss
    rows: int
    curvature: float
    linear: Vector
    sigma: float
    lipschitz: float
    smoothness: float

    @property
    def ratio(self) -> float:
        return 2.0 * self.lipschitz / (self.rows * self.sigma)

    @property
    def kappa(self) -> float:
        return self.smoothness / (self.rows * self.curvature)

    def pulled_by(self, pull: float) -> Case:
        """The same problem with another linear term."""
        return replace(self, linear=self.linear + pull * self.lipschitz)

    def derivatives(self, theta: Vector, last: RowLoss) -> tuple[Vector, Vector]:
        """∇J and the Hessian at each row of `theta`, with `last` as the row that differs."""
        count, d = theta.shape
        gradient = self.curvature * theta + self.linear
        hessian = np.broadcast_to(self.curvature * np.eye(d), (count, d, d)).copy()
        # The common rows stand for rows − 1 rows: each is counted equally often.
        weights = [(self.rows - 1) / max(len(self.common), 1)] * len(self.common) + [1.0]
        for weight, loss in zip(weights, (*self.common, last), strict=True):
            first, second = loss.slopes(theta)
            gradient = gradient + (weight / self.rows) * first[:, None] * loss.x
            hessian += (weight / self.rows) * second[:, None, None] * np.outer(loss.x, loss.x)
        return gradient, hessian

    def minimise(self, b: Vector) -> Vector:
        """θ̃(b) on the first data set, for each row of b, by Newton steps damped where they overshoot."""
        theta = np.zeros_like(b)
        gradient, hessian = self.derivatives(theta, self.row)
        size = np.linalg.norm(gradient + b, axis=1)
        for _ in range(200):
            step = np.linalg.solve(hessian, (gradient + b)[..., None])[..., 0]
            damping = np.ones(len(b))
            for _ in range(30):
                trial = theta - damping[:, None] * step
                new_gradient, new_hessian = self.derivatives(trial, self.row)
                new_size = np.linalg.norm(new_gradient + b, axis=1)
                worse = new_size > (1.0 - 0.1 * damping) * size + 1e-14
                if not worse.any():
                    break
                damping[worse] *= 0.5
            theta, gradient, hessian, size = trial, new_gradient, new_hessian, new_size
            if size.max() < 1e-12 * max(1.0, float(np.abs(b).max())):
                return theta
        assert size.max() < 1e-8, "the reference solver did not converge"
        return theta

    def log_ratio(self, b: Vector) -> Vector:
        """log p_D(θ̃)/p_D'(θ̃) at θ̃(b): densities by the change of variables, nothing else."""
        theta = self.minimise(b)
        gradient, hessian = self.derivatives(theta, self.row)
        other_gradient, other_hessian = self.derivatives(theta, self.other)
        square = (other_gradient**2 - gradient**2).sum(axis=1) / (2.0 * self.sigma**2)
        return square + np.linalg.slogdet(hessian)[1] - np.linalg.slogdet(other_hessian)[1]


def losses_by_quadrature(case: Case, reach: float, step: float) -> tuple[Vector, Vector]:
    """log p_D/p_D' at points of noise up to `reach`, and the logarithm of each point's probability under D.

    It is the trapezium rule, whose error is exponentially small for smooth integrands. The other density must integrate
    to 1 on the same points, or they miss something.
    """
    d = len(case.linear)
    axis = np.linspace(-reach, reach, 2 * round(reach / step) + 1)
    grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    loss = case.log_ratio(case.sigma * grid)
    log_weight = -0.5 * (grid**2).sum(axis=1) + d * np.log((axis[1] - axis[0]) / np.sqrt(2.0 * np.pi))
    assert abs(np.exp(log_weight - loss).sum() - 1.0) < 1e-5, "the grid is too coarse"
    return loss, log_weight


def renyi_by_quadrature(case: Case, orders: list[float], step: float = 0.1) -> list[float]:
    """D_a at each order."""
    loss, log_weight = losses_by_quadrature(case, 9.0 + (max(orders) - 1.0) * case.ratio, step)
    found = []
    for a in orders:
        exponent = log_weight + (a - 1.0) * loss
        top = exponent.max()
        found.append(float((top + np.log(np.exp(exponent - top).sum())) / (a - 1.0)))
    return found


def random_row(rng: np.random.Generator, dimension: int, lipschitz: float, smoothness: float) -> RowLoss:
    x = rng.standard_normal(dimension)
    # Half of the rows have the full norm: the worst cases are there.
    x *= (1.0 if rng.random() < 0.5 else rng.uniform(0.3, 1.0)) / np.linalg.norm(x)
    kind = "valley" if rng.random() < 0.6 else "logistic"
    return RowLoss(kind, x, lipschitz, smoothness, float(rng.normal()) * lipschitz / smoothness)


def random_case(rng: np.random.Generator, dimension: int, *, log_kappa: tuple[float, float]) -> Case:
    """A case with κ and d spread over decades, tiny data sets and stiff losses among them."""
    rows = int(rng.integers(1, 30))
    lipschitz, smoothness = rng.uniform(0.3, 2.0), rng.uniform(0.1, 3.0)
    kappa, ratio = 10.0 ** rng.uniform(*log_kappa), 10.0 ** rng.uniform(-2.0, 0.4)

    def row() -> RowLoss:
        return random_row(rng, dimension, lipschitz, smoothness)

    # Often the same row with the opposite slope, the pair that a label flip makes.
    first = row()
    flipped = RowLoss(first.kind, -first.x, lipschitz, smoothness, first.centre)
    return Case(
        common=tuple(row() for _ in range(min(rows - 1, 3))),
        row=first,
        other=flipped if rng.random() < 0.4 else row(),
        rows=rows,
        curvature=smoothness / (rows * kappa),
        linear=rng.normal(size=dimension) * lipschitz,
        sigma=2.0 * lipschitz / (rows * ratio),
        lipschitz=lipschitz,
        smoothness=smoothness,
    )
