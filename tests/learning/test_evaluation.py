from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.errors import ScenarioError
from simnet.learning.dataset import Dataset
from simnet.learning.evaluation import Evaluator, Scoreboard, State
from simnet.learning.metric_parts import METRICS
from simnet.learning.objective import LOGISTIC, LocalObjective
from simnet.learning.task_parts import TASKS, default_task


def labels(rng: np.random.Generator, rows: int) -> np.ndarray:
    return np.where(rng.random(rows) < 0.5, -1.0, 1.0)


@given(seed=st.integers(0, 2**32 - 1), agents=st.integers(1, 5), features=st.integers(1, 4))
@settings(max_examples=40)
def test_every_measure_agrees_with_a_plain_loop(seed: int, agents: int, features: int):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, agents)
    data = [(rng.standard_normal((size, features)), labels(rng, size)) for size in sizes]
    parts = [LocalObjective(X, y, LOGISTIC, regulariser=0.1 * (i + 1), weight=2.0) for i, (X, y) in enumerate(data)]
    test_X, test_y = rng.standard_normal((7, features)), labels(rng, 7)
    thetas, duals = rng.standard_normal((2, agents, features))

    losses, errors, objectives = [], [], []
    for i, (X, y) in enumerate(data):
        terms = [math.log1p(math.exp(-label * float(x @ thetas[i]))) for x, label in zip(X, y, strict=True)]
        losses.append(sum(terms) / len(terms))
        wrong = [label * float(x @ thetas[i]) < 0 for x, label in zip(test_X, test_y, strict=True)]
        errors.append(sum(wrong) / len(wrong))
        objectives.append(2.0 * losses[-1] + 0.1 * (i + 1) / 2 * float(thetas[i] @ thetas[i]))
    mean = sum(thetas) / agents
    apart = math.sqrt(sum(float((theta - mean) @ (theta - mean)) for theta in thetas) / agents)
    drift = math.sqrt(sum(float(sum(duals[:, k])) ** 2 for k in range(features)))

    found = Evaluator(parts, Dataset("test", test_X, test_y), default_task("logistic")).evaluate(thetas, duals)
    assert found.agent_train_loss == pytest.approx(losses, rel=1e-12)
    assert found.agent_test_error == pytest.approx(errors, abs=1e-12)
    assert found.train_loss == pytest.approx(sum(losses) / agents, rel=1e-12)
    assert found.test_error == pytest.approx(sum(errors) / agents, abs=1e-12)
    assert found.objective == pytest.approx(sum(objectives) / agents, rel=1e-12)
    assert found.consensus == pytest.approx(apart, abs=1e-12)
    assert found.dual_drift == pytest.approx(drift, abs=1e-12)


def evaluator(test_X, test_y: np.ndarray, agents: int = 1) -> Evaluator:
    part = LocalObjective(np.eye(2), np.ones(2), LOGISTIC, 0.1)
    return Evaluator([part] * agents, Dataset("test", test_X, test_y), default_task("logistic"))


def test_agreement_has_no_distance_and_balanced_duals_have_no_drift():
    found = evaluator(np.ones((4, 2)), np.ones(4), agents=2).evaluate(np.ones((2, 2)), np.array([[1.0, 2], [-1, -2]]))
    assert (found.consensus, found.dual_drift) == (0.0, 0.0)


def test_without_duals_nothing_drifts():
    assert evaluator(np.ones((4, 2)), np.ones(4)).evaluate(np.ones((1, 2))).dual_drift == 0.0


def test_there_must_be_a_model_for_every_agent():
    with pytest.raises(ValueError):
        evaluator(np.ones((4, 2)), np.ones(4), agents=2).evaluate(np.ones((3, 2)))


def test_a_model_that_stayed_is_not_measured_again_and_one_that_moved_is():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 4)), np.sign(rng.normal(size=60))
    parts = [LocalObjective(X[:30], y[:30], LOGISTIC, 0.1), LocalObjective(X[30:], y[30:], LOGISTIC, 0.1)]
    test, task = Dataset("test", X, y), default_task("logistic")
    evaluator = Evaluator(parts, test, task)
    thetas = rng.normal(size=(2, 4))
    for step in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1.0)):
        thetas = thetas + np.array(step)[:, None]
        found, fresh = evaluator.evaluate(thetas), Evaluator(parts, test, task).evaluate(thetas)
        assert np.array_equal(found.agent_train_loss, fresh.agent_train_loss)
        assert np.array_equal(found.agent_test_error, fresh.agent_test_error)


def scoreboard(agents: int, rounds: int = 3) -> Scoreboard:
    part = LocalObjective(np.eye(2), np.ones(2), LOGISTIC, 0.0)
    test = Dataset("test", np.eye(2), np.ones(2))
    return Scoreboard(Evaluator([part] * agents, test, default_task("logistic")), agents, np.zeros(2), rounds)


def test_a_round_is_evaluated_when_its_last_agent_has_finished_it_and_no_earlier():
    board = scoreboard(2)
    one, two = np.array([1.0, 0.0]), np.array([3.0, 0.0])
    assert board.note(0, 1, State(one, one)) == []
    assert board.note(0, 2, State(two, one)) == []
    (first,) = board.note(1, 1, State(two, -one))
    assert (first.round, first.last) == (1, False)
    assert (first.evaluation.consensus, first.evaluation.dual_drift) == (1.0, 0.0)
    (second,) = board.note(1, 2, State(two, one))
    assert (second.evaluation.consensus, second.evaluation.dual_drift) == (0.0, 2.0)
    assert board.last_round == [2, 2]


def test_who_is_gone_for_good_counts_with_its_last_state_and_delays_nobody():
    board = scoreboard(2, rounds=2)
    one, two = np.array([1.0, 0.0]), np.array([3.0, 0.0])
    board.note(0, 1, State(one, one))
    assert [figures.round for figures in board.note(1, 1, State(one, one))] == [1]
    assert board.note(0, 2, State(two, one)) == []
    (last,) = board.excuse(1)
    assert (last.round, last.last, last.evaluation.consensus) == (2, True, 1.0)
    assert [figures.round for figures in board.note(0, 3, State(one, one))] == [3]


def test_a_task_and_metrics_add_numbers_whose_names_stay_and_do_not_meet():
    rng = np.random.default_rng(7)
    test = Dataset("test", rng.standard_normal((9, 2)), rng.integers(3, size=9).astype(float), "class", 3)
    task = TASKS["multinomial"].model_validate({"kind": "multinomial"})
    parts = [task.made(test, 0.1, 1.0)] * 2
    worst = METRICS["worst-error"].model_validate({"kind": "worst-error"})
    thetas = rng.standard_normal((2, 6))
    found = Evaluator(parts, test, task, [worst]).evaluate(thetas)
    assert dict(found.measures) == {
        "test_loss": pytest.approx(task.measures(thetas, test)["test_loss"]),
        "worst_error": max(found.agent_test_error),
    }
    with pytest.raises(ScenarioError, match="two numbers are called worst_error"):
        Evaluator(parts, test, task, [worst, worst]).evaluate(thetas)


def test_where_nothing_is_asked_for_nothing_is_added():
    assert evaluator(np.ones((4, 2)), np.ones(4)).evaluate(np.ones((1, 2))).measures == {}


def test_an_agent_that_never_reported_stands_where_the_task_begins():
    test = Dataset("test", np.eye(2), np.ones(2), "class", 2)
    task = TASKS["neural"].model_validate({"kind": "neural", "hidden": 2})
    part = task.made(test, 0.0, 1.0)
    board = Scoreboard(Evaluator([part] * 2, test, task), 2, part.start, 3)
    assert board.as_it_stands().evaluation.agent_train_loss == pytest.approx([part.mean_loss(part.start)] * 2)


def outputs_of(headline: int | None = None) -> tuple[Evaluator, list[np.ndarray]]:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), labels(rng, 60)
    parts = [LocalObjective(X[:30], y[:30], LOGISTIC, 0.1), LocalObjective(X[30:], y[30:], LOGISTIC, 0.1)]
    worst = METRICS["worst-error"].model_validate({"kind": "worst-error"})
    made = Evaluator(parts, Dataset("test", X, y), default_task("logistic"), [worst], ["near", "far"], headline)
    return made, [rng.normal(size=(2, 4)) for _ in range(3)]


def test_outputs_are_evaluated_beside_the_models_as_if_each_were_alone():
    evaluator, (models, near, far) = outputs_of()
    found = evaluator.evaluate(models, None, [near, far])
    for name, each in (("near", near), ("far", far)):
        alone = outputs_of()[0].evaluate(each, None, [near, far])
        assert found.measures[f"test_error_{name}"] == pytest.approx(alone.test_error, abs=1e-15)
        assert found.measures[f"worst_error_{name}"] == pytest.approx(alone.measures["worst_error"], abs=1e-15)
    assert list(found.measures) == [
        "worst_error",
        *(f"{k}_{o}" for o in ("near", "far") for k in ("test_error", "worst_error")),
    ]


def test_a_headline_takes_the_place_of_the_models_and_is_not_told_twice():
    evaluator, (models, near, far) = outputs_of(headline=1)
    found, alone = evaluator.evaluate(models, None, [near, far]), outputs_of()[0].evaluate(far, None, [near, far])
    assert found.agent_train_loss == pytest.approx(alone.agent_train_loss)
    assert found.agent_test_error == pytest.approx(alone.agent_test_error)
    assert (found.consensus, found.test_error) == pytest.approx((alone.consensus, alone.test_error))
    assert list(found.measures) == ["worst_error", "test_error_near", "worst_error_near"]


def test_outputs_that_stayed_while_the_models_moved_keep_their_errors():
    evaluator, (models, near, far) = outputs_of()
    first = evaluator.evaluate(models, None, [near, far]).measures
    second = evaluator.evaluate(models + 1.0, None, [near, far - 1.0]).measures
    assert second["test_error_near"] == first["test_error_near"]
    fresh = outputs_of()[0].evaluate(models + 1.0, None, [near, far - 1.0]).measures
    assert second == fresh
