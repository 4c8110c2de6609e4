"""What an auditor may ask of a peer."""

from __future__ import annotations

import numpy as np
import pytest

from simnet.privacy.recovered import GRID, added, reachable, without_noise


def test_the_true_gradient_is_always_possible_and_another_often_is_not():
    rng = np.random.default_rng(1)
    clean = rng.normal(0.0, 0.3, (2000, 3))
    wrong = clean + np.array([1e-2, 0.0, 0.0])
    sigma = 0.137
    released = clean + sigma * rng.standard_normal(clean.shape)
    pairs = list(zip(clean, wrong, released, strict=True))
    assert all(reachable(base, found, sigma) for base, _, found in pairs)
    excluded = sum(not reachable(base, found, sigma) for _, base, found in pairs)
    assert 100 < excluded < 1000


def test_on_a_grid_no_data_set_is_excluded_oftener_than_another():
    rng = np.random.default_rng(2)
    clean, sigma, step = rng.normal(0.0, 0.3, (4000, 1)), 0.137, 2.0**-10
    wrong = clean + 1e-2
    released = step * np.rint((clean + sigma * rng.standard_normal(clean.shape)) / step)
    right, other = (
        sum(not reachable(base, found, sigma) for base, found in zip(bases, released, strict=True))
        for bases in (clean, wrong)
    )
    assert abs(right - other) < 4 * np.sqrt(right + other + 1)


def test_noise_that_was_added_has_standard_units_and_a_slack_for_solver_and_grid():
    found = added(np.array([0.4, -0.2]), "gaussian", 0.2, error=0.01)
    assert np.allclose(found.standard, [2.0, -1.0])
    assert found.slack == pytest.approx(0.05 + GRID * np.sqrt(2.0))
    assert without_noise(np.zeros(2)).standard is None
    assert added(np.zeros(2), "gaussian", 0.0).standard is None
