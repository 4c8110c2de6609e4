from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.learning.inverse_hessian import FullBfgs, LimitedBfgs, TriangleBfgs, choose, update
from simnet.learning.objective import LOGISTIC, LocalObjective

seeds = st.integers(0, 2**32 - 1)
either = pytest.mark.parametrize("kind", [TriangleBfgs, FullBfgs, LimitedBfgs])
matrices = pytest.mark.parametrize("kind", [TriangleBfgs, FullBfgs])


def objective(seed: int, rows: int = 30, features: int = 6) -> LocalObjective:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return LocalObjective(X, np.where(rng.random(rows) < 0.5, -1.0, 1.0), LOGISTIC, 0.01)


def matrix(bfgs: TriangleBfgs | LimitedBfgs, features: int) -> np.ndarray:
    return np.array([bfgs.apply(unit) for unit in np.eye(features)]).T


def pair(f: LocalObjective, rng: np.random.Generator, curvature: float) -> tuple[np.ndarray, np.ndarray]:
    here, step = rng.standard_normal((2, f.features))
    change = f.loss_gradient(here + step) - f.loss_gradient(here) + curvature * step
    return step, change


@matrices
def test_a_fresh_approximation_inverts_the_hessian(kind):
    f = objective(1, rows=20)
    theta = np.linspace(-1, 1, 6)
    bfgs = kind(f)
    bfgs.rebuild(theta, 0.05)
    np.testing.assert_allclose(matrix(bfgs, 6), np.linalg.inv(f.loss_hessian(theta) + 0.05 * np.eye(6)), rtol=1e-10)


@matrices
def test_rebuilding_uses_more_rows_each_time_until_it_uses_all(kind):
    f = objective(2, rows=6 * 4 * 16)
    theta = np.linspace(-1, 1, 6)
    bfgs = kind(f)
    for every in (16, 4, 1, 1):
        bfgs.rebuild(theta, 0.05)
        expected = np.linalg.inv(f.loss_hessian(theta, every) + 0.05 * np.eye(6))
        np.testing.assert_allclose(matrix(bfgs, 6), expected, rtol=1e-10)
    assert bfgs.factorisations == 4


@either
@given(seed=seeds, pairs=st.integers(1, 30))
def test_a_approximation_maps_the_last_change_to_its_step_and_stays_positive(kind, seed: int, pairs: int):
    f, rng = objective(seed), np.random.default_rng(seed)
    bfgs = kind(f)
    bfgs.rebuild(np.zeros(6), 0.05)
    for _ in range(pairs):
        step, change = pair(f, rng, 0.05)
        bfgs.learn(step, change, step.dot(change))
    np.testing.assert_allclose(bfgs.apply(change), step, rtol=1e-8, atol=1e-10)
    K = matrix(bfgs, 6)
    np.testing.assert_allclose(K, K.T, rtol=1e-8, atol=1e-9)
    assert np.linalg.eigvalsh(K).min() > 0


@matrices
def test_the_update_is_the_textbook_formula(kind):
    f, rng = objective(3), np.random.default_rng(3)
    bfgs = kind(f)
    bfgs.rebuild(np.zeros(6), 0.05)
    K = matrix(bfgs, 6)
    for _ in range(5):
        s, y = pair(f, rng, 0.05)
        V = np.eye(6) - np.outer(y, s) / s.dot(y)
        K = V.T @ K @ V + np.outer(s, s) / s.dot(y)
        bfgs.learn(s, y, s.dot(y))
    np.testing.assert_allclose(matrix(bfgs, 6), K, rtol=1e-9, atol=1e-12)


@given(seed=seeds, features=st.integers(1, 24), pairs=st.integers(1, 9))
def test_a_stack_of_matrices_learns_what_each_learns_alone_and_they_stay_symmetric(seed, features, pairs):
    rng = np.random.default_rng(seed)
    several = [FullBfgs(objective(seed + n, features=features)) for n in range(5)]
    for bfgs in several:
        bfgs.rebuild(np.zeros(features), 0.05)
    stack = np.array([bfgs.inverse for bfgs in several])
    for _ in range(pairs):
        steps = rng.standard_normal((5, features))
        changes = steps * (0.1 + rng.random((5, features)))
        products = np.vecdot(steps, changes)
        for bfgs, step, change, product in zip(several, steps, changes, products, strict=True):
            bfgs.learn(step, change, float(product))
        update(stack, steps, changes, products, np.empty((2, *stack.shape)))
    assert stack.tobytes() == np.array([bfgs.inverse for bfgs in several]).tobytes()
    assert stack.tobytes() == stack.swapaxes(1, 2).tobytes()


def test_a_few_pairs_do_what_the_textbook_formula_does_from_a_multiple_of_the_identity():
    f, rng = objective(4), np.random.default_rng(4)
    bfgs = LimitedBfgs(f)
    bfgs.rebuild(np.zeros(6), 0.05)
    pairs = [pair(f, rng, 0.05) for _ in range(5)]
    s, y = pairs[-1]
    K = s.dot(y) / y.dot(y) * np.eye(6)
    for s, y in pairs:
        V = np.eye(6) - np.outer(y, s) / s.dot(y)
        K = V.T @ K @ V + np.outer(s, s) / s.dot(y)
        bfgs.learn(s, y, s.dot(y))
    np.testing.assert_allclose(matrix(bfgs, 6), K, rtol=1e-9, atol=1e-12)


@either
@pytest.mark.parametrize("curvature", [0.2, 0.03])
def test_after_a_shift_the_approximation_still_knows_what_it_learned(kind, curvature: float):
    f, rng = objective(5), np.random.default_rng(5)
    bfgs = kind(f)
    bfgs.rebuild(np.zeros(6), 0.05)
    step, change = pair(f, rng, 0.05)
    bfgs.learn(step, change, step.dot(change))
    assert bfgs.shift(curvature)
    np.testing.assert_allclose(bfgs.apply(change + (curvature - 0.05) * step), step, rtol=1e-9, atol=1e-12)


@matrices
def test_a_shift_below_what_was_learned_is_refused(kind):
    f = objective(6)
    bfgs = kind(f)
    bfgs.rebuild(np.zeros(6), 1.0)
    bfgs.learn(np.eye(6)[0], 0.5 * np.eye(6)[0], 0.5)
    assert not bfgs.shift(0.1)


def test_a_matrix_is_kept_where_it_pays():
    assert isinstance(choose(objective(7, rows=20, features=20)), FullBfgs)
    assert not isinstance(choose(objective(7, rows=300, features=20)), FullBfgs)
    assert isinstance(choose(objective(7, rows=5000, features=300)), TriangleBfgs)
    assert isinstance(choose(objective(7, rows=20, features=600)), LimitedBfgs)
