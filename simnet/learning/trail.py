"""Solves that another run has done: on the same objective, of the same problems in the same order, to the last bit.

Runs of one study often go the same way for a while: all of them begin at the same point, and those that differ in the
network alone part when a message comes too late. What a solver answers depends on all that it was asked before, because
it has learned from that. So the key of an answer is a *trail*: the objective, and every problem so far. What is kept
with the answer is where the solver stands, so that whoever follows the trail can leave it anywhere.

To keep that costs a twentieth of a solve, and where all runs part at once nobody comes for it. So a trail is kept a few
solves beyond the furthest that anybody has followed one.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from simnet.memo import Known
from simnet.vectors import Vector

_FEW: Final = 4
"""Solves of a trail that are kept when nobody has followed one yet."""


class Trail:
    """What one solver has been asked so far."""

    def __init__(self, known: Known) -> None:
        self._place = known
        self._length = 0
        self.goes_on = known.memo.keeps
        """Whether somebody may have left something here, or may come this way."""

    def follow(self, linear: Vector, quadratic: float, start: Vector, tolerance: float) -> Any:
        """What somebody has left who was asked for the same so far, this problem included; None if nobody has.

        Where nobody has come nearly so far, the trail does not go on.
        """
        numbers = np.array((quadratic, tolerance))
        self._place = self._place.under(numbers.tobytes() + linear.tobytes() + start.tobytes())
        self._length += 1
        memo = self._place.memo
        found = memo.find("solves", self._place.place)
        if found is not None:
            memo.followed = max(memo.followed, self._length)
        self.goes_on = self._length <= _FEW + 2 * memo.followed
        return found

    def leave(self, stop: object, size: int) -> None:
        """Leave something here for others."""
        self._place.memo.keep("solves", self._place.place, stop, size)
