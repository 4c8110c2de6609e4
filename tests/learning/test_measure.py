"""Measurements: the mean loss of a model, for one agent or for many at once."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simnet.learning.losses import LOGISTIC, LOSSES
from simnet.learning.measure import Measurement, measure_together
from simnet.learning.objective import LocalObjective
from simnet.learning.stacks import Stacks


def objective(rng: np.random.Generator, rows: int, features: int, loss: str = "logistic") -> LocalObjective:
    X = rng.standard_normal((rows, features)) / math.sqrt(features)
    return LocalObjective(X, np.where(rng.random(rows) < 0.5, -1.0, 1.0), LOSSES[loss], 0.01)


def test_a_measurement_is_the_mean_of_the_rows_losses_each_up_to_the_ceiling():
    rng = np.random.default_rng(1)
    X, y, theta = (
        rng.standard_normal((7, 3)),
        np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0]),
        np.array([1.0, -2.0, 3]),
    )
    f = LocalObjective(X, y, LOGISTIC, 0.01)
    losses = [math.log(1.0 + math.exp(-label * float(row @ theta))) for row, label in zip(X, y, strict=True)]
    assert math.isclose(Measurement(f, theta).answer(), sum(losses) / 7, rel_tol=1e-14)
    clipped = sum(min(loss, 0.5) for loss in losses) / 7
    assert math.isclose(Measurement(f, theta, 0.5).answer(), clipped, rel_tol=1e-14)
    assert min(losses) < 0.5 < max(losses)


@given(
    seed=st.integers(0, 2**32),
    shapes=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40), st.sampled_from(sorted(LOSSES))), max_size=3),
    agents=st.integers(1, 9),
    ceilings=st.lists(st.sampled_from([0.3, 2.0, math.inf]), min_size=1, max_size=3),
)
def test_a_crowd_is_told_what_each_is_told_alone(seed, shapes, agents, ceilings):
    rng = np.random.default_rng(seed)
    asked = []
    for place in range(agents * len(shapes)):
        rows, features, loss = shapes[place % len(shapes)]
        theta = 3.0 * rng.standard_normal(features)
        asked.append(Measurement(objective(rng, rows, features, loss), theta, ceilings[place % len(ceilings)]))
    assert measure_together(asked, Stacks()) == [measurement.answer() for measurement in asked]


def test_a_model_that_is_not_a_number_has_no_loss_and_spoils_nobody_elses():
    rng = np.random.default_rng(2)
    asked = [Measurement(objective(rng, 6, 4), rng.standard_normal(4)) for _ in range(5)]
    asked[2] = asked[2]._replace(theta=np.full(4, np.nan))
    found = measure_together(asked, Stacks())
    assert math.isnan(found[2])
    assert found[:2] + found[3:] == [measurement.answer() for measurement in asked[:2] + asked[3:]]
