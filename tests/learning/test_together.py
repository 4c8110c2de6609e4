"""Problems solved together: the same solutions as alone, to the last bit, and the same solvers afterwards."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from simnet.learning import together
from simnet.learning.losses import LOSSES
from simnet.learning.objective import LocalObjective
from simnet.learning.solver import Problem, Solver
from simnet.learning.stacks import Stacks
from simnet.learning.together import solve_together


def agents(number: int, rows: int, features: int, loss: str, rng: np.random.Generator) -> list[Solver]:
    found = []
    for _ in range(number):
        X = rng.standard_normal((rows, features))
        X /= np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None]
        found.append(Solver(LocalObjective(X, np.sign(rng.standard_normal(rows)), LOSSES[loss], 0.001)))
    return found


def problems(solvers: list[Solver], linear: np.ndarray, quadratic: float, tolerance: float) -> list[Problem]:
    zero = np.zeros(linear.shape[1])
    return [
        Problem(solver, term.copy(), quadratic, solver.theta if solver.theta.size else zero, tolerance)
        for solver, term in zip(solvers, linear, strict=True)
    ]


@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 40),
    features=st.integers(1, 40),
    loss=st.sampled_from(sorted(LOSSES)),
    penalty=st.sampled_from([0.01, 0.1, 1.2]),
    change=st.sampled_from([0.0, 1e-3, 0.3, 30.0]),
)
def test_a_crowd_finds_what_each_finds_alone(seed, rows, features, loss, penalty, change):
    crowd = agents(9, rows, features, loss, np.random.default_rng(seed))
    loners = agents(9, rows, features, loss, np.random.default_rng(seed))
    rng = np.random.default_rng(seed + 1)
    linear = rng.standard_normal((9, features))
    for turn in range(5):
        # A jump of the penalty makes the metric unfit; a change of 0 leaves nothing to do.
        quadratic = penalty * (4.0 if turn == 3 else 1.0)
        found = solve_together(problems(crowd, linear, quadratic, 1e-6), Stacks())
        alone = [problem.answer() for problem in problems(loners, linear, quadratic, 1e-6)]
        for ours, theirs in zip(found, alone, strict=True):
            assert ours.theta.tobytes() == theirs.theta.tobytes()
            assert (ours.gradient_norm, ours.gradients) == (theirs.gradient_norm, theirs.gradients)
            assert ours.factorisations == theirs.factorisations
        for one, other in zip(crowd, loners, strict=True):
            assert one.loss_gradient.tobytes() == other.loss_gradient.tobytes()
            assert np.triu(one.metric.inverse).tobytes() == np.triu(other.metric.inverse).tobytes()
            assert one.age == other.age
        linear = linear + change * rng.standard_normal((9, features))


def test_a_solution_meets_its_tolerance_and_cannot_be_changed_by_its_readers():
    rng = np.random.default_rng(1)
    crowd = agents(16, 20, 20, "logistic", rng)
    linear = rng.standard_normal((16, 20))
    solve_together(problems(crowd, linear, 1.2, 1e-8), Stacks())
    linear += 0.1
    solutions = solve_together(problems(crowd, linear, 1.2, 1e-8), Stacks())
    for solver, term, solution in zip(crowd, linear, solutions, strict=True):
        gradient = solver.objective.gradient(solution.theta) + 1.2 * solution.theta + term
        assert np.linalg.norm(gradient) <= 1.01e-8
        with pytest.raises(ValueError, match="read-only"):
            solution.theta[0] = 0.0


def test_sparse_rows_do_not_stack_and_are_solved_one_by_one():
    solutions = []
    for together_or_not in (solve_together, lambda found, _: [problem.answer() for problem in found]):
        rng = np.random.default_rng(3)
        crowd = []
        for _ in range(6):
            X = sp.csr_array(rng.random((300, 105)) * (rng.random((300, 105)) < 0.1) / 105)
            crowd.append(Solver(LocalObjective(X, np.sign(rng.standard_normal(300)), LOSSES["logistic"], 0.001)))
        assert all(solver.objective.sparse for solver in crowd)
        linear = rng.standard_normal((6, 105))
        for _ in range(3):
            found = together_or_not(problems(crowd, linear, 1.2, 1e-8), Stacks())
            linear = linear + 0.1
        solutions.append([solution.theta.tobytes() for solution in found])
    assert solutions[0] == solutions[1]


def test_problems_of_several_shapes_come_back_in_their_order():
    rng = np.random.default_rng(2)
    mixed = [
        solver
        for pair in zip(agents(8, 20, 5, "logistic", rng), agents(8, 7, 5, "smoothed-hinge", rng), strict=True)
        for solver in pair
    ]
    linear = rng.standard_normal((16, 5))
    for _ in range(3):
        linear += 0.1
        solutions = solve_together(problems(mixed, linear, 0.5, 1e-7), Stacks())
        for solver, solution in zip(mixed, solutions, strict=True):
            assert solution.theta is solver.theta


def test_one_product_serves_all_agents_of_a_batch(monkeypatch):
    """Work is counted in steps of batches: it does not grow with the number of agents in one."""
    steps = []
    honest = together._Batch._step
    monkeypatch.setattr(together._Batch, "_step", lambda self, n: steps.append(len(self._problems)) or honest(self, n))
    for number in (10, 100):
        rng = np.random.default_rng(3)
        crowd = agents(number, 20, 20, "logistic", rng)
        linear = rng.standard_normal((number, 20))
        for _ in range(4):
            solve_together(problems(crowd, linear, 1.2, 1e-6), Stacks())
            linear += 0.05 * rng.standard_normal(linear.shape)
        assert sum(steps) >= 3 * number  # three rounds after the first, a step each at least
        assert len(steps) <= 3 * 8
        steps.clear()
