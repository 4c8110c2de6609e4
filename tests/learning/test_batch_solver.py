"""Requests answered in batches: the same answers as alone, to the last bit, and the same solvers afterwards."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import SimnetError
from simnet.learning import descent
from simnet.learning.batch_solver import BatchSolver, batches
from simnet.learning.descent import ROOM
from simnet.learning.objective import LOGISTIC, LOSSES, SMOOTHED_HINGE, LocalObjective, Loss, Measurement
from simnet.learning.solver import Problem, Solver


def objective(rows: int, features: int, loss: Loss = LOGISTIC, rng: np.random.Generator | None = None):
    rng = rng or np.random.default_rng(rows + features)
    X = rng.standard_normal((rows, features))
    X /= np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None]
    return LocalObjective(X, np.sign(rng.standard_normal(rows)), loss, 0.001)


def agents(number: int, rows: int, features: int, loss: str, rng: np.random.Generator) -> list[Solver]:
    return [Solver(objective(rows, features, LOSSES[loss], rng)) for _ in range(number)]


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
def test_a_batch_finds_what_each_finds_alone(seed, rows, features, loss, penalty, change):
    solver = BatchSolver()
    crowd = agents(9, rows, features, loss, np.random.default_rng(seed))
    loners = agents(9, rows, features, loss, np.random.default_rng(seed))
    rng = np.random.default_rng(seed + 1)
    linear = rng.standard_normal((9, features))
    for turn in range(5):
        # A jump of the penalty makes the inverse Hessian unfit; a change of 0 leaves nothing to do.
        quadratic = penalty * (4.0 if turn == 3 else 1.0)
        found = solver.solve(problems(crowd, linear, quadratic, 1e-6))
        alone = [problem.answer() for problem in problems(loners, linear, quadratic, 1e-6)]
        for ours, theirs in zip(found, alone, strict=True):
            assert ours.theta.tobytes() == theirs.theta.tobytes()
            assert ours[1:] == theirs[1:]
        for one, other in zip(crowd, loners, strict=True):
            assert one.loss_gradient.tobytes() == other.loss_gradient.tobytes()
            assert one.inverse_hessian.inverse.tobytes() == other.inverse_hessian.inverse.tobytes()
            assert one.age == other.age
        linear = linear + change * rng.standard_normal((9, features))


def test_a_solution_meets_its_tolerance_and_cannot_be_changed_by_its_readers():
    rng = np.random.default_rng(1)
    crowd = agents(16, 20, 20, "logistic", rng)
    linear = rng.standard_normal((16, 20))
    BatchSolver().solve(problems(crowd, linear, 1.2, 1e-8))
    linear += 0.1
    solutions = BatchSolver().solve(problems(crowd, linear, 1.2, 1e-8))
    for solver, term, solution in zip(crowd, linear, solutions, strict=True):
        gradient = solver.objective.gradient(solution.theta) + 1.2 * solution.theta + term
        assert np.linalg.norm(gradient) <= 1.01e-8
        with pytest.raises(ValueError, match="read-only"):
            solution.theta[0] = 0.0


def test_sparse_rows_are_solved_one_by_one():
    solutions = []
    for solve in (BatchSolver().solve, lambda found: [problem.answer() for problem in found]):
        rng = np.random.default_rng(3)
        crowd = []
        for _ in range(6):
            X = sp.csr_array(rng.random((300, 105)) * (rng.random((300, 105)) < 0.1) / 105)
            crowd.append(Solver(LocalObjective(X, np.sign(rng.standard_normal(300)), LOSSES["logistic"], 0.001)))
        assert all(solver.objective.sparse for solver in crowd)
        linear = rng.standard_normal((6, 105))
        for _ in range(3):
            found = solve(problems(crowd, linear, 1.2, 1e-8))
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
        solutions = BatchSolver().solve(problems(mixed, linear, 0.5, 1e-7))
        for solver, solution in zip(mixed, solutions, strict=True):
            assert solution.theta is solver.theta


def test_one_product_serves_all_agents_of_a_batch(monkeypatch):
    """Work is counted in steps of batches: it does not grow with the number of agents in one."""
    steps = []
    honest = descent.step
    monkeypatch.setattr(descent, "step", lambda batch, *rest: steps.append(len(batch.place)) or honest(batch, *rest))
    for number in (10, 100):
        rng = np.random.default_rng(3)
        crowd = agents(number, 20, 20, "logistic", rng)
        linear = rng.standard_normal((number, 20))
        for _ in range(4):
            BatchSolver().solve(problems(crowd, linear, 1.2, 1e-6))
            linear += 0.05 * rng.standard_normal(linear.shape)
        assert sum(steps) >= 3 * number  # three rounds after the first, a step each at least
        assert len(steps) <= 3 * 8
        steps.clear()


@pytest.mark.parametrize(("quadratic", "term", "sentence"), [(-1.0, 0.0, "curvature"), (1.2, np.inf, "not finite")])
def test_a_problem_that_cannot_be_solved_is_refused_as_it_is_alone(quadratic, term, sentence):
    crowd = agents(4, 20, 6, "logistic", np.random.default_rng(1))
    linear = np.zeros((4, 6))
    BatchSolver().solve(problems(crowd, linear, 1.2, 1e-6))
    linear[2, 0] = term
    with pytest.raises(SimnetError, match=sentence):
        BatchSolver().solve(problems(crowd, linear, quadratic, 1e-6))


@given(
    seed=st.integers(0, 2**32),
    shapes=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40), st.sampled_from(sorted(LOSSES))), max_size=3),
    agents=st.integers(1, 9),
    ceilings=st.lists(st.sampled_from([0.3, 2.0, math.inf]), min_size=1, max_size=3),
)
def test_a_batch_of_measurements_is_told_what_each_is_told_alone(seed, shapes, agents, ceilings):
    rng = np.random.default_rng(seed)
    asked = []
    for place in range(agents * len(shapes)):
        rows, features, loss = shapes[place % len(shapes)]
        theta = 3.0 * rng.standard_normal(features)
        ceiling = ceilings[place % len(ceilings)]
        asked.append(Measurement(objective(rows, features, LOSSES[loss], rng), theta, ceiling))
    assert BatchSolver().measure(asked) == [measurement.answer() for measurement in asked]


def test_a_model_that_is_not_a_number_has_no_loss_and_spoils_nobody_elses():
    rng = np.random.default_rng(2)
    asked = [Measurement(objective(6, 4, rng=rng), rng.standard_normal(4)) for _ in range(5)]
    asked[2] = asked[2]._replace(theta=np.full(4, np.nan))
    found = BatchSolver().measure(asked)
    assert math.isnan(found[2])
    assert found[:2] + found[3:] == [measurement.answer() for measurement in asked[:2] + asked[3:]]


def test_small_objectives_of_one_shape_and_loss_share_a_key():
    assert objective(20, 10).batch_key == objective(20, 10).batch_key is not None
    keys = {objective(20, 10).batch_key, objective(10, 20).batch_key, objective(20, 10, SMOOTHED_HINGE).batch_key}
    assert len(keys) == 3


def test_what_is_large_sparse_or_a_single_row_has_no_key():
    sparse = sp.csr_array(np.eye(400, 100))
    assert objective(300, 20).batch_key is None
    assert objective(2, 300).batch_key is None
    assert objective(1, 20).batch_key is None
    assert objective(20, 1).batch_key is None
    assert LocalObjective(sparse, np.ones(400), LOGISTIC, 0.01).batch_key is None


def test_batches_hold_what_is_alike_in_its_order_and_leave_the_rest():
    a, b = (20, 20, 0), (7, 20, 0)
    assert batches([a, b, a, None, a, b, a, a, b]) == [[0, 2, 4, 6, 7]]


def test_a_batch_is_no_larger_than_the_room_for_it():
    key = (20, 20, 0)
    found = batches([key] * 1000)
    assert [place for batch in found for place in batch] == list(range(1000))
    assert max(map(len, found)) == ROOM // 400


def test_a_solver_that_has_answered_others_before_gives_the_same_answers():
    rng = np.random.default_rng(4)
    some, others = ([Measurement(objective(6, 4, rng=rng), rng.standard_normal(4)) for _ in range(5)] for _ in "ab")
    solver = BatchSolver()
    for asked in (some, others, others, some[:4], others[1:], some):
        assert solver.measure(asked) == [measurement.answer() for measurement in asked]


def test_under_a_ceiling_a_loss_counts_from_zero_whether_alone_or_in_a_batch():
    """The sensitivity of a test rests on both ends, and a loss of somebody else's may be negative."""
    rng = np.random.default_rng(3)
    low = replace(LOGISTIC, value=lambda z: LOGISTIC.value(z) - 50.0)
    asked = [Measurement(objective(6, 4, low, rng), rng.standard_normal(4), 2.0) for _ in range(5)]
    assert [each.answer() for each in asked] == [0.0] * 5
    assert BatchSolver().measure(asked) == [0.0] * 5
    assert BatchSolver().measure([each._replace(ceiling=np.inf) for each in asked]) == pytest.approx(
        [each._replace(ceiling=np.inf).answer() for each in asked]
    )
