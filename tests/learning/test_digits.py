"""The digits inside the package."""

from __future__ import annotations

import numpy as np

from simnet.learning.dataset import scale
from simnet.learning.digits import digits


def test_the_digits_are_those_of_the_uci_test_part():
    found = digits()
    assert (found.rows, found.features, found.labels) == (1_797, 64, "class")
    # The class sizes that its documentation states.
    assert np.bincount(found.y.astype(int)).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (found.X.min(), found.X.max()) == (0.0, 16.0)
    assert found.X[0, :8].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]


def test_nearest_class_means_tell_most_digits_apart():
    found = scale(digits())
    X = found.X if isinstance(found.X, np.ndarray) else found.X.toarray()
    train, test = slice(0, 1_000), slice(1_000, None)
    means = np.array([X[train][found.y[train] == digit].mean(axis=0) for digit in range(10)])
    nearest = np.argmin(((X[test, None] - means) ** 2).sum(axis=2), axis=1)
    assert np.mean(nearest == found.y[test]) > 0.85
