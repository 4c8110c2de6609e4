"""The ledgers of many agents: one for all who made the same charges in the same order, and which of them is whose.

Agents of a crowd have few plans among them, so they have few different ledgers, however many they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from simnet.privacy.ledger import Charge, Ledger

Agents = npt.NDArray[np.intp]
Accepted = npt.NDArray[np.bool_]

_FEW = 1024
"""Ledgers that are kept, whoever has them."""
_UNKNOWN = -1


class SharedLedgers:
    """An agent has the ledger of its kind; what is charged moves it to another kind, and changes no ledger."""

    def __init__(self, agents: int, delta: float, budget: float = math.inf) -> None:
        self._kinds = [Ledger(delta, budget)]
        self._of: npt.NDArray[np.int32] = np.zeros(agents, np.int32)
        self._places = {self._kinds[0].state: 0}
        self._after: dict[tuple[int, tuple[Charge, ...]], int | None] = {}
        self._most = _FEW + 2 * agents
        """How many ledgers are kept until those are forgotten that nobody has."""

    def __getitem__(self, agent: int) -> Ledger:
        return self._kinds[int(self._of[agent])]

    def in_use(self) -> list[Ledger]:
        """Every ledger that some agent has, in the order of the first who has it."""
        kinds, first = np.unique(self._of, return_index=True)
        return [self._kinds[kind] for kind in kinds[np.argsort(first)].tolist()]

    def by_kind(self, agents: Agents) -> list[tuple[Ledger, Agents]]:
        """The ledgers of some agents, and where among them each is found."""
        kinds, place = np.unique(self._of[agents], return_inverse=True)
        return [(self._kinds[kind], np.flatnonzero(place == each)) for each, kind in enumerate(kinds.tolist())]

    def spend(self, agent: int, charges: Sequence[Charge]) -> bool:
        """Make an agent's charges, all or none; whether its budget allows them."""
        place = self._paid(int(self._of[agent]), tuple(charges))
        if place is None:
            return False
        self._of[agent] = place
        if len(self._kinds) > self._most:
            self._tidy()
        return True

    def spend_all(self, agents: Agents, charges: Sequence[Charge]) -> Accepted:
        """Make the same charges for each of these agents; for which of them the budget allows it."""
        before = self._of[agents]
        accepted = np.ones(len(agents), np.bool_)
        for kind in np.unique(before).tolist():
            place, having = self._paid(kind, tuple(charges)), before == kind
            if place is None:
                accepted[having] = False
            else:
                self._of[agents[having]] = place
        if len(self._kinds) > self._most:
            self._tidy()
        return accepted

    def _paid(self, kind: int, charges: tuple[Charge, ...]) -> int | None:
        """The kind of a ledger once these charges were made; None if the budget does not allow it."""
        key = kind, charges
        place = self._after.get(key, _UNKNOWN)
        if place == _UNKNOWN:
            ledger = copy(self._kinds[kind])
            place = self._after[key] = self._place(ledger) if ledger.afford(*charges) else None
        return place

    def _place(self, ledger: Ledger) -> int:
        place = self._places.setdefault(ledger.state, len(self._kinds))
        if place == len(self._kinds):
            self._kinds.append(ledger)
        return place

    def _tidy(self) -> None:
        """Forget ledgers that nobody has any more."""
        kinds, place = np.unique(self._of, return_inverse=True)
        self._kinds = [self._kinds[kind] for kind in kinds.tolist()]
        self._of = place.astype(np.int32)
        self._places = {ledger.state: place for place, ledger in enumerate(self._kinds)}
        self._after = {}
