"""What is learned is a part: it says what it has, and what it says is checked."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pytest
import scipy.sparse as sp
from pydantic import ValidationError

from simnet.errors import TaskError
from simnet.learning.dataset import Dataset
from simnet.learning.evaluation import Evaluator
from simnet.learning.linear_tasks import MultinomialTask
from simnet.learning.objective import LOGISTIC
from simnet.learning.row_objective import Objective, RowGradients
from simnet.learning.task import MarginTask, Task, loss_of
from simnet.learning.task_parts import TASKS, default_task


def labels(rng: np.random.Generator, rows: int) -> np.ndarray:
    return rng.choice([-1.0, 1.0], rows)


def share_wrong(X, y: np.ndarray, models: np.ndarray) -> np.ndarray:
    return default_task("logistic").errors(models, Dataset("test", X, y))


def test_a_model_that_says_nothing_is_wrong_half_the_time_whatever_the_classes():
    mostly_negative = np.array([-1.0, -1.0, -1.0, 1.0])
    assert share_wrong(np.ones((4, 2)), mostly_negative, np.zeros((1, 2))) == [0.5]


def test_a_tie_counts_half_an_error_beside_right_and_wrong_answers():
    test_X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    errors = share_wrong(test_X, np.array([1.0, 1.0, 1.0, 1.0]), np.array([[1.0, 0.0]]))
    assert errors == [(0 + 0 + 0.5 + 1) / 4]


def test_a_model_that_is_not_a_number_is_always_wrong():
    errors = share_wrong(np.ones((4, 2)), np.array([1.0, -1.0, 1.0, -1.0]), np.full((1, 2), np.nan))
    assert errors == [1.0]


def test_more_models_than_fit_at_once_are_scored_one_by_one_the_same():
    rng = np.random.default_rng(1)
    test_X, test_y = rng.standard_normal((9000, 2)), labels(rng, 9000)
    thetas = rng.standard_normal((1000, 2))
    errors = share_wrong(test_X, test_y, thetas)
    for k in (0, 443, 444, 445, 999):
        assert errors[k] == pytest.approx(np.mean(test_y * (test_X @ thetas[k]) < 0), abs=1e-12)


def test_a_sparse_test_set_gives_the_same_errors_as_its_dense_twin():
    rng = np.random.default_rng(2)
    test_X = rng.standard_normal((2000, 40)) * (rng.random((2000, 40)) < 0.1)
    test_y, thetas = labels(rng, 2000), rng.standard_normal((3, 40))
    expected = [np.mean(test_y * (test_X @ theta) < 0) + np.mean(test_X @ theta == 0) / 2 for theta in thetas]
    for X in (test_X, sp.csr_array(test_X)):
        assert share_wrong(X, test_y, thetas) == pytest.approx(expected, abs=1e-12)


class Steep(MarginTask):
    """A logistic loss, scaled; its author has not done the sums."""

    kind: Literal["steep"]
    times: float = 2.61
    lipschitz: ClassVar[float] = 2.0
    smoothness: ClassVar[float] = 1.0

    def value(self, z):
        return self.times * LOGISTIC.value(z)

    def slope(self, z):
        return self.times * LOGISTIC.slope(z)

    def bend(self, z):
        return self.times * LOGISTIC.bend(z)


def test_a_false_lipschitz_constant_is_refused_before_anything_runs():
    with pytest.raises(ValidationError, match=r"\|l'\| is 2.61 .* lipschitz constant is declared as 2; ε"):
        Steep(kind="steep")
    assert Steep(kind="steep", times=2.0).gradient_bound == 2.0


def test_a_loss_of_ones_own_is_one_object_and_guarded_while_ours_are_as_they_are():
    mine = Steep(kind="steep", times=1.9)
    assert loss_of(mine) is loss_of(Steep(kind="steep", times=1.9))
    assert loss_of(mine) is not loss_of(Steep(kind="steep", times=1.8))
    assert loss_of(default_task("logistic")) is LOGISTIC  # type: ignore[arg-type]
    rows = Dataset("rows", np.eye(2), np.array([1.0, -1.0]))
    theta = np.array([0.5, 2.0])
    ours = default_task("logistic").made(rows, 0.1, 1.9)
    assert mine.made(rows, 0.1, 1.0).gradient(theta) == pytest.approx(ours.gradient(theta), rel=1e-12)


class Lesser(Steep):
    """One that declares less than its loss."""

    kind: Literal["lesser"]  # type: ignore[assignment]
    times: float = 2.0

    @property
    def gradient_bound(self) -> float:
        return 1.0


class Own(Steep):
    """One with an objective that nobody has checked."""

    kind: Literal["own"]  # type: ignore[assignment]
    times: float = 2.0

    def objective(self, rows, regulariser, weight):
        return LongRows(rows, rows.features, regulariser, weight)


class Fair(Steep):
    """One that PDML would flip labels for."""

    kind: Literal["fair"]  # type: ignore[assignment]
    times: float = 2.0
    has: ClassVar[frozenset[str]] = MarginTask.has | {"unbiased"}


class Unbounded(MarginTask):
    kind: Literal["unbounded"]
    lipschitz: ClassVar[float] = 1.0


class Empty(Task):
    kind: Literal["empty"]


class Wishful(Task):
    kind: Literal["wishful"]
    has: ClassVar[frozenset[str]] = frozenset({"gradient", "margins"})
    labels: ClassVar = "number"

    def objective(self, rows, regulariser, weight):
        return LongRows(rows, rows.features, regulariser, weight)

    def errors(self, models, test):
        return np.zeros(len(models))


class Wizard(Wishful):
    kind: Literal["wizard"]
    has: ClassVar[frozenset[str]] = frozenset({"magic"})


class Maker(Wishful):
    kind: Literal["maker"]
    has: ClassVar[frozenset[str]] = frozenset({"gradient"})

    def made(self, rows, regulariser, weight):
        return self.objective(rows, regulariser, weight)


class Odd(Wishful):
    kind: Literal["odd"]
    has: ClassVar[frozenset[str]] = frozenset({"gradient"})
    labels: ClassVar = "colour"


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        (Lesser, "gradient_bound: that of a MarginTask is its lipschitz constant"),
        (Unbounded, "Unbounded has no number `smoothness`, on which ε rests"),
        (Own, "Own.objective: that of a MarginTask follows from its loss"),
        (Fair, "only the logistic loss is proven to be `unbiased`"),
        (Maker, "Maker.made: it keeps rows to their bound; write `objective` instead"),
        (Empty, "Empty has no method `objective`"),
        (Wishful, "only a MarginTask has `margins`, because it is checked"),
        (Wizard, "magic is none of gradient"),
        (Odd, "Odd.labels: colour is none of sign, class, number"),
    ],
)
def test_a_task_that_leaves_out_what_matters_is_refused_in_a_sentence(task, sentence):
    with pytest.raises(ValidationError, match=sentence):
        task(kind=task.__name__.lower())


class LongRows(Objective):
    """Row gradients of norm 10, whatever was promised."""

    def row_losses(self, theta):
        return 10.0 * (self.data.X @ theta)

    def row_gradients(self, theta):
        return 10.0 * np.asarray(self.data.X)


class Promising(Wishful):
    """It promises that no row's gradient is longer than 2."""

    kind: Literal["promising"]
    has: ClassVar[frozenset[str]] = frozenset({"gradient"})

    @property
    def gradient_bound(self) -> float:
        return 2.0


class OwnWay(LongRows):
    def loss_gradient(self, theta):
        return 10.0 * np.asarray(self.data.X).mean(axis=0)


class Stubborn(Promising):
    kind: Literal["stubborn"]

    def objective(self, rows, regulariser, weight):
        return OwnWay(rows, rows.features, regulariser, weight)


def test_a_declared_bound_is_kept_by_construction():
    rows = Dataset("rows", np.eye(2), np.zeros(2), "number")
    made = Promising(kind="promising").made(rows, 0.0, 1.0)
    assert made.loss_gradient(np.zeros(2)) == pytest.approx([1.0, 1.0])  # two rows of norm 2, not 10
    assert Promising(kind="promising").made(rows, 0.0, 3.0).loss_gradient(np.zeros(2)) == pytest.approx([3.0, 3.0])
    with pytest.raises(TaskError, match=r"stubborn: OwnWay has a `loss_gradient` of its own, .* declared .* of 2"):
        Stubborn(kind="stubborn").made(rows, 0.0, 1.0)


class Boastful(MultinomialTask):
    """Ours, with a bound that it does not have."""

    kind: Literal["boastful"]  # type: ignore[assignment]

    @property
    def gradient_bound(self) -> float:
        return 0.1


def test_a_bound_below_the_proven_one_is_kept_by_construction_too():
    rows = Dataset("rows", np.eye(3), np.arange(3.0), "class")
    theta = np.array([-9.0, 0, 0, 0, -9, 0, 0, 0, -9])
    proven = default_task("multinomial").made(rows, 0.0, 1.0)
    made = Boastful(kind="boastful").made(rows, 0.0, 1.0)
    assert proven.bound is None
    assert np.linalg.norm(made.loss_gradient(theta)) <= 0.1 / np.sqrt(3) < np.linalg.norm(proven.loss_gradient(theta))


class Stretching(MultinomialTask):
    """Ours, for rows that are longer than 1."""

    kind: Literal["stretching"]  # type: ignore[assignment]

    def objective(self, rows, regulariser, weight):
        return super().objective(replace(rows, X=100.0 * rows.X), regulariser, weight)


class SelfProven(LongRows):
    proven_bound = 2.0


def test_a_proof_of_ours_is_for_our_classes_and_rows_that_are_not_longer_than_1(monkeypatch):
    rows = Dataset("rows", np.eye(3), np.arange(3.0), "class")
    made = Stretching(kind="stretching").made(rows, 0.0, 1.0)
    assert np.linalg.norm(made.clipped_gradient(np.zeros(9), 1e9)) > 40.0
    assert np.linalg.norm(made.loss_gradient(np.zeros(9))) <= np.sqrt(2.0)
    monkeypatch.setattr(Promising, "objective", lambda self, *given: SelfProven(given[0], 3, *given[1:]))
    assert Promising(kind="promising").made(rows, 0.0, 1.0).bound == 2.0


def test_a_task_with_a_bound_offers_it():
    assert {word for word in TASKS if "bounded" in default_task(word).offers} == {
        "logistic",
        "capped-logistic",
        "smoothed-hinge",
        "multinomial",
    }


class ShortNorms(LongRows):
    """It says that its rows are shorter than they are."""

    def pullback(self, theta):
        norms, total = super().pullback(theta)
        return RowGradients(norms / 10.0, total)


class OwnClip(LongRows):
    def clipped_gradient(self, theta, bound, rows=None):
        return self.row_gradients(theta).mean(axis=0)


class Sideways(LongRows):
    def row_gradients(self, theta):
        return 10.0 * np.asarray(self.data.X)[:, :1]


class OneLoss(LongRows):
    def row_losses(self, theta):
        return 10.0 * (self.data.X @ theta).mean()


class Centred(LongRows):
    """Each row is what it is beside the mean of all."""

    def row_gradients(self, theta):
        return np.asarray(self.data.X) - np.asarray(self.data.X).mean(axis=0)


class StartsAtData(LongRows):
    @property
    def start(self):
        return np.asarray(self.data.X).mean(axis=0)


@pytest.mark.parametrize(
    ("objective", "sentence"),
    [
        (Centred, "the loss or the gradient of a row changes when another row is replaced; ε would be wrong"),
        (StartsAtData, "where it starts depends on the rows, and agents tell it; ε would be wrong"),
        (ShortNorms, "the gradient of row 0 is 10 long, and its norm is given as 1; ε would be wrong"),
        (OwnClip, "`clipped_gradient` keeps rows to a bound, so it is not for others to write"),
        (Sideways, "a row's gradient must have 2 numbers, as a model has"),
        (OneLoss, "losses and gradients must be one for each of 3 rows"),
    ],
)
def test_an_objective_whose_rows_do_not_fit_together_is_refused(objective, sentence, monkeypatch):
    rows = Dataset("rows", np.eye(3)[:, :2] + np.eye(3)[:, 1:], np.zeros(3), "number")
    monkeypatch.setattr(Promising, "objective", lambda self, *given: objective(given[0], 2, *given[1:]))
    with pytest.raises(TaskError, match=f"task promising: {sentence}"):
        Promising(kind="promising").made(rows, 0.0, 1.0)


def test_errors_are_one_for_each_model(monkeypatch):
    rows = Dataset("rows", np.eye(2), np.zeros(2), "number")
    task = Promising(kind="promising")
    evaluator = Evaluator([task.made(rows, 0.0, 1.0)] * 2, rows, task)
    evaluator.evaluate(np.ones((2, 2)))
    monkeypatch.setattr(Promising, "errors", lambda self, models, test: 0.5)
    with pytest.raises(TaskError, match="one number for each of 2 models"):
        evaluator.evaluate(np.zeros((2, 2)))
