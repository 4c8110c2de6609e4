"""A loss that is not what it says of itself is found out: on a grid, or at the margin where it happens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simnet.errors import TaskError
from simnet.learning.loss_check import check_grid, check_slopes, guarded
from simnet.learning.objective import LOGISTIC, LOSSES, LocalObjective, unbiased


@pytest.mark.parametrize("loss", [*LOSSES.values(), unbiased(LOGISTIC, 1.0)], ids=lambda loss: loss.name)
def test_our_own_losses_pass(loss):
    check_grid(loss)


def bumpy(height: float):
    """The logistic loss with a narrow step in its slope at 0.0007, between two points of the grid."""

    def step(z):
        return height * np.clip((z - 0.0005) / 0.0004, 0.0, 1.0) - height

    def value(z):
        inside = np.clip(z - 0.0005, 0.0, 0.0004)
        return LOGISTIC.value(z) + height * (inside**2 / 0.0008 + np.maximum(z - 0.0009, 0.0)) - height * z

    return replace(
        LOGISTIC,
        name="bumpy",
        value=value,
        slope=lambda z, out=None: LOGISTIC.slope(z) + step(z),
        lipschitz=1 + height,
        smoothness=0.5,
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"lipschitz": 0.9}, r"\|l'\| is 1 at the margin .* declared as 0.9; ε would be wrong"),
        ({"smoothness": 0.2}, r"l' rises by 0.25 per unit at the margin .* c1 is declared as 0.2; ε would be wrong"),
        ({"lipschitz": 0.0}, "lipschitz is 0, and it is a number above 0"),
        ({"smoothness": np.inf}, "smoothness is inf, and it is a number above 0"),
        ({"value": lambda z: 2 * LOGISTIC.value(z)}, "slope is not the derivative of value"),
        ({"slope": lambda z, out=None: -LOGISTIC.slope(z)}, "not convex"),
        ({"bend": lambda z: -LOGISTIC.bend(z)}, "bend reaches -0.25, and l'' lies between 0 and c1 = 0.25"),
        ({"bend": lambda z: 0.2 * LOGISTIC.bend(z)}, "bend is not the derivative of slope"),
        ({"value": lambda z: z[:3]}, "value must give one finite number for each margin"),
        ({"bend": lambda z: z / 0.0}, "bend must give one finite number for each margin"),
        ({"slope": lambda z, out=None: LOGISTIC.slope(z - z.mean())}, "slope of a margin depends on the other margins"),
        ({"slope": lambda z, out=None: z.nothing}, r"slope fails for an array of margins \(AttributeError"),
    ],
)
def test_a_mistake_is_found_on_the_grid(change, sentence):
    with pytest.raises(TaskError, match=sentence):
        check_grid(replace(LOGISTIC, **change))


def test_a_square_is_refused_because_its_slope_has_no_bound():
    square = replace(
        LOGISTIC,
        value=lambda z: (1 - z) ** 2,
        slope=lambda z, out=None: -2 * (1 - z),
        bend=lambda z: np.full_like(z, 2.0),
        lipschitz=100.0,
        smoothness=2.0,
    )
    with pytest.raises(TaskError, match=r"\|l'\| is 2e\+04 at the margin -1e\+04"):
        check_grid(square)


def test_what_lies_between_the_points_of_the_grid_is_found_where_it_occurs():
    hidden = bumpy(0.0009)
    check_grid(hidden)
    loss = guarded(hidden)
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2)
    objective = LocalObjective(X, y, loss, 0.1)
    assert objective.loss_gradient(np.array([0.3, 0.8])).shape == (2,)
    with pytest.raises(
        TaskError, match=r"task bumpy: l' rises by 2.5 per unit at the margin 0.0005.* c1 is declared as"
    ):
        objective.loss_gradient(np.array([0.0005, 0.0009]))


def test_a_guarded_loss_computes_what_the_loss_computes():
    z = np.linspace(-3, 3, 7)
    loss = guarded(LOGISTIC)
    into = z.copy()
    assert np.array_equal(loss.slope(z), LOGISTIC.slope(z))
    assert np.array_equal(loss.slope(into, into), LOGISTIC.slope(z))
    assert np.array_equal(into, LOGISTIC.slope(z))
    assert np.array_equal(loss.bend(z), LOGISTIC.bend(z))


def test_margins_that_are_equal_have_no_slope_between_them():
    check_slopes(LOGISTIC, np.array([1.0, 1.0]), np.array([-0.2, -0.2]))
