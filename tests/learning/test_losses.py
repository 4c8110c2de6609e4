from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from simnet.errors import DataError
from simnet.learning.losses import HINGE_WIDTH, LOGISTIC, LOSSES, SMOOTHED_HINGE, Loss, unbiased

every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
margins = st.floats(-40, 40)


def at(function, *z: float) -> np.ndarray:
    return function(np.array(z))


def near_a_kink(loss: Loss, z: float, reach: float = 1e-4) -> bool:
    return loss is SMOOTHED_HINGE and abs(abs(1 - z) - HINGE_WIDTH) < reach


@every_loss
@given(z=margins)
def test_slope_and_bend_are_the_derivatives(loss: Loss, z: float):
    h = 1e-5
    below, above = at(loss.value, z - h, z + h)
    assert (above - below) / (2 * h) == pytest.approx(at(loss.slope, z)[0], abs=1e-5)
    if not near_a_kink(loss, z):
        below, above = at(loss.slope, z - h, z + h)
        assert (above - below) / (2 * h) == pytest.approx(at(loss.bend, z)[0], abs=1e-6)


@every_loss
@given(a=margins, b=margins)
def test_the_stated_constants_bound_the_slope_and_its_changes(loss: Loss, a: float, b: float):
    slope_a, slope_b = at(loss.slope, a, b)
    assert abs(slope_a) <= loss.lipschitz
    assert abs(slope_a - slope_b) <= loss.smoothness * abs(a - b) + 1e-15
    assert 0 <= at(loss.bend, a)[0] <= loss.smoothness * (1 + 1e-15)


@every_loss
def test_the_stated_constants_are_not_larger_than_need_be(loss: Loss):
    z = np.linspace(-50, 50, 100_001)
    assert np.abs(loss.slope(z)).max() == pytest.approx(loss.lipschitz)
    assert loss.bend(z).max() == pytest.approx(loss.smoothness)


@every_loss
@given(a=margins, b=margins, t=st.floats(0, 1))
def test_losses_are_convex_and_reward_a_larger_margin(loss: Loss, a: float, b: float, t: float):
    chord = t * at(loss.value, a)[0] + (1 - t) * at(loss.value, b)[0]
    assert at(loss.value, t * a + (1 - t) * b)[0] <= chord + 1e-12
    assert at(loss.slope, a)[0] <= 0


def test_the_logistic_loss_is_log_one_plus_e_to_the_minus_z():
    z = np.linspace(-30, 30, 601)
    np.testing.assert_allclose(LOGISTIC.value(z), np.logaddexp(0, -z), rtol=1e-14)
    np.testing.assert_allclose(LOGISTIC.slope(z), -expit(-z), rtol=1e-14)
    np.testing.assert_allclose(LOGISTIC.bend(z), expit(z) * expit(-z), rtol=1e-14)


@every_loss
def test_margins_of_a_thousand_neither_overflow_nor_warn(loss: Loss):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert at(loss.value, -1000.0, 1000.0) == pytest.approx([1000.0 if loss is LOGISTIC else 1001.0, 0.0])
        assert at(loss.slope, -1000.0, 1000.0) == pytest.approx([-1.0, 0.0])
        assert at(loss.bend, -1000.0, 1000.0) == pytest.approx([0.0, 0.0])


def test_the_smoothed_hinge_is_the_hinge_away_from_its_corner():
    z = np.array([-20.0, 0.0, 1 - HINGE_WIDTH, 1 + HINGE_WIDTH, 5.0])
    np.testing.assert_allclose(SMOOTHED_HINGE.value(z), np.maximum(1 - z, 0), atol=1e-15)
    assert at(SMOOTHED_HINGE.value, 1.0)[0] == HINGE_WIDTH / 4


@every_loss
def test_margins_are_left_as_they_were(loss: Loss):
    z = np.linspace(-3, 3, 7)
    for function in (loss.value, loss.slope, loss.bend):
        function(z)
    np.testing.assert_array_equal(z, np.linspace(-3, 3, 7))


@pytest.mark.parametrize("loss", LOSSES.values(), ids=lambda loss: loss.name)
def test_slopes_can_take_the_place_of_the_margins(loss: Loss):
    z = np.linspace(-4.0, 4.0, 17)
    expected = loss.slope(z).tolist()
    assert loss.slope(z, z) is z
    assert z.tolist() == expected


def test_flipping_labels_leaves_the_loss_unbiased():
    z = np.linspace(-4, 4, 9)
    fair, wrong = unbiased(LOGISTIC, 0.7), 1 / (1 + math.exp(0.7))
    np.testing.assert_allclose((1 - wrong) * fair.value(z) + wrong * fair.value(-z), LOGISTIC.value(z), atol=1e-12)
    assert np.abs(fair.slope(z)).max() <= fair.lipschitz
    step = 1e-6
    np.testing.assert_allclose((fair.value(z + step) - fair.value(z - step)) / (2 * step), fair.slope(z), atol=1e-8)


def test_it_is_the_papers_formula_and_the_plain_loss_without_flips():
    z, e = np.linspace(-3, 3, 7), math.exp(0.9)
    printed = (e * LOGISTIC.value(z) - LOGISTIC.value(-z)) / (e - 1)
    np.testing.assert_allclose(unbiased(LOGISTIC, 0.9).value(z), printed, atol=1e-12)
    np.testing.assert_array_equal(unbiased(LOGISTIC, 1e4).value(z), LOGISTIC.value(z))
    assert unbiased(LOGISTIC, 0.9).lipschitz == pytest.approx((e + 1) / (e - 1))


def test_a_hinge_is_refused_because_it_would_not_stay_convex():
    """(e^ε l''(z) − l''(−z))/(e^ε − 1) is −1/(e^ε − 1) near z = −1: the hinge is straight there, its mirror bends."""
    z, e = np.linspace(-1.4, -0.6, 9), math.e
    curvature = (e * SMOOTHED_HINGE.bend(z) - SMOOTHED_HINGE.bend(-z)) / (e - 1)
    np.testing.assert_allclose(curvature, -1 / (e - 1))
    with pytest.raises(DataError, match="only the logistic loss stays so"):
        unbiased(SMOOTHED_HINGE, 1.0)
