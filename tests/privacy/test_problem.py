"""The sensitivities of a local problem, against problems that are really solved."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from simnet.errors import BudgetError
from simnet.privacy.problem import LocalProblem
from simnet.streams import Streams
from simnet.vectors import Vector


def margins(x: Vector, y: Vector, theta: Vector) -> Vector:
    return y * (x @ theta)


def gradient(x: Vector, y: Vector, theta: Vector, weight: float, curvature: float, linear: Vector) -> Vector:
    slopes = -y / (1.0 + np.exp(margins(x, y, theta)))
    return weight * x.T @ slopes / len(y) + curvature * theta + linear


def solve(x: Vector, y: Vector, weight: float, curvature: float, linear: Vector) -> Vector:
    def value(theta: Vector) -> float:
        losses = np.logaddexp(0.0, -margins(x, y, theta))
        return float(weight * losses.mean() + curvature / 2 * theta @ theta + linear @ theta)

    found = minimize(
        value,
        np.zeros(x.shape[1]),
        jac=lambda t: gradient(x, y, t, weight, curvature, linear),
        method="BFGS",
        options={"gtol": 1e-10},
    )
    return np.asarray(found.x)


def clipped_mean(x: Vector, y: Vector, theta: Vector, clip: float) -> float:
    return float(np.minimum(np.logaddexp(0.0, -margins(x, y, theta)), clip).mean())


def test_replacing_a_row_moves_nothing_further_than_stated() -> None:
    rng = Streams(1).generator("problems")
    closest = {"minimiser": 0.0, "query": 0.0}
    for _ in range(60):
        m, weight, curvature = int(rng.integers(1, 6)), rng.uniform(0.3, 2.0), 10.0 ** rng.uniform(-1.5, 1.0)
        problem = LocalProblem(m, curvature, weight=weight)
        x = rng.standard_normal((m, 2))
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)
        y, linear = rng.choice([-1.0, 1.0], m), rng.normal(size=2)
        other_x, other_y = x.copy(), y.copy()
        if rng.random() < 0.5:
            x[0] /= np.linalg.norm(x[0])
            other_x[0] = -x[0]
        else:
            other_x[0] = rng.standard_normal(2)
            other_x[0] /= np.linalg.norm(other_x[0])
        here, there = solve(x, y, weight, curvature, linear), solve(other_x, other_y, weight, curvature, linear)
        shift = float(np.linalg.norm(here - there))
        assert shift <= problem.minimiser_shift(1e-9)
        old, clip = rng.normal(size=2) * 3.0, rng.uniform(0.1, 2.0)
        query = clipped_mean(x, y, old, clip) - clipped_mean(x, y, here, clip)
        other = clipped_mean(other_x, other_y, old, clip) - clipped_mean(other_x, other_y, there, clip)
        assert abs(query - other) <= problem.query_shift(clip, 1e-9, model_is_released=False)
        # With one public model in both, only the replaced row counts.
        fixed = clipped_mean(x, y, old, clip) - clipped_mean(x, y, here, clip)
        moved = clipped_mean(other_x, other_y, old, clip) - clipped_mean(other_x, other_y, here, clip)
        assert abs(fixed - moved) <= problem.query_shift(clip, 0.0, model_is_released=True) + 1e-12
        closest["minimiser"] = max(closest["minimiser"], shift / problem.minimiser_shift(0.0))
        closest["query"] = max(
            closest["query"], abs(query - other) / problem.query_shift(clip, 0.0, model_is_released=False)
        )
    # Flipping a logistic label moves the gradient by L/m, half of the worst case.
    assert closest["minimiser"] > 0.49
    assert closest["query"] > 0.2


def test_the_numbers_are_the_ones_of_the_text() -> None:
    problem = LocalProblem.of(7000, 2, 0.01, 1e-4)
    assert problem.curvature == pytest.approx(0.0401)
    assert problem.kappa == pytest.approx(0.25 / (7000 * 0.0401))
    assert problem.gradient_shift == pytest.approx(2 / 7000)
    assert problem.minimiser_shift(1e-6) == pytest.approx((2 / 7000 + 2e-6) / 0.0401)
    assert problem.query_shift(2.0, 1e-6, model_is_released=False) == pytest.approx(
        4 / 7000 + (1 - 1 / 7000) * (2 / 7000 + 2e-6) / 0.0401
    )
    assert problem.query_shift(2.0, 1e-6, model_is_released=True) == pytest.approx(
        4 / 7000 + (1 - 1 / 7000) * 2e-6 / 0.0401
    )


def test_a_problem_without_curvature_or_data_is_refused() -> None:
    with pytest.raises(BudgetError, match="neighbour or a regulariser"):
        LocalProblem.of(10, 0, 0.5, 0.0)
    with pytest.raises(BudgetError, match="at least one row"):
        LocalProblem(0, 1.0)
