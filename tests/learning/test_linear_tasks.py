"""Linear models: each task does what a plain loop does, and its solver finds what scipy and the closed form find."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax

from simnet.learning.dataset import Dataset, bound_rows
from simnet.learning.linear_tasks import MultinomialTask, RidgeTask
from simnet.learning.solver import Solver
from tests.learning.test_row_objective import rows_of

SEEDS = st.integers(0, 2**32 - 1)
MULTINOMIAL, RIDGE = MultinomialTask(kind="multinomial"), RidgeTask(kind="ridge")


def test_ridge_is_solved_by_the_normal_equations():
    rng = np.random.default_rng(1)
    data = rows_of("number", rng, 50)
    solution = Solver(RIDGE.made(data, 0.2, 1.0)).solve(np.zeros(3), 0.0, np.zeros(3), 1e-12)
    closed = np.linalg.solve(data.X.T @ data.X / 50 + 0.2 * np.eye(3), data.X.T @ data.y / 50)
    assert solution.theta == pytest.approx(closed, abs=1e-10)


def test_multinomial_is_solved_as_scipy_solves_it():
    rng = np.random.default_rng(2)
    data = rows_of("class", rng, 40)

    def plain(theta):
        logs = log_softmax(data.X @ theta.reshape(3, 3).T, axis=1)
        return -np.mean([logs[k, int(label)] for k, label in enumerate(data.y)]) + 0.05 * theta @ theta

    solution = Solver(MULTINOMIAL.made(data, 0.1, 1.0)).solve(np.zeros(9), 0.0, np.zeros(9), 1e-10)
    by_scipy = minimize(plain, np.zeros(9), method="BFGS", options={"gtol": 1e-8}).x
    assert solution.theta == pytest.approx(by_scipy, abs=1e-5)


@given(SEEDS, st.floats(0.0, 1e6))
@settings(max_examples=60)
def test_a_row_of_multinomial_has_a_gradient_of_at_most_the_root_of_two(seed: int, size: float):
    rng = np.random.default_rng(seed)
    objective = MULTINOMIAL.made(rows_of("class", rng, 5), 0.0, 1.0)
    norms = objective.pullback(size * rng.standard_normal(9)).norms
    assert norms.max() <= MULTINOMIAL.gradient_bound * (1 + 1e-12)


def test_the_bound_of_multinomial_is_reached():
    data = Dataset("one", bound_rows(np.array([[1.0, 0.0]])), np.zeros(1), "class", 2)
    steep = MULTINOMIAL.made(data, 0.0, 1.0).pullback(np.array([-50.0, 0.0, 50.0, 0.0])).norms
    assert steep[0] == pytest.approx(math.sqrt(2.0), rel=1e-12)


@pytest.mark.parametrize("task", [MULTINOMIAL, RIDGE], ids=lambda task: task.word)
@given(seed=SEEDS)
@settings(max_examples=20)
def test_the_curvature_stays_within_the_bound_that_the_solver_uses(task, seed: int):
    rng = np.random.default_rng(seed)
    objective = task.made(rows_of(task.labels, rng, 6), 0.0, 1.5)
    here, there = rng.standard_normal((2, objective.features))
    change = np.linalg.norm(objective.loss_gradient(here) - objective.loss_gradient(there))
    assert change <= objective.smoothness * np.linalg.norm(here - there) * (1 + 1e-9)
    assert objective.smoothness <= 1.5 * task.smoothness * (1 + 1e-9), "rows are not longer than 1"


@pytest.mark.parametrize("task", [MULTINOMIAL, RIDGE], ids=lambda task: task.word)
def test_rows_that_are_too_many_to_be_dense_give_the_same(task, monkeypatch):
    rng = np.random.default_rng(6)
    data = rows_of(task.labels, rng, 30)
    dense = task.made(data, 0.1, 1.0)
    monkeypatch.setattr("simnet.learning.linear_tasks._DENSE", 50)
    sparse = task.made(data, 0.1, 1.0)
    theta = rng.standard_normal(dense.features)
    assert isinstance(sparse._X, sp.csr_array)
    assert sparse.smoothness == pytest.approx(dense.smoothness)
    assert sparse.clipped_gradient(theta, 0.2) == pytest.approx(dense.clipped_gradient(theta, 0.2), abs=1e-14)


@pytest.mark.parametrize("task", [MULTINOMIAL, RIDGE], ids=lambda task: task.word)
def test_sparse_rows_give_what_dense_rows_give(task):
    rng = np.random.default_rng(3)
    dense = rows_of(task.labels, rng, 400, features=100)
    X = np.where(rng.random(dense.X.shape) < 0.05, dense.X, 0.0)
    one = task.made(Dataset("d", X, dense.y, dense.labels, dense.classes), 0.1, 1.0)
    other = task.made(Dataset("s", sp.csr_array(X), dense.y, dense.labels, dense.classes), 0.1, 1.0)
    theta = rng.standard_normal(one.features)
    assert one.clipped_gradient(theta, 0.1) == pytest.approx(other.clipped_gradient(theta, 0.1), abs=1e-14)
    test = Dataset("t", sp.csr_array(X), dense.y, dense.labels, dense.classes)
    again = Dataset("t", X, dense.y, dense.labels, dense.classes)
    assert task.errors(theta[None], test) == pytest.approx(task.errors(theta[None], again), abs=1e-12)


def test_errors_are_what_a_plain_loop_counts():
    rng = np.random.default_rng(4)
    classes, numbers = rows_of("class", rng, 30), rows_of("number", rng, 30)
    models, lines = rng.standard_normal((4, 9)), rng.standard_normal((4, 3))
    wrong = [
        np.mean([np.argmax(W.reshape(3, 3) @ x) != y for x, y in zip(classes.X, classes.y, strict=True)])
        for W in models
    ]
    missed = [math.sqrt(np.mean([(w @ x - y) ** 2 for x, y in zip(numbers.X, numbers.y, strict=True)])) for w in lines]
    assert MULTINOMIAL.errors(models, classes) == pytest.approx(wrong, abs=1e-12)
    assert RIDGE.errors(lines, numbers) == pytest.approx(missed, rel=1e-12)
    logs = [log_softmax(classes.X @ W.reshape(3, 3).T, axis=1)[range(30), classes.y.astype(int)] for W in models]
    assert MULTINOMIAL.measures(models, classes)["test_loss"] == pytest.approx(-np.mean(logs))
    absolute = np.mean([abs(w @ x - y) for w in lines for x, y in zip(numbers.X, numbers.y, strict=True)])
    assert RIDGE.measures(lines, numbers)["mean_absolute_error"] == pytest.approx(absolute)


def test_a_model_that_says_nothing_is_right_in_one_case_of_three_and_one_that_is_no_number_never():
    data = rows_of("class", np.random.default_rng(5), 30)
    assert MULTINOMIAL.errors(np.zeros((1, 9)), data) == pytest.approx([2 / 3])
    assert MULTINOMIAL.errors(np.full((1, 9), np.nan), data) == pytest.approx([1.0])
