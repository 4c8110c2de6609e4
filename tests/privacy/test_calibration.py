from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simnet.errors import BudgetError
from simnet.privacy import curves
from simnet.privacy.calibration import smallest_scale
from simnet.privacy.curves import ORDERS
from tests.privacy import pld


@given(st.floats(0.01, 50.0), st.floats(1e-9, 1e9))
@settings(max_examples=40, deadline=None)
def test_the_smallest_scale_meets_the_target_and_a_smaller_one_does_not(target: float, unit: float) -> None:
    scale = smallest_scale(lambda s: (unit / s) ** 2 + 0.5 * unit / s, target, "nothing")
    loss = (unit / scale) ** 2 + 0.5 * unit / scale
    assert target * (1 - 1e-8) <= loss <= target


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_a_calibrated_gaussian_is_private_enough_by_its_exact_loss(epsilon: float) -> None:

    def loss(sigma: float) -> float:
        return curves.epsilon(20 * curves.gaussian(ORDERS, 1.0, sigma), 1e-5)

    sigma = smallest_scale(loss, epsilon, "nothing")
    assert pld.gaussian_epsilon(1.0, sigma, 20, 1e-5) <= epsilon + 1e-3
    assert loss(sigma) == pytest.approx(epsilon, abs=1e-6)


def test_a_loss_that_no_noise_reduces_is_refused_by_name() -> None:
    with pytest.raises(BudgetError, match="the floor alone costs ε = 2"):
        smallest_scale(lambda s: 2.0 + 1.0 / s, 1.5, "the floor")
    with pytest.raises(BudgetError, match="above 0"):
        smallest_scale(lambda s: 1.0 / s, 0.0, "nothing")
