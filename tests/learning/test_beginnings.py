"""Problems begun together: the gradient and the metric that each would begin with alone, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import SimnetError
from simnet.learning.beginnings import begin_together
from simnet.learning.losses import LOSSES
from simnet.learning.metric import FullMetric
from simnet.learning.objective import LocalObjective
from simnet.learning.solver import Problem, Solver
from simnet.learning.stacks import Stacks
from simnet.learning.together import solve_together


def crowd(number, rows, features, loss="logistic", seed=1, quadratic=1.2, tolerance=1e-6):
    """New solvers, each with a problem that starts somewhere."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        X = rng.standard_normal((rows, features)) / features
        objective = LocalObjective(X, np.sign(rng.standard_normal(rows)), LOSSES[loss], 0.001)
        linear, start = rng.standard_normal((2, features))
        found.append(Problem(Solver(objective), linear, quadratic, start, tolerance))
    return found


@given(
    st.integers(0, 2**32), st.integers(2, 40), st.integers(2, 40), st.sampled_from(sorted(LOSSES)), st.floats(1e-16, 9)
)
def test_a_crowd_begins_as_each_begins_alone(seed, rows, features, loss, quadratic):
    problems = crowd(5, rows, features, loss, seed, quadratic)
    begun = begin_together(problems, Stacks())
    assert begun == (dict.fromkeys(range(5), 1) if rows < 8 * features else {})
    for place in begun:
        solver, _, _, start, _ = problems[place]
        objective, alone = solver.objective, FullMetric(solver.objective)
        alone.rebuild(start, objective.regulariser + quadratic)
        assert solver.theta.tobytes() == start.tobytes()
        assert solver.loss_gradient.tobytes() == objective.loss_gradient(start).tobytes()
        assert vars(solver.metric).pop("inverse").tobytes() == vars(alone).pop("inverse").tobytes()
        assert vars(solver.metric) == vars(alone)
        assert solver.age == 0


def test_the_metric_is_the_inverse_of_the_hessian_where_the_problem_starts():
    problems = crowd(4, 20, 6)
    begin_together(problems, Stacks())
    for solver, _, quadratic, start, _ in problems:
        np.testing.assert_allclose(
            solver.metric.inverse @ (solver.objective.hessian(start) + quadratic * np.eye(6)), np.eye(6), atol=1e-12
        )


def test_a_start_that_is_the_solution_takes_a_gradient_and_no_metric():
    problems = crowd(6, 20, 6, tolerance=1e6)
    solutions = solve_together(problems, Stacks())
    for problem, solution in zip(problems, solutions, strict=True):
        assert solution.theta.tobytes() == problem.start.tobytes()
        assert (solution.gradients, solution.factorisations) == (1, 0)
        assert problem.start.flags.writeable
        assert np.isinf(problem.solver.age)


def test_who_has_solved_before_or_begins_with_some_rows_or_cannot_begin_is_left_alone():
    known = crowd(4, 20, 6)
    for problem in known:
        problem.answer()
    sampled, bent = crowd(4, 60, 3), crowd(4, 20, 6, quadratic=-1.0)
    assert begin_together([*known, *sampled, *bent], Stacks()) == {}
    with pytest.raises(SimnetError, match="curvature"):
        solve_together(bent, Stacks())


def test_a_start_that_is_not_finite_is_refused_as_it_is_alone():
    problems = crowd(4, 20, 6)
    problems[2].linear[0] = np.inf
    with pytest.raises(SimnetError, match="not finite"):
        solve_together(problems, Stacks())
