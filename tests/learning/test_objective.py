from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.errors import DataError
from simnet.learning.losses import HINGE_WIDTH, LOGISTIC, LOSSES, SMOOTHED_HINGE
from simnet.learning.objective import LocalObjective, Measurement, Subproblem

seeds = st.integers(0, 2**32 - 1)
losses = st.sampled_from(list(LOSSES.values()))


def drawn(seed: int, rows: int, features: int, density: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features)) * (rng.random((rows, features)) < density)
    return X, np.where(rng.random(rows) < 0.5, -1.0, 1.0)


def plain_value(X, y, theta, regulariser: float, weight: float) -> float:
    total = 0.0
    for x, label in zip(X, y, strict=True):
        margin = label * sum(a * b for a, b in zip(x, theta, strict=True))
        total += math.log1p(math.exp(-margin))
    return weight * total / len(y) + regulariser / 2 * sum(a * a for a in theta)


@given(seed=seeds, rows=st.integers(1, 8), features=st.integers(1, 5), weight=st.floats(0.1, 10))
def test_the_value_is_the_papers_formula(seed: int, rows: int, features: int, weight: float):
    X, y = drawn(seed, rows, features)
    theta = np.random.default_rng(seed + 1).standard_normal(features)
    f = LocalObjective(X, y, LOGISTIC, regulariser=0.3, weight=weight)
    assert f.value(theta) == pytest.approx(plain_value(X, y, theta, 0.3, weight), rel=1e-12)


@given(seed=seeds, rows=st.integers(1, 30), features=st.integers(1, 6), loss=losses, weight=st.floats(0.1, 10))
@settings(max_examples=50)
def test_gradient_and_hessian_are_the_differences_of_what_they_derive(seed, rows, features, loss, weight):
    X, y = drawn(seed, rows, features)
    theta = np.random.default_rng(seed + 1).standard_normal(features)
    f = LocalObjective(X, y, loss, regulariser=0.2, weight=weight)
    h = 1e-5
    steps = h * np.eye(features)
    slopes = [(f.value(theta + step) - f.value(theta - step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(f.gradient(theta), slopes, atol=1e-6 * (1 + weight))
    on_a_kink = np.abs(np.abs(1 - f.margins(theta)) - HINGE_WIDTH).min() < 1e-3
    if loss is not SMOOTHED_HINGE or not on_a_kink:
        bends = [(f.gradient(theta + step) - f.gradient(theta - step)) / (2 * h) for step in steps]
        np.testing.assert_allclose(f.hessian(theta), bends, atol=1e-6 * (1 + weight))


@pytest.mark.parametrize("density", [0.05, 0.5])
@pytest.mark.parametrize("rows", [10, 2500])
def test_a_sparse_matrix_and_its_dense_twin_give_the_same_objective(density: float, rows: int):
    X, y = drawn(3, rows, 40, density)
    theta = np.linspace(-1, 1, 40)
    dense = LocalObjective(X, y, LOGISTIC, 0.1)
    sparse = LocalObjective(sp.csr_array(X), y, LOGISTIC, 0.1)
    assert dense.sparse == sparse.sparse == (density < 0.1 and rows > 1000)
    plain = y[:, None] * X
    for f in (dense, sparse):
        np.testing.assert_allclose(f.margins(theta), plain @ theta, atol=1e-13)
        np.testing.assert_allclose(f.row_losses(theta), np.logaddexp(0, -plain @ theta), atol=1e-13)
        weights = 0.25 / np.cosh(plain @ theta / 2) ** 2
        np.testing.assert_allclose(f.loss_hessian(theta), plain.T @ (weights[:, None] * plain) / rows, atol=1e-13)
        np.testing.assert_allclose(
            f.loss_gradient(theta), -plain.T @ (1 / (1 + np.exp(plain @ theta))) / rows, atol=1e-13
        )


@pytest.mark.parametrize("every", [2, 7])
def test_a_hessian_of_some_rows_is_the_hessian_of_an_agent_with_these_rows(every: int):
    for density in (0.05, 1.0):
        X, y = drawn(4, 9000, 10, density)
        theta = np.linspace(-1, 1, 10)
        some = LocalObjective(X, y, LOGISTIC, 0.1, weight=3.0).loss_hessian(theta, every)
        fewer = LocalObjective(X[::every], y[::every], LOGISTIC, 0.1, weight=3.0).loss_hessian(theta)
        np.testing.assert_allclose(some, fewer, atol=1e-13)


@given(seed=seeds, rows=st.integers(1, 20), features=st.integers(1, 6), loss=losses)
def test_no_hessian_exceeds_the_stated_smoothness(seed, rows, features, loss):
    X, y = drawn(seed, rows, features)
    theta = np.random.default_rng(seed + 1).standard_normal(features)
    f = LocalObjective(X, y, loss, regulariser=0.0, weight=2.0)
    assert np.linalg.eigvalsh(f.loss_hessian(theta)).max() <= f.smoothness * (1 + 1e-12)


@given(seed=seeds, neighbours=st.integers(1, 5), eta=st.floats(1e-3, 10))
def test_the_subproblem_is_admms_local_problem_up_to_a_constant(seed: int, neighbours: int, eta: float):
    X, y = drawn(seed, 12, 4)
    rng = np.random.default_rng(seed + 1)
    own, dual, here, there = rng.standard_normal((4, 4))
    others = rng.standard_normal((neighbours, 4))
    f = LocalObjective(X, y, LOGISTIC, regulariser=0.1)
    linear = 2 * dual - eta * (own + others).sum(axis=0)
    problem = Subproblem(f, linear, 2 * eta * neighbours)

    def papers(theta: np.ndarray) -> float:
        penalty = sum(np.sum((0.5 * (own + other) - theta) ** 2) for other in others)
        return f.value(theta) + 2 * dual @ theta + eta * penalty

    assert problem.value(here) - problem.value(there) == pytest.approx(papers(here) - papers(there), rel=1e-9, abs=1e-9)
    assert problem.curvature == 0.1 + 2 * eta * neighbours


def test_the_subproblem_derives_its_own_value():
    X, y = drawn(5, 12, 4)
    theta, linear = np.random.default_rng(6).standard_normal((2, 4))
    problem = Subproblem(LocalObjective(X, y, LOGISTIC, 0.1), linear, 0.7)
    h = 1e-5
    steps = h * np.eye(4)
    slopes = [(problem.value(theta + step) - problem.value(theta - step)) / (2 * h) for step in steps]
    bends = [(problem.gradient(theta + step) - problem.gradient(theta - step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(problem.gradient(theta), slopes, atol=1e-8)
    np.testing.assert_allclose(problem.hessian(theta), bends, atol=1e-8)


def test_an_agent_without_rows_is_refused():
    with pytest.raises(DataError, match="no rows"):
        LocalObjective(np.empty((0, 3)), np.empty(0), LOGISTIC, 0.1)


def test_labels_must_match_the_rows():
    with pytest.raises(DataError, match="4 rows need as many labels"):
        LocalObjective(np.ones((4, 3)), np.ones(3), LOGISTIC, 0.1)


def test_the_callers_data_are_left_as_they_were():
    X, y = drawn(7, 2500, 40, 0.05)
    rows = sp.csr_array(X)
    LocalObjective(rows, y, LOGISTIC, 0.1).gradient(np.ones(40))
    np.testing.assert_array_equal(rows.toarray(), X)


@pytest.mark.parametrize(("density", "rows"), [(1.0, 20), (1.0, 3000), (0.05, 3000)])
def test_the_rows_and_labels_that_an_objective_was_made_of_can_be_had_back(density: float, rows: int):
    X, y = drawn(3, rows, 30, density)
    back = LocalObjective(X, y, LOGISTIC, 0.01).dataset("mine")
    assert back.name == "mine"
    assert back.y.tolist() == y.tolist()
    assert (back.X.toarray() if isinstance(back.X, sp.csr_array) else back.X).tolist() == X.tolist()


def test_a_measurement_is_the_mean_of_the_rows_losses_each_up_to_the_ceiling():
    rng = np.random.default_rng(1)
    X, theta = rng.standard_normal((7, 3)), np.array([1.0, -2.0, 3.0])
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0])
    f = LocalObjective(X, y, LOGISTIC, 0.01)
    losses = [math.log(1.0 + math.exp(-label * float(row @ theta))) for row, label in zip(X, y, strict=True)]
    assert math.isclose(Measurement(f, theta).answer(), sum(losses) / 7, rel_tol=1e-14)
    clipped = sum(min(loss, 0.5) for loss in losses) / 7
    assert math.isclose(Measurement(f, theta, 0.5).answer(), clipped, rel_tol=1e-14)
    assert min(losses) < 0.5 < max(losses)
