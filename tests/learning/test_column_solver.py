"""Solvers in columns: the same solutions as those of solvers that are objects, to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import SimnetError
from simnet.learning.column_solver import ColumnSolver
from simnet.learning.objective import LOSSES, Measurement
from simnet.learning.solver import Solver
from simnet.learning.stacked_objectives import StackedObjectives

AGENTS = 9


def crowd(rows: int, features: int, loss: str, rng: np.random.Generator) -> StackedObjectives:
    stack = rng.standard_normal((AGENTS, features, rows)) / math.sqrt(features)
    labels = np.where(rng.random((AGENTS, rows)) < 0.5, -1, 1).astype(np.int8)
    return StackedObjectives(stack, labels, LOSSES[loss], 0.001, 1.0)


def columns(objectives: StackedObjectives) -> ColumnSolver:
    return ColumnSolver(objectives, np.zeros)


@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(2, 40),
    features=st.integers(2, 40),
    loss=st.sampled_from(sorted(LOSSES)),
    penalty=st.sampled_from([0.01, 0.1, 1.2]),
    change=st.sampled_from([0.0, 1e-3, 0.3, 30.0]),
    most=st.sampled_from([1e-6, 1e3]),
)
def test_columns_find_what_each_solver_finds(seed, rows, features, loss, penalty, change, most):
    rng = np.random.default_rng(seed)
    objectives = crowd(rows, features, loss, rng)
    ours, theirs = columns(objectives), [Solver(objective) for objective in objectives]
    linear = rng.standard_normal((AGENTS, features))
    for turn in range(5):
        # A jump of the penalty makes the inverse Hessian unfit; a change of 0, or a tolerance that the start meets,
        # leaves nothing to do; some agents have no problem in some rounds.
        asked = np.flatnonzero(rng.random(AGENTS) < (1.0, 0.5, 1.0, 1.0, 0.2)[turn])
        quadratic = np.full(len(asked), penalty * (4.0 if turn == 3 else 1.0))
        tolerance = np.where(rng.random(len(asked)) < 0.5, 1e-6, most)
        norms, gradients = ours.solve(asked, linear[asked], quadratic, tolerance)
        for place, agent in enumerate(asked.tolist()):
            solver = theirs[agent]
            start = solver.theta if solver.theta.size else np.zeros(features)
            found = solver.solve(linear[agent], float(quadratic[place]), start, float(tolerance[place]))
            assert found.theta.tobytes() == ours.theta[agent].tobytes()
            assert (found.gradient_norm, found.gradients) == (norms[place], gradients[place])
        linear = linear + change * rng.standard_normal(linear.shape)


@given(seed=st.integers(0, 2**32), loss=st.sampled_from(sorted(LOSSES)), ceiling=st.sampled_from([0.3, 2.0, math.inf]))
def test_columns_measure_what_each_agent_measures(seed, loss, ceiling):
    rng = np.random.default_rng(seed)
    objectives = crowd(7, 5, loss, rng)
    thetas, asked = rng.standard_normal((AGENTS, 5)), np.flatnonzero(rng.random(AGENTS) < 0.7)
    found = columns(objectives).measure(asked, thetas[asked], ceiling)
    alone = [Measurement(objectives[agent], thetas[agent], ceiling).answer() for agent in asked.tolist()]
    assert found.tolist() == alone


@pytest.mark.parametrize(("quadratic", "term", "sentence"), [(-1.0, 0.0, "curvature"), (1.2, np.inf, "not finite")])
def test_a_problem_that_cannot_be_solved_is_refused_as_it_is_alone(quadratic, term, sentence):
    solver = columns(crowd(20, 6, "logistic", np.random.default_rng(1)))
    everybody, linear = np.arange(AGENTS), np.zeros((AGENTS, 6))
    solver.solve(everybody, linear, np.full(AGENTS, 1.2), np.full(AGENTS, 1e-6))
    linear[2, 0] = term
    with pytest.raises(SimnetError, match=sentence):
        solver.solve(everybody, linear, np.full(AGENTS, quadratic), np.full(AGENTS, 1e-6))
