"""Each agent's part of the training rows, taken when somebody asks for it: those of a crowd are never all there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from simnet.learning.dataset import Dataset


class DealtParts(Sequence[Dataset]):
    """`rows` of the training set that each agent has, by their places in it."""

    def __init__(self, train: Dataset, rows: Sequence[npt.NDArray[np.intp]]) -> None:
        self.train = train
        self.rows = rows

    @property
    def counts(self) -> list[int]:
        """How many rows each agent has."""
        return [len(rows) for rows in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Dataset: ...
    @overload
    def __getitem__(self, place: slice) -> DealtParts: ...
    def __getitem__(self, place: int | slice) -> Dataset | DealtParts:
        if isinstance(place, slice):
            return DealtParts(self.train, self.rows[place])
        return self.train.take(self.rows[place])
