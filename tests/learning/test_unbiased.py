"""The loss that randomised labels leave unchanged on average."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simnet.errors import DataError
from simnet.learning.losses import LOGISTIC, SMOOTHED_HINGE
from simnet.learning.unbiased import unbiased


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
