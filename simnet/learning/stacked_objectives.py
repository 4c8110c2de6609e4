"""The objectives of a crowd whose agents have equally many rows: the rows of all in one array.

An agent's objective is made when somebody asks for it, and looks at its part of the array. It computes what it would
compute with rows of its own, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias, overload

import numpy as np
import numpy.typing as npt

from simnet.learning.dataset import Dataset, fold_labels
from simnet.learning.dealt_parts import DealtParts
from simnet.learning.descent import batch_size, mean_losses
from simnet.learning.objective import LocalObjective, Loss, Stack, fits_stacks
from simnet.learning.row_objective import Objective

_AT_ONCE = 4096
"""Agents whose rows are gathered together."""
Labels = npt.NDArray[np.int8]
Agents: TypeAlias = npt.NDArray[np.intp]
"""Numbers of agents, in rising order."""


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

    def mean_losses(self, agents: Agents, thetas: Stack, ceiling: float = math.inf) -> Stack:
        """The mean loss of a model over each of these agents' rows, as `Measurement` has it."""
        found = np.empty(len(agents))
        size = batch_size(self.rows.shape[2], self.features)
        for first in range(0, len(agents), size):
            some = slice(first, first + size)
            rows = self.rows[neighbours(agents[some])]
            found[some] = mean_losses(self.loss, rows, thetas[some], np.full(len(rows), ceiling))
        return found

    @property
    def counts(self) -> list[int]:
        """How many rows each agent has."""
        return [self.rows.shape[2]] * len(self.rows)

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


def neighbours(agents: Agents) -> Agents | slice:
    """The same agents as a slice, if they are neighbours in the columns: then nothing is copied."""
    if not len(agents):
        return agents
    first, last = int(agents[0]), int(agents[-1]) + 1
    return slice(first, last) if last - first == len(agents) else agents


def stack_objectives(
    parts: Sequence[Dataset], loss: Loss, regulariser: float, weight: float
) -> StackedObjectives | None:
    """The objectives of these parts in one array; None if they differ in shape, or are too large for that."""
    first, counts = parts[0], row_counts(parts)
    if not fits_stacks(first.rows, first.features) or set(counts) != {first.rows}:
        return None
    rows = np.empty((len(parts), first.features, first.rows))
    labels = np.empty((len(parts), first.rows), np.int8)
    if isinstance(parts, DealtParts) and isinstance(parts.train.X, np.ndarray):
        for start in range(0, len(parts), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            places = np.stack(parts.rows[some])
            y = parts.train.y[places]
            rows[some] = (parts.train.X[places] * y[:, :, None]).swapaxes(1, 2)
            labels[some] = y
    else:
        for agent, part in enumerate(parts):
            rows[agent] = np.asarray(fold_labels(part.X, part.y)).T
            labels[agent] = part.y
    return StackedObjectives(rows, labels, loss, regulariser, weight)


def row_counts(parts: Sequence[Dataset] | Sequence[Objective]) -> list[int]:
    """How many rows each agent has; a sequence that makes its parts when they are asked for says it without that."""
    if isinstance(parts, DealtParts | StackedObjectives):
        return parts.counts
    return [part.rows for part in parts]
