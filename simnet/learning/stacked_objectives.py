"""The objectives of a crowd whose agents have equally many rows: the rows of all in one array.

An agent's objective is made when somebody asks for it, and looks at its part of the array. It computes what it would
compute with rows of its own, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from simnet.learning.dataset import Dataset, fold_labels
from simnet.learning.objective import LocalObjective, Loss, Stack, fits_stacks

Labels = npt.NDArray[np.int8]


class StackedObjectives(Sequence[LocalObjective]):
    """`rows` has Aᵀ of each agent, `labels` the label of each row, −1 or 1."""

    def __init__(self, rows: Stack, labels: Labels, loss: Loss, regulariser: float, weight: float) -> None:
        self.rows, self.labels = rows, labels
        self.loss, self.regulariser, self.weight = loss, regulariser, weight
        entries = rows.reshape(len(rows), -1)
        self.smoothness: Stack = weight * loss.smoothness * np.vecdot(entries, entries) / rows.shape[2]
        """Of each agent, as `LocalObjective.smoothness`."""

    @property
    def features(self) -> int:
        return int(self.rows.shape[1])

    @property
    def scale(self) -> float:
        """The weight of one row in a gradient."""
        return self.weight / int(self.rows.shape[2])

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> LocalObjective: ...
    @overload
    def __getitem__(self, place: slice) -> StackedObjectives: ...
    def __getitem__(self, place: int | slice) -> LocalObjective | StackedObjectives:
        rows, labels = self.rows[place], self.labels[place]
        if isinstance(place, slice):
            return StackedObjectives(rows, labels, self.loss, self.regulariser, self.weight)
        return LocalObjective.folded(rows.T, labels.astype(np.float64), self.loss, self.regulariser, self.weight)


def stack_objectives(
    parts: Sequence[Dataset], loss: Loss, regulariser: float, weight: float
) -> StackedObjectives | None:
    """The objectives of these parts in one array; None if they differ in shape, or are too large for that."""
    first = parts[0]
    if not fits_stacks(first.rows, first.features):
        return None
    rows = np.empty((len(parts), first.features, first.rows))
    labels = np.empty((len(parts), first.rows), np.int8)
    for agent, part in enumerate(parts):
        if part.X.shape != first.X.shape:
            return None
        rows[agent] = np.asarray(fold_labels(part.X, part.y)).T
        labels[agent] = part.y
    return StackedObjectives(rows, labels, loss, regulariser, weight)
