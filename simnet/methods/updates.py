"""The dual update of the papers, λ_i ← λ_i + (step/2) Σ_j (θ_i − θ_j), for many agents at once.

An update of some dozens of numbers costs more in calls than in arithmetic. So one that is begun waits, until it or
another one is needed; then all that wait are computed together, each operation once for all of them. Every number is
what it would be alone, to the last bit: additions and products of vectors do not look beyond their element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simnet.learning.stacks import stacked
from simnet.methods.peer import Known
from simnet.vectors import Vector

MOST = 256
"""Updates that wait at most: enough to share the cost of a call, few enough to stay in the cache."""

_NOTHING: Vector = np.zeros(0)


class Updates:
    """Updates that wait for each other."""

    def __init__(self) -> None:
        self._waiting: list[Update] = []

    def begin(self, dual: Vector, model: Vector, degree: int, step: float, known: Sequence[Known]) -> Update:
        """The update of an agent's dual by a step from what it knows of its neighbours to its own model."""
        update = Update(self.settle, dual, model, degree, step / 2, known)
        self._waiting.append(update)
        if len(self._waiting) == MOST:
            self.settle()
        return update

    def settle(self) -> None:
        """Compute all that wait."""
        waiting, self._waiting = self._waiting, []
        alike: dict[tuple[int, int, int], list[Update]] = {}
        for update in waiting:
            alike.setdefault((update.degree, len(update.known), len(update.model)), []).append(update)
        for shape, updates in alike.items():
            for update, found in zip(updates, _compute(updates, *shape), strict=True):
                # A copy: a part of the whole would keep all of it.
                update.found, update.before, update.known = found.copy(), _NOTHING, ()


class Update:
    """A dual update that has begun; whoever asks for something of it gets it."""

    __slots__ = ("_settle", "before", "degree", "found", "half_step", "known", "model")

    def __init__(
        self,
        settle: Callable[[], None] | None,
        before: Vector,
        model: Vector,
        degree: int,
        half_step: float,
        known: Sequence[Known],
    ) -> None:
        self._settle = settle
        self.before, self.model, self.degree, self.half_step, self.known = before, model, degree, half_step, known
        self.found: npt.NDArray[np.float64] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # What is kept of an update is what came out of it, and nothing of those that it waited with.
        return Update, (None, _NOTHING, self.model, self.degree, self.half_step, ()), (None, {"found": self._settled()})

    def _settled(self) -> npt.NDArray[np.float64]:
        if self.found is None:
            assert self._settle is not None
            self._settle()
            assert self.found is not None
        return self.found

    def dual(self) -> Vector:
        """λ_i."""
        dual: Vector = self._settled()[0]
        return dual

    def known_sum(self) -> Vector:
        """Σ_j θ_j."""
        total: Vector = self._settled()[1]
        return total

    def linear(self, eta: float) -> Vector:
        """2λ_i − η Σ_j (θ_i + θ_j), the linear term of the next local problem."""
        found = self._settled()
        term: Vector = found[2] - eta * found[3]
        return term


def _compute(updates: Sequence[Update], degree: int, neighbours: int, features: int) -> npt.NDArray[np.float64]:
    """λ, Σ_j θ_j, 2λ and Σ_j (θ_i + θ_j) of each."""
    found = np.empty((len(updates), 4, features))
    dual, total, twice, both = (found[:, row] for row in range(4))
    total[...] = 0.0
    for place in range(neighbours):
        total += stacked([update.known[place].parts[0] for update in updates])
    own = degree * stacked([update.model for update in updates])
    np.subtract(own, total, out=dual)
    dual *= np.array([[update.half_step] for update in updates])
    dual += stacked([update.before for update in updates])
    np.add(dual, dual, out=twice)
    np.add(own, total, out=both)
    return found
