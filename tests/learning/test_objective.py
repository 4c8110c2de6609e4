"""Losses, and the objectives made of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from simnet.errors import DataError
from simnet.learning.objective import (
    HINGE_WIDTH,
    LOGISTIC,
    LOSSES,
    SMOOTHED_HINGE,
    LocalObjective,
    Loss,
    Measurement,
    Subproblem,
    unbiased,
)

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
    on_a_kink = np.abs(np.abs(1 - f.transposed.T @ theta) - HINGE_WIDTH).min() < 1e-3
    if loss is not SMOOTHED_HINGE or not on_a_kink:
        bends = [(f.gradient(theta + step) - f.gradient(theta - step)) / (2 * h) for step in steps]
        np.testing.assert_allclose(f.loss_hessian(theta) + 0.2 * np.eye(features), bends, atol=1e-6 * (1 + weight))


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
        np.testing.assert_allclose(f.transposed.T @ theta, plain @ theta, atol=1e-13)
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


every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
margins = st.floats(-40, 40)


def at(function, *z: float) -> np.ndarray:
    return function(np.array(z))


def near_a_kink(loss: Loss, z: float, reach: float = 1e-4) -> bool:
    return loss is SMOOTHED_HINGE and abs(abs(1 - z) - HINGE_WIDTH) < reach


@every_loss
@given(z=margins)
def test_slope_and_bend_are_the_derivatives(loss: Loss, z: float):
    h = 1e-5
    below, above = at(loss.value, z - h, z + h)
    assert (above - below) / (2 * h) == pytest.approx(at(loss.slope, z)[0], abs=1e-5)
    if not near_a_kink(loss, z):
        below, above = at(loss.slope, z - h, z + h)
        assert (above - below) / (2 * h) == pytest.approx(at(loss.bend, z)[0], abs=1e-6)


@every_loss
@given(a=margins, b=margins)
def test_the_stated_constants_bound_the_slope_and_its_changes(loss: Loss, a: float, b: float):
    slope_a, slope_b = at(loss.slope, a, b)
    assert abs(slope_a) <= loss.lipschitz
    assert abs(slope_a - slope_b) <= loss.smoothness * abs(a - b) + 1e-15
    assert 0 <= at(loss.bend, a)[0] <= loss.smoothness * (1 + 1e-15)


@every_loss
def test_the_stated_constants_are_not_larger_than_need_be(loss: Loss):
    z = np.linspace(-50, 50, 100_001)
    assert np.abs(loss.slope(z)).max() == pytest.approx(loss.lipschitz)
    assert loss.bend(z).max() == pytest.approx(loss.smoothness)


@every_loss
@given(a=margins, b=margins, t=st.floats(0, 1))
def test_losses_are_convex_and_reward_a_larger_margin(loss: Loss, a: float, b: float, t: float):
    chord = t * at(loss.value, a)[0] + (1 - t) * at(loss.value, b)[0]
    assert at(loss.value, t * a + (1 - t) * b)[0] <= chord + 1e-12
    assert at(loss.slope, a)[0] <= 0


def test_the_logistic_loss_is_log_one_plus_e_to_the_minus_z():
    z = np.linspace(-30, 30, 601)
    np.testing.assert_allclose(LOGISTIC.value(z), np.logaddexp(0, -z), rtol=1e-14)
    np.testing.assert_allclose(LOGISTIC.slope(z), -expit(-z), rtol=1e-14)
    np.testing.assert_allclose(LOGISTIC.bend(z), expit(z) * expit(-z), rtol=1e-14)


@every_loss
def test_margins_of_a_thousand_neither_overflow_nor_warn(loss: Loss):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert at(loss.value, -1000.0, 1000.0) == pytest.approx([1000.0 if loss is LOGISTIC else 1001.0, 0.0])
        assert at(loss.slope, -1000.0, 1000.0) == pytest.approx([-1.0, 0.0])
        assert at(loss.bend, -1000.0, 1000.0) == pytest.approx([0.0, 0.0])


def test_the_smoothed_hinge_is_the_hinge_away_from_its_corner():
    z = np.array([-20.0, 0.0, 1 - HINGE_WIDTH, 1 + HINGE_WIDTH, 5.0])
    np.testing.assert_allclose(SMOOTHED_HINGE.value(z), np.maximum(1 - z, 0), atol=1e-15)
    assert at(SMOOTHED_HINGE.value, 1.0)[0] == HINGE_WIDTH / 4


@every_loss
def test_margins_are_left_as_they_were(loss: Loss):
    z = np.linspace(-3, 3, 7)
    for function in (loss.value, loss.slope, loss.bend):
        function(z)
    np.testing.assert_array_equal(z, np.linspace(-3, 3, 7))


@pytest.mark.parametrize("loss", LOSSES.values(), ids=lambda loss: loss.name)
def test_slopes_can_take_the_place_of_the_margins(loss: Loss):
    z = np.linspace(-4.0, 4.0, 17)
    expected = loss.slope(z).tolist()
    assert loss.slope(z, z) is z
    assert z.tolist() == expected


def test_flipping_labels_leaves_the_loss_unbiased():
    z = np.linspace(-4, 4, 9)
    fair, wrong = unbiased(LOGISTIC, 0.7), 1 / (1 + math.exp(0.7))
    np.testing.assert_allclose((1 - wrong) * fair.value(z) + wrong * fair.value(-z), LOGISTIC.value(z), atol=1e-12)
    assert np.abs(fair.slope(z)).max() <= fair.lipschitz
    step = 1e-6
    np.testing.assert_allclose((fair.value(z + step) - fair.value(z - step)) / (2 * step), fair.slope(z), atol=1e-8)


def test_it_is_the_papers_formula_and_the_plain_loss_without_flips():
    z, e = np.linspace(-3, 3, 7), math.exp(0.9)
    printed = (e * LOGISTIC.value(z) - LOGISTIC.value(-z)) / (e - 1)
    np.testing.assert_allclose(unbiased(LOGISTIC, 0.9).value(z), printed, atol=1e-12)
    np.testing.assert_array_equal(unbiased(LOGISTIC, 1e4).value(z), LOGISTIC.value(z))
    assert unbiased(LOGISTIC, 0.9).lipschitz == pytest.approx((e + 1) / (e - 1))


def test_a_hinge_is_refused_because_it_would_not_stay_convex():
    """(e^ε l''(z) − l''(−z))/(e^ε − 1) is −1/(e^ε − 1) near z = −1: the hinge is straight there, its mirror bends."""
    z, e = np.linspace(-1.4, -0.6, 9), math.e
    curvature = (e * SMOOTHED_HINGE.bend(z) - SMOOTHED_HINGE.bend(-z)) / (e - 1)
    np.testing.assert_allclose(curvature, -1 / (e - 1))
    with pytest.raises(DataError, match="only the logistic loss stays so"):
        unbiased(SMOOTHED_HINGE, 1.0)
