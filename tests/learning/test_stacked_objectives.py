"""Objectives of a crowd: views of one array that compute what objectives with rows of their own compute."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simnet.learning.dataset import Dataset
from simnet.learning.objective import LOGISTIC, LocalObjective
from simnet.learning.stacked_objectives import stack_objectives


def part(rows: int, features: int, seed: int, *, sparse: bool = False) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features)) * (rng.random((rows, features)) < 0.3)
    return Dataset("rows", sp.csr_array(X) if sparse else X, np.where(rng.random(rows) < 0.5, -1.0, 1.0))


def test_a_view_computes_what_an_objective_with_rows_of_its_own_computes():
    parts = [part(7, 5, seed, sparse=seed % 2 == 1) for seed in range(4)]
    found = stack_objectives(parts, LOGISTIC, 0.01, 2.0)
    theta = np.random.default_rng(9).standard_normal(5)
    for view, rows, smoothness in zip(found, parts, found.smoothness, strict=True):
        own = LocalObjective(rows.X, rows.y, LOGISTIC, 0.01, 2.0)
        assert view.loss_gradient(theta).tobytes() == own.loss_gradient(theta).tobytes()
        assert view.loss_hessian(theta).tobytes() == own.loss_hessian(theta).tobytes()
        assert view.clipped_gradient(theta, 0.1).tobytes() == own.clipped_gradient(theta, 0.1).tobytes()
        assert view.mean_loss(theta) == own.mean_loss(theta)
        assert view.smoothness == own.smoothness == smoothness
        assert (view.scale, view.steepness, view.batch_key) == (own.scale, own.steepness, own.batch_key)
        assert view.dataset("a").X.tobytes() == own.dataset("a").X.tobytes()
        assert view.dataset("a").y.tolist() == rows.y.tolist()


def test_some_of_them_are_a_crowd_too():
    found = stack_objectives([part(7, 5, seed) for seed in range(4)], LOGISTIC, 0.01, 1.0)
    assert [view.smoothness for view in found[1:3]] == found.smoothness[1:3].tolist()


def test_what_differs_in_shape_or_is_too_large_is_not_stacked():
    assert stack_objectives([part(7, 5, 0), part(6, 5, 1)], LOGISTIC, 0.01, 1.0) is None
    assert stack_objectives([part(70, 70, 0)], LOGISTIC, 0.01, 1.0) is None
    assert stack_objectives([part(1, 5, 0)], LOGISTIC, 0.01, 1.0) is None
