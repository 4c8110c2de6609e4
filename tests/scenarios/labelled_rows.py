"""Rows with labels of every kind, as a user's own sources."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from simnet.extend import DataSource


class Blobs(DataSource):
    """Three clouds of points, one per class."""

    labels: ClassVar = "class"

    def draw(self, rng):
        y = rng.integers(3, size=900)
        return 2.0 * np.eye(3)[y] + 0.7 * rng.standard_normal((900, 3)), y


class Line(DataSource):
    """Numbers that depend on the features nearly linearly."""

    labels: ClassVar = "number"

    def draw(self, rng):
        X = rng.standard_normal((900, 3))
        return X, X @ [1 / 3, -2 / 3, 1 / 6] + 0.05 * rng.standard_normal(900)
