"""The capped logistic loss: what it is, its constants, and that half the slope needs half the noise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
from hypothesis import given
from hypothesis import strategies as st

from simnet import Scenario
from simnet.build import build
from simnet.learning.objective import LOGISTIC, SMOOTHED_HINGE
from simnet.learning.task import loss_of
from simnet.library.loss_kinds import CappedLogistic


def capped(cap):
    return type("Capped", (CappedLogistic,), {"__doc__": "."})(kind="capped-logistic", cap=cap)


@given(st.floats(0.01, 1.0), st.floats(-50, 50), st.floats(-50, 50))
def test_it_is_convex_capped_and_no_more_bent_than_the_logistic_loss(cap, a, b):
    task = capped(cap)
    low, high = np.array([min(a, b)]), np.array([max(a, b)])
    slopes = task.slope(low)[0], task.slope(high)[0]
    assert -cap <= slopes[0] <= slopes[1] <= 0.0
    assert slopes[1] - slopes[0] <= 0.25 * (high - low)[0] + 1e-12
    middle = task.value((low + high) / 2)[0]
    assert middle <= (task.value(low)[0] + task.value(high)[0]) / 2 + 1e-9


@pytest.mark.parametrize("cap", [0.1, 0.5, 0.9, 1.0])
def test_value_slope_and_bend_belong_together(cap):
    task, z = capped(cap), np.linspace(-8, 8, 4001)
    rise = scipy.integrate.cumulative_trapezoid(task.slope(z), z, initial=0.0)
    assert np.allclose(task.value(z) - task.value(z)[0], rise, atol=1e-5)
    away = np.abs(z - task.kink) > 0.01
    assert np.allclose(np.gradient(task.slope(z), z)[away], task.bend(z)[away], atol=1e-3)


def test_with_a_cap_of_one_it_is_the_logistic_loss():
    z = np.linspace(-700, 700, 999)
    task = capped(1.0)
    assert np.allclose(task.value(z), LOGISTIC.value(z))
    assert np.allclose(task.slope(z), LOGISTIC.slope(z))
    assert np.allclose(task.bend(z), LOGISTIC.bend(z))


def test_right_of_its_kink_it_is_the_logistic_loss_and_left_of_it_a_line():
    task = capped(0.25)
    right, left = np.linspace(task.kink, 9, 50), np.linspace(-30, task.kink, 50)
    assert np.allclose(task.value(right), LOGISTIC.value(right))
    assert np.allclose(task.value(left), task.value(np.array([task.kink])) + 0.25 * (task.kink - left))


@pytest.mark.parametrize("method", ["pp-admm", "m-admm", "gossip", "one-shot"])
def test_half_the_slope_needs_half_the_noise(method):
    def noise(cap):
        content = {"data": {"source": "synthetic", "rows": 40_000}, "algorithm": {"name": method}, "rounds": 4}
        task = {"kind": "capped-logistic", "cap": cap}
        plan = build(Scenario.of(content).with_(task=task)).calibration.plans[0]
        plan = getattr(plan, "then", plan)
        return getattr(plan, "sigma1", None) or plan.rounds[0].scale

    ratio = noise(0.5) / noise(1.0)
    assert ratio == pytest.approx(2.0 if method == "m-admm" else 0.5, rel=1e-2)  # gamma-type noise has a rate


def test_our_own_losses_need_no_guard_while_they_run():
    assert loss_of(CappedLogistic(kind="capped-logistic")).slope.__name__ != "slope"
    assert SMOOTHED_HINGE.lipschitz == 1.0
