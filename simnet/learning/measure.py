"""How well a model does on an agent's rows, for one agent or for many at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simnet.learning.objective import LocalObjective, Stack
from simnet.learning.stacks import Stacks, batches, margins, stacked
from simnet.vectors import Vector


class Measurement(NamedTuple):
    """The mean loss of a model over an agent's rows, each row's loss at most `ceiling`."""

    objective: LocalObjective
    theta: Vector
    ceiling: float = math.inf

    def answer(self) -> float:
        """What it is, computed alone."""
        return self.objective.mean_loss(self.theta, self.ceiling)


def measure_together(measurements: Sequence[Measurement], stacks: Stacks) -> list[float]:
    """The answer to each, to the last bit as alone."""
    found: list[float | None] = [None] * len(measurements)
    for places in batches([measurement.objective.kind for measurement in measurements]):
        for place, value in zip(places, _means([measurements[place] for place in places], stacks), strict=True):
            found[place] = value
    return [each.answer() if value is None else value for each, value in zip(measurements, found, strict=True)]


def _means(batch: Sequence[Measurement], stacks: Stacks) -> list[float]:
    objectives = [measurement.objective for measurement in batch]
    thetas = stacked([measurement.theta for measurement in batch])
    ceilings: Stack = np.array([measurement.ceiling for measurement in batch])
    losses = objectives[0].loss.value(margins(stacks.rows(objectives), thetas))
    np.minimum(losses, ceilings[:, None], out=losses)
    means: list[float] = (np.add.reduce(losses, axis=1) / objectives[0].rows).tolist()
    return means
