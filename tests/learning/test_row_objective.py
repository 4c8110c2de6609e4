"""An objective is known by the gradients of its rows: each counts for no more than the bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from simnet.errors import SimnetError
from simnet.learning.dataset import Dataset, bound_rows
from simnet.learning.objective import LocalObjective, Measurement
from simnet.learning.row_objective import Objective
from simnet.learning.solver import Solver
from simnet.learning.task_parts import TASKS, default_task
from simnet.privacy.rounding import lengthened

SEEDS = st.integers(0, 2**32 - 1)


def rows_of(kind: str, rng: np.random.Generator, rows: int, features: int = 3) -> Dataset:
    """Random rows of norm at most 1, with labels of a kind."""
    y = {
        "sign": rng.choice([-1.0, 1.0], rows),
        "class": rng.integers(3, size=rows).astype(float),
        "number": 3.0 * rng.standard_normal(rows),
    }[kind]
    X = bound_rows(rng.standard_normal((rows, features)))
    return Dataset("rows", X, y, kind, 3 if kind == "class" else 0)  # type: ignore[arg-type]


def made(word: str, rng: np.random.Generator, rows: int = 7, weight: float = 1.0) -> Objective:
    task = TASKS[word].model_validate({"kind": word} | ({"hidden": 4} if word == "neural" else {}))
    return task.made(rows_of(task.labels, rng, rows), 0.1, weight)


def plain_rows(objective: Objective, theta: np.ndarray) -> np.ndarray:
    """Each row's gradient: the loss gradient of an objective that has this row alone."""
    found = []
    for k in range(objective.rows):
        alone = np.zeros(objective.rows)
        alone[k] = objective.weight
        found.append(objective.pullback(theta).total(alone))
    return np.array(found)


@pytest.mark.parametrize("word", TASKS)
@given(seed=SEEDS)
@settings(max_examples=15)
def test_the_gradient_is_that_of_the_value_by_finite_differences(word: str, seed: int):
    rng = np.random.default_rng(seed)
    objective = made(word, rng, weight=1.7)
    theta = rng.standard_normal(objective.features)
    by_differences = approx_fprime(theta, objective.value, 1e-7)
    assert objective.gradient(theta) == pytest.approx(by_differences, abs=2e-5)


@pytest.mark.parametrize("word", TASKS)
@given(seed=SEEDS, weight=st.sampled_from([0.3, 1.0, 2.5]))
@settings(max_examples=15)
def test_the_norm_of_a_row_is_that_of_its_gradient(word: str, seed: int, weight: float):
    rng = np.random.default_rng(seed)
    objective = made(word, rng, weight=weight)
    theta = 2.0 * rng.standard_normal(objective.features)
    norms = np.linalg.norm(plain_rows(objective, theta), axis=1)
    assert weight * objective.pullback(theta).norms == pytest.approx(norms, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("word", TASKS)
@given(seed=SEEDS, bound=st.floats(1e-3, 10.0), weight=st.sampled_from([0.3, 1.0, 2.5]))
@settings(max_examples=20)
def test_a_clipped_gradient_is_the_mean_of_shortened_rows(word: str, seed: int, bound: float, weight: float):
    rng = np.random.default_rng(seed)
    objective = made(word, rng, weight=weight)
    theta = 2.0 * rng.standard_normal(objective.features)
    chosen = rng.random(objective.rows) < 0.5
    short = [row * min(1.0, bound / max(np.linalg.norm(row), 1e-300)) for row in plain_rows(objective, theta)]
    assert objective.clipped_gradient(theta, bound) == pytest.approx(sum(short) / objective.rows, abs=1e-12)
    some = sum(row for row, is_in in zip(short, chosen, strict=True) if is_in) / objective.rows
    assert objective.clipped_gradient(theta, bound, chosen) == pytest.approx(some, abs=1e-12)
    assert np.array_equal(
        objective.clipped_gradient(theta, bound, chosen),
        objective.clipped_gradient(theta, bound, np.flatnonzero(chosen)),
    )


@pytest.mark.parametrize("word", TASKS)
@given(seed=SEEDS, bound=st.floats(1e-6, 1e3))
@settings(max_examples=20)
def test_no_row_is_longer_than_the_bound_in_exact_arithmetic(word: str, seed: int, bound: float):
    rng = np.random.default_rng(seed)
    objective = made(word, rng, rows=1)
    theta = 10.0 ** rng.uniform(-3, 3) * rng.standard_normal(objective.features)
    found = objective.clipped_gradient(theta, bound)
    assert math.sqrt(math.fsum(float(x) * float(x) for x in found)) <= bound


@pytest.mark.parametrize("word", TASKS)
@given(seed=SEEDS, bound=st.floats(1e-2, 10.0))
@settings(max_examples=15)
def test_replacing_a_row_moves_the_mean_by_no_more_than_two_bounds(word: str, seed: int, bound: float):
    rng = np.random.default_rng(seed)
    here, there = made(word, rng), made(word, rng)
    y, X = here.dataset("a").y.copy(), np.array(here.dataset("a").X)
    X[2], y[2] = np.array(there.dataset("b").X)[2], there.dataset("b").y[2]
    task = TASKS[word].model_validate({"kind": word} | ({"hidden": 4} if word == "neural" else {}))
    before = here.dataset("a")
    changed = task.made(Dataset("rows", X, y, before.labels, before.classes), 0.1, 1.0)
    theta = 5.0 * rng.standard_normal(here.features)
    apart = np.linalg.norm(here.clipped_gradient(theta, bound) - changed.clipped_gradient(theta, bound))
    assert apart <= 2.0 * lengthened(here.rows, bound) / here.rows


@pytest.mark.parametrize("word", ["ridge", "multinomial", "neural"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@given(seed=SEEDS, rows=st.integers(2, 40), size=st.floats(0.0, 8.0))
@settings(max_examples=15)
def test_rows_that_two_data_sets_share_are_computed_alike_to_the_last_bit(word, form, seed, rows, size):
    rng = np.random.default_rng(seed)
    task = default_task(word)
    data = rows_of(task.labels, rng, rows, features=9)
    X = np.where(rng.random(data.X.shape) < 0.3, data.X, 0.0)
    other = X.copy()
    other[0] = rows_of(task.labels, rng, 1, features=9).X[0]
    kind = (data.y, data.labels, data.classes)
    here, there = task.made(Dataset("a", form(X), *kind), 0.0, 1.0), task.made(Dataset("b", other, *kind), 0.0, 1.0)
    theta = 10.0**size * rng.standard_normal(here.features)
    one, two = here.pullback(theta), there.pullback(theta)
    assert np.array_equal(one.norms[1:], two.norms[1:])
    for k in range(1, rows):
        alone = np.eye(rows)[k]
        assert np.array_equal(one.total(alone), two.total(alone))


def test_a_gradient_that_is_no_number_is_a_sentence():
    objective = made("ridge", np.random.default_rng(1))
    with pytest.raises(SimnetError, match=r"no finite number; smaller steps"):
        objective.clipped_gradient(np.full(3, np.inf), 1.0)


class Absolute(Objective):
    """√(1 + (θ·x − y)²) per row, as a user would write it."""

    def row_losses(self, theta):
        return np.sqrt(1.0 + (self.data.X @ theta - self.data.y) ** 2)

    def row_gradients(self, theta):
        missed = self.data.X @ theta - self.data.y
        return (missed / np.sqrt(1.0 + missed**2))[:, None] * self.data.X


def test_an_objective_of_ones_own_needs_losses_and_gradients_of_rows():
    rng = np.random.default_rng(3)
    mine = Absolute(rows_of("number", rng, 9), 3, 0.1)
    theta = rng.standard_normal(3)
    assert mine.gradient(theta) == pytest.approx(approx_fprime(theta, mine.value, 1e-7), abs=1e-5)
    assert Measurement(mine, theta, 0.5).answer() == pytest.approx(np.minimum(mine.row_losses(theta), 0.5).mean())
    with pytest.raises(SimnetError, match="smoothness"):
        Solver(mine)
    with pytest.raises(NotImplementedError, match="row_gradients"):
        super(Absolute, mine).row_gradients(theta)


def test_a_convex_objective_of_ones_own_is_solved_once_it_states_its_smoothness():
    rng = np.random.default_rng(4)
    mine = Absolute(rows_of("number", rng, 30), 3, 0.1, smoothness=1.0)
    solution = Solver(mine).solve(np.array([0.1, 0.0, -0.2]), 0.5, np.zeros(3), 1e-9)
    residual = mine.gradient(solution.theta) + 0.5 * solution.theta + [0.1, 0.0, -0.2]
    assert np.linalg.norm(residual) == pytest.approx(solution.gradient_norm, abs=1e-12)
    assert solution.gradient_norm <= 1e-9


def test_the_fast_gradient_of_margins_is_the_sum_over_rows():
    rng = np.random.default_rng(5)
    objective = made("logistic", rng, rows=40)
    assert isinstance(objective, LocalObjective)
    theta = rng.standard_normal(3)
    assert objective.loss_gradient(theta) == pytest.approx(Objective.loss_gradient(objective, theta), abs=1e-15)
