"""Yardsticks: what the best constant answer errs, and where all rows in one place would end without privacy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from simnet import Scenario, run
from simnet.build import build
from simnet.learning import yardsticks as module
from simnet.learning.dataset import Dataset
from simnet.learning.linear_tasks import RidgeTask
from simnet.learning.task import Models
from simnet.learning.yardsticks import GRID, Yardsticks, yardsticks
from simnet.vectors import Vector
from tests.learning.plain import error, fit
from tests.worlds import world

TASKS = Path(__file__).parents[2] / "scenarios" / "tasks"
UNEVEN = {"data.partition": "uneven", "data.concentration": 1.0}


def small(**changes: Any) -> Scenario:
    """Three agents who all know each other."""
    return world(**{"topology": {"kind": "complete", "agents": 3}, "algorithm.eta": 0.03} | changes)


def of(scenario: Scenario) -> Yardsticks:
    return build(scenario).yardsticks()


@pytest.mark.parametrize("data", [{}, UNEVEN])
def test_plain_admm_ends_at_the_optimum(data):
    """On a network that loses nothing, however uneven the shares are."""
    scenario = small(rounds=120, **{"algorithm.regulariser": 1e-2, "data.label_noise": 1.0}, **data)
    found = of(scenario)
    ended = run(scenario).summary
    assert ended["accuracy"]["consensus"] < 1e-4
    assert ended["accuracy"]["test_error"] == pytest.approx(found.optimum, rel=1e-7)
    assert found.optimum < found.constant
    assert ended["yardsticks"] == found.figures()


def test_plain_admm_ends_at_the_optimum_for_numbers_too():
    """The root mean square error is no share of rows: it tells every digit of a difference."""
    scenario = small(rounds=120, task={"kind": "ridge"}, **{"algorithm.regulariser": 1e-2}, **UNEVEN)
    ended = run(scenario).summary["accuracy"]["test_error"]
    assert ended == pytest.approx(of(scenario).optimum, rel=1e-6)


def test_the_optimum_is_that_of_an_independent_solver():
    scenario = world(**{"data.label_noise": 1.0, "data.rows": 3000, "data.train": 2400, "data.features": 8})
    built = build(scenario)
    fewer = build(scenario.with_(topology={"kind": "ring", "agents": 3}))
    joined = module.joined(list(built.learning.parts))
    found = built.yardsticks()
    assert found.regulariser == 1e-4
    assert found.optimum == error(fit(joined, 1e-4), built.learning.test)
    assert found.best_optimum == min(error(fit(joined, each), built.learning.test) for each in GRID)
    assert fewer.yardsticks().optimum == found.optimum  # even shares: who holds which rows does not matter


def test_agents_count_alike_however_many_rows_they_have():
    """Σ f_i is no mean over rows where shares are uneven; by scipy, from the agents' own objectives."""
    built = build(world(**UNEVEN, task={"kind": "ridge"}))

    def total(theta):
        gradients = [each.gradient(theta) for each in built.objectives]
        return sum(each.value(theta) for each in built.objectives), np.sum(gradients, axis=0)

    best = minimize(total, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    there = built.scenario.learned.errors(best[None, :], built.learning.test)[0]
    assert built.yardsticks().optimum == pytest.approx(there, rel=1e-6)


def test_a_heavier_loss_counts_as_a_lighter_regulariser():
    """C l + (λ/2)|θ|² has the minimiser of l + (λ/2C)|θ|²."""
    base = world(**{"data.label_noise": 1.0})
    light = of(base.with_(algorithm={"name": "m-admm", "eta": 0.5, "loss_weight": 10.0, "regulariser": 1e-2}))
    assert light.regulariser == pytest.approx(1e-3)
    assert light.optimum == of(base.with_(**{"algorithm.regulariser": 1e-3})).optimum


def test_the_constant_answer_is_the_commonest_class_of_the_training_rows():
    built = build(world(**{"data.label_noise": 3.0}))
    labels = np.concatenate([part.y for part in built.learning.parts])
    commonest = 1.0 if (labels > 0).sum() > (labels < 0).sum() else -1.0
    assert built.yardsticks().constant == np.mean(built.learning.test.y != commonest)


def test_of_ten_classes_it_is_the_commonest_and_of_numbers_the_mean():
    digits = build(world(task={"kind": "multinomial"}, data={"source": "digits", "train": 900}))
    labels = np.concatenate([part.y for part in digits.learning.parts]).astype(int)
    found = digits.yardsticks()
    assert found.constant == np.mean(digits.learning.test.y != np.bincount(labels).argmax())
    assert found.best_optimum < 0.1 < 0.8 < found.constant
    numbers = build(world(task={"kind": "ridge"}))
    mean = np.concatenate([part.y for part in numbers.learning.parts]).mean()
    assert numbers.yardsticks().constant == pytest.approx(np.sqrt(np.mean((numbers.learning.test.y - mean) ** 2)))


def test_a_network_has_no_optimum_that_anybody_could_certify():
    found = of(Scenario.load(TASKS / "network.toml").with_(**{"data.train": 300}))
    assert found.constant is not None
    assert found.optimum is found.best_optimum is None
    assert found.absent == "no optimum is known of the task neural: its loss is not convex"


def test_without_a_regulariser_only_the_grid_has_one():
    found = of(world(**{"algorithm.regulariser": 0.0}))
    assert found.optimum is None
    assert found.best_optimum is not None
    assert "no regulariser" in found.absent


@pytest.mark.parametrize("limit", ["LARGEST", "MOST_AGENTS"])
def test_what_would_take_long_is_not_computed(limit, monkeypatch):
    built = build(world())
    assert built.yardsticks().absent is None
    monkeypatch.setattr(module, limit, 5)
    found = built.yardsticks()
    assert (found.constant, found.optimum, found.best_optimum) == (None, None, None)
    assert found.absent.startswith("not computed for more than 5 ")


def test_a_search_by_gradients_alone_has_a_lower_limit():
    many = Scenario.load(TASKS / "digits.toml").with_(**{"data.train": 1600})
    assert of(many).absent == "not computed for more than 1,000,000 training rows times numbers in such a model"


class Raising(RidgeTask):
    """Somebody's own task, which fails where no run would have asked it."""

    def constant_error(self, answer: float, test: Dataset) -> float:
        raise KeyError(answer)


def test_an_error_of_somebodys_own_task_ends_no_run():
    built = build(world(task={"kind": "ridge"}))
    found = yardsticks(built.objectives, built.learning.test, Raising(kind="ridge"))
    assert found.absent.startswith("not computed: KeyError: ")


class Speechless(RidgeTask):
    """A task whose errors are no numbers."""

    def errors(self, models: Models, test: Dataset) -> Vector:
        return np.full(len(models), np.nan)


def test_an_optimum_whose_error_is_no_number_is_told_and_ends_no_run():
    built = build(world(task={"kind": "ridge"}))
    found = yardsticks(built.objectives, built.learning.test, Speechless(kind="ridge"))
    assert (found.optimum, found.best_optimum) == (None, None)
    assert found.absent == "no optimum at the regulariser 0.0001: its error is no number"


def test_what_is_remembered_is_what_would_be_computed_again():
    built = build(world(**{"data.label_noise": 1.0}))
    first = built.yardsticks()
    assert built.yardsticks() == first
    module._KNOWN.clear()
    assert built.yardsticks() == first
    between = build(world(**{"data.label_noise": 1.0, "algorithm.regulariser": 3e-4}))
    later = between.yardsticks()
    module._KNOWN.clear()
    assert between.yardsticks() == later
    other = build(world(seed=2, **{"data.label_noise": 1.0}))
    assert yardsticks(other.objectives, other.learning.test, other.scenario.learned) != first
