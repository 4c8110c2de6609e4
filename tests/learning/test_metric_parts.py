"""Further numbers about the models: what each says of models whose errors are known."""

from __future__ import annotations

import numpy as np
import pytest

from simnet.learning.dataset import Dataset
from simnet.learning.metric_parts import METRICS
from simnet.learning.task_parts import default_task

TASK = default_task("logistic")
TEST = Dataset("test", np.eye(4), np.ones(4))
MODELS = np.array([[1.0, 1, 1, 1], [1, 1, 1, -3], [-1, -1, 1, -1], [1, 1, 1, 1]])  # wrong: 0, 1/4, 3/4, 0


def value(word: str, **fields: float) -> float:
    return METRICS[word].model_validate({"kind": word} | fields).value(MODELS, TEST, TASK)


def test_the_worst_error_is_that_of_the_worst_agent():
    assert value("worst-error") == 0.75


def test_the_spread_is_between_the_best_and_the_worst_or_between_quantiles():
    assert value("error-spread") == 0.75
    assert value("error-spread", ignoring=0.5) == pytest.approx(
        np.subtract(*np.quantile([0, 0.25, 0.75, 0], [0.75, 0.25]))
    )


def test_the_mean_model_may_be_better_than_most_agents():
    assert value("mean-model-error") == 0.25  # the mean is wrong where −3 outweighs the others


def test_a_metric_is_called_by_its_word_with_an_underscore():
    assert METRICS["worst-error"].model_validate({"kind": "worst-error"}).called == "worst_error"
