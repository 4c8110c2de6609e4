"""Stacks of equal arrays, one for each of many agents, in memory that is kept.

A problem of some dozens of rows costs more in calls than in arithmetic, so those of many agents are computed with
together, each operation once for all of them. The stacks are large enough for the system to give and take their pages
with every use, and that costs more than the arithmetic; so they lie in one place.

A stacked computation gives each agent what it would get alone, to the last bit: elementwise functions do not look
beyond their element, sums along the last axis add in the same order, and numpy's stacked products call for each matrix
what a single product calls. Only a product with one row or one column is another routine for a stack than for one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np

from simnet.learning.objective import Kind, LocalObjective, Stack
from simnet.vectors import Vector

LEAST = 4
"""Agents; fewer are served faster one by one."""
ROOM = 2**16
"""Entries of a stack: enough agents to share the cost of a call, few enough for the stack to stay in the cache."""


def batches(kinds: Iterable[Kind | None]) -> list[list[int]]:
    """The places of what can be computed together, in batches."""
    alike: dict[Kind, list[int]] = {}
    for place, kind in enumerate(kinds):
        if kind is not None:
            alike.setdefault(kind, []).append(place)
    found = []
    for (rows, features, _), places in alike.items():
        size = max(LEAST, ROOM // (features * max(rows, features)))
        found += [places[first : first + size] for first in range(0, len(places), size)]
    return [batch for batch in found if len(batch) >= LEAST]


class Stacks:
    """Memory for stacks: each name holds one, until the next of that name."""

    def __init__(self) -> None:
        self._memory: dict[str, Vector] = {}
        self._stacked: Sequence[LocalObjective] = ()

    def empty(self, name: str, *shape: int) -> Stack:
        """A stack of any content."""
        size = math.prod(shape)
        memory = self._memory.get(name)
        if memory is None or memory.size < size:
            memory = self._memory[name] = np.empty(size)
        return memory[:size].reshape(shape)

    def of(self, name: str, matrices: Sequence[Vector]) -> Stack:
        """A stack of copies of these."""
        rows, columns = matrices[0].shape
        stack = self.empty(name, len(matrices) * rows, columns)
        return np.concatenate(matrices, out=stack).reshape(len(matrices), rows, columns)

    def rows(self, objectives: Sequence[LocalObjective]) -> Stack:
        """Aᵀ of each objective; those of the last time are still there."""
        if objectives != self._stacked:
            self._stacked = objectives
            self.of("rows", cast("list[Vector]", [objective.transposed for objective in objectives]))
        return self.empty("rows", len(objectives), objectives[0].features, objectives[0].rows)


def stacked(vectors: Sequence[Vector]) -> Stack:
    """Copies of vectors of one length, one a row; `np.array` takes twice as long to find out what it is given."""
    return np.concatenate(vectors).reshape(len(vectors), -1)


def margins(transposed: Stack, thetas: Stack) -> Stack:
    """Aθ, for a stack of Aᵀ and one of θ."""
    found: Stack = np.matmul(transposed.swapaxes(1, 2), thetas[:, :, None])[:, :, 0]
    return found


def loss_gradients(transposed: Stack, slopes: Stack, scale: Stack) -> Stack:
    """scale Aᵀ l'(Aθ), for stacks of Aᵀ, l'(Aθ) and scales."""
    found: Stack = np.matmul(transposed, slopes[:, :, None])[:, :, 0]
    found *= scale[:, None]
    return found
