from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, root

from simnet.errors import SimnetError
from simnet.learning.inverse_hessian import LimitedBfgs
from simnet.learning.objective import LOGISTIC, LOSSES, SMOOTHED_HINGE, LocalObjective, Loss, Subproblem
from simnet.learning.solver import Solution, Solver

seeds = st.integers(0, 2**32 - 1)


def ordinary(seed: int, rows: int = 200, features: int = 10, loss: Loss = LOGISTIC) -> LocalObjective:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features))
    X /= np.linalg.norm(X, axis=1).max()
    y = np.where(X @ rng.standard_normal(features) + 0.1 * rng.standard_normal(rows) > 0, 1.0, -1.0)
    return LocalObjective(X, y, loss, regulariser=1e-3)


def norm_at(problem: Subproblem, theta: np.ndarray) -> float:
    """The gradient's norm, from formulas of its own and in longer numbers."""
    A = np.asarray(problem.objective._A.toarray() if problem.objective.sparse else problem.objective._A, np.longdouble)
    z = A @ theta.astype(np.longdouble)
    slopes = -np.exp(-np.logaddexp(0, z)) if problem.objective.loss is LOGISTIC else -np.clip(1.5 - z, 0, 1)
    gradient = problem.objective.weight * (A.T @ slopes) / len(z) + problem.curvature * theta + problem.linear
    return float(np.sqrt(gradient @ gradient))


@dataclass
class Case:
    objective: LocalObjective
    linears: np.ndarray
    quadratics: list[float]
    tolerance: float


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rng = np.random.default_rng(draw(seeds))
    rows, features = draw(st.integers(1, 40)), draw(st.integers(1, 12))
    X = rng.standard_normal((rows, features))
    match draw(st.sampled_from(["plain", "duplicated columns", "zero rows", "uneven columns", "separable"])):
        case "duplicated columns":
            X[:] = X[:, :1]
        case "zero rows":
            X[rng.random(rows) < 0.6] = 0.0
        case "uneven columns":
            X *= 10.0 ** rng.uniform(-4, 0, features)
        case "separable":
            X[:, 0] = 3 * np.sign(X[:, 0])
    X /= max(1.0, np.linalg.norm(X, axis=1).max())
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    objective = LocalObjective(
        X,
        y,
        draw(st.sampled_from(list(LOSSES.values()))),
        draw(st.sampled_from([0.0, 1e-4, 0.1])),
        draw(st.sampled_from([1.0, 8.0])),
    )
    quadratics = [10.0**e for e in draw(st.lists(st.floats(-4, 8), min_size=1, max_size=3))]
    linears = rng.standard_normal((len(quadratics), features)) * 10.0 ** rng.uniform(-3, 0)
    return Case(objective, linears, quadratics, 10.0 ** draw(st.floats(-12, -3)))


def refusal(solver: Solver, *arguments) -> str | Solution:
    try:
        return solver.solve(*arguments)
    except SimnetError as error:
        return str(error)


@given(case=cases())
@settings(max_examples=300, deadline=None)
def test_a_solution_is_certified_or_rounding_is_to_blame(case: Case):
    solver, theta = Solver(case.objective), np.zeros(case.objective.features)
    for linear, quadratic in zip(case.linears, case.quadratics, strict=True):
        problem = Subproblem(case.objective, linear, quadratic)
        solution = refusal(solver, linear, quadratic, theta, case.tolerance)
        if isinstance(solution, str):
            assert "the limit of rounding" in solution
            reached = float(solution.split("stays at ")[1].split(",")[0])
            farthest = (case.objective.weight + np.linalg.norm(linear)) / problem.curvature
            assert case.tolerance < reached < 1e-13 * (10 + problem.curvature) * (1 + farthest)
            return
        theta = solution.theta
        rounding = 1e-14 * (10 + problem.curvature) * (1 + np.linalg.norm(theta))
        assert solution.gradient_norm <= case.tolerance
        assert norm_at(problem, theta) == pytest.approx(solution.gradient_norm, abs=rounding)
        assert solution.gradients <= 150


@given(seed=seeds, loss=st.sampled_from(list(LOSSES.values())), quadratic=st.floats(0.01, 10))
@settings(max_examples=25, deadline=None)
def test_the_solution_is_the_minimiser_that_scipy_finds(seed: int, loss: Loss, quadratic: float):
    f = ordinary(seed, rows=60, features=5, loss=loss)
    linear = 0.3 * np.random.default_rng(seed).standard_normal(5)
    problem = Subproblem(f, linear, quadratic)
    near = minimize(problem.value, np.zeros(5), jac=problem.gradient, method="BFGS", options={"gtol": 1e-7}).x
    exact = root(problem.gradient, near, jac=problem.hessian, tol=1e-14).x
    solution = Solver(f).solve(linear, quadratic, np.zeros(5), 1e-12)
    assert solution.gradient_norm <= 1e-12
    np.testing.assert_allclose(solution.theta, exact, atol=1e-10)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("features", [10, 600])
def test_both_metrics_reach_every_tolerance(tolerance: float, features: int):
    f = ordinary(1, rows=50, features=features)
    linear = 0.1 * np.random.default_rng(2).standard_normal(features)
    solution = Solver(f).solve(linear, 0.05, np.zeros(features), tolerance)
    assert norm_at(Subproblem(f, linear, 0.05), solution.theta) <= tolerance * (1 + 1e-3)
    assert (solution.factorisations > 0) == (features == 10)


def ring(f: list[LocalObjective], eta: float, rounds: int, noise: float = 0.0, growth: float = 1.0) -> list[Solution]:
    """ADMM on a ring: what the solver is for."""
    shape = (len(f), f[0].features)
    rng = np.random.default_rng(1)
    thetas, duals, solvers, solutions = np.zeros(shape), np.zeros(shape), [Solver(one) for one in f], []
    for t in range(rounds):
        penalty = eta * growth**t
        nearby = np.roll(thetas, 1, axis=0) + np.roll(thetas, -1, axis=0)
        linear = 2 * duals - penalty * (2 * thetas + nearby) + noise * rng.standard_normal(shape)
        news = [s.solve(linear[i], 4 * penalty, thetas[i], 1e-6) for i, s in enumerate(solvers)]
        thetas = np.array([solution.theta for solution in news])
        duals += eta / 2 * (2 * thetas - np.roll(thetas, 1, axis=0) - np.roll(thetas, -1, axis=0))
        solutions += news
    return solutions


@pytest.mark.parametrize(
    ("eta", "noise", "growth", "gradients"),
    [
        (0.5, 0.0, 1.0, 2.1),
        (0.5, 0.01, 1.0, 2.1),
        (0.01, 0.0, 1.0, 3.2),
        (0.01, 0.01, 1.0, 3.7),
        (0.01, 0.01, 1.1, 3.4),
    ],
)
def test_a_round_of_admm_takes_a_handful_of_gradients(eta: float, noise: float, growth: float, gradients: float):
    solutions = ring([ordinary(seed, rows=1000, features=30) for seed in range(3)], eta, 30, noise, growth)
    assert np.mean([solution.gradients for solution in solutions]) <= gradients
    assert max(solution.gradients for solution in solutions) <= 7


def test_with_a_constant_penalty_one_factorisation_serves_all_rounds():
    solutions = ring([ordinary(seed, rows=1000, features=30) for seed in range(3)], 0.01, 30, noise=0.01)
    assert [solution.factorisations for solution in solutions] == [1] * 3 + [0] * 87


def test_many_features_take_few_gradients_as_well():
    solutions = ring([ordinary(seed, rows=60, features=600) for seed in range(2)], 0.01, 20, noise=0.01)
    assert np.mean([solution.gradients for solution in solutions]) <= 7
    assert {solution.factorisations for solution in solutions} == {0}


def test_starting_at_the_solution_costs_nothing():
    f, linear = ordinary(3), np.full(10, 0.1)
    solver = Solver(f)
    first = solver.solve(linear, 0.5, np.zeros(10), 1e-8)
    again = solver.solve(linear, 0.5, first.theta, 1e-8)
    assert (again.gradients, again.factorisations) == (0, 0)
    np.testing.assert_array_equal(again.theta, first.theta)
    assert again.gradient_norm == pytest.approx(first.gradient_norm, abs=1e-16)


def test_starting_elsewhere_costs_one_gradient_to_find_out_where_one_is():
    f, linear = ordinary(3), np.full(10, 0.1)
    solver = Solver(f)
    first = solver.solve(linear, 0.5, np.zeros(10), 1e-8)
    elsewhere = solver.solve(linear, 0.5, first.theta + 1e-12, 1e-8)
    assert elsewhere.gradients == 1


def test_the_same_problems_give_the_same_bits():
    f = [ordinary(seed) for seed in range(3)]
    one, two = ring(f, 0.01, 10, noise=0.01), ring(f, 0.01, 10, noise=0.01)
    assert [s.theta.tobytes() for s in one] == [s.theta.tobytes() for s in two]
    assert [s.gradient_norm for s in one] == [s.gradient_norm for s in two]


@given(seeds, st.booleans(), st.lists(st.tuples(st.booleans(), st.floats(0.01, 10.0)), min_size=1, max_size=8))
def test_two_solvers_that_follow_each_other_are_one(seed: int, hessian: bool, problems: list[tuple[bool, float]]):
    """Whoever goes on, here or elsewhere, goes on from what the other has left, to the last bit."""
    f = ordinary(seed, rows=500)
    assert f.batch_key is None
    one, here, there = Solver(f), Solver(f), Solver(f)
    if not hessian:
        for solver in (one, here, there):
            solver.inverse_hessian = LimitedBfgs(f)
    desk, rng, start = np.zeros(here.size), np.random.default_rng(seed), np.zeros(10)
    for change, quadratic in problems:
        linear = 0.1 * rng.standard_normal(10)
        expected = one.solve(linear, quadratic, start, 1e-8)
        if change and one.theta.size and here.theta.size:
            here.leave(desk)
            there.follow(desk)
            here, there = there, here
        found = here.solve(linear, quadratic, start, 1e-8)
        assert found.theta.tobytes() == expected.theta.tobytes()
        assert found[1:] == expected[1:]
        start = expected.theta


def test_a_solver_that_another_has_followed_knows_nothing_of_it_before_it_is_told():
    f, desk, linear = ordinary(1, rows=500), np.zeros(Solver(ordinary(1, rows=500)).size), np.full(10, 0.1)
    here, there = Solver(f), Solver(f)
    first = here.solve(linear, 1.0, np.zeros(10), 1e-8)
    here.leave(desk)
    there.follow(desk)
    assert there.followed
    assert not here.followed
    assert there.theta.tobytes() == first.theta.tobytes()
    assert there.solve(linear, 1.0, there.theta, 1e-8).gradients == 0
    assert not there.followed


def test_a_solution_cannot_be_changed_behind_the_solvers_back():
    solution = Solver(ordinary(4)).solve(np.full(10, 0.1), 0.5, np.zeros(10), 1e-6)
    with pytest.raises(ValueError, match="read-only"):
        solution.theta[0] = 1.0


def test_the_start_belongs_to_the_caller():
    f, linear, start = ordinary(4), np.full(10, 0.1), np.zeros(10)
    solver = Solver(f)
    loose = solver.solve(linear, 0.5, start, 10.0)
    start[0] = 5.0
    assert loose.theta[0] == 0.0
    assert norm_at(Subproblem(f, linear, 0.5), solver.solve(linear, 0.5, start, 1e-6).theta) <= 1.001e-6


def test_a_tolerance_below_rounding_is_refused_with_a_sentence():
    with pytest.raises(SimnetError, match=r"stays at .*, the limit of rounding: the tolerance 1e-30 must be larger"):
        Solver(ordinary(5, features=100)).solve(np.ones(100), 300.0, np.zeros(100), 1e-30)


def test_after_a_refusal_the_solver_still_works():
    f, linear, start = ordinary(5, features=100), np.ones(100), np.zeros(100)
    solver = Solver(f)
    with pytest.raises(SimnetError):
        solver.solve(linear, 300.0, start, 0.0)
    assert norm_at(Subproblem(f, linear, 300.0), solver.solve(linear, 300.0, start, 1e-9).theta) <= 1.001e-9


def test_a_problem_without_curvature_is_refused():
    f = LocalObjective(np.eye(3), np.ones(3), LOGISTIC, regulariser=0.0)
    with pytest.raises(SimnetError, match="curvature 0: it must be positive"):
        Solver(f).solve(np.zeros(3), 0.0, np.zeros(3), 1e-6)


def test_a_linear_term_that_is_not_a_number_is_refused():
    with pytest.raises(SimnetError, match="not finite"):
        Solver(ordinary(6)).solve(np.full(10, np.nan), 0.5, np.zeros(10), 1e-6)


def test_a_start_far_out_where_the_loss_is_flat_is_no_trap():
    f = ordinary(7, loss=SMOOTHED_HINGE)
    linear = np.full(10, 0.01)
    solution = Solver(f).solve(linear, 1e-3, np.full(10, 1e4), 1e-9)
    assert norm_at(Subproblem(f, linear, 1e-3), solution.theta) <= 1.001e-9
    assert solution.gradients <= 60
