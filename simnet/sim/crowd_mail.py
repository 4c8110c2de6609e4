"""A crowd's messages: what is on its way, and what each agent knows of its neighbours.

Nothing holds a message as an object. What was released lies in a pool, a model per slot, and both a message under way
and what an agent knows of a neighbour are the number of a slot. A slot that nobody refers to is used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from simnet.learning.column_solver import Allot, Column
from simnet.learning.objective import Stack
from simnet.sim.crowd_delays import DelaysAhead, ranges
from simnet.sim.crowd_graph import Directions, Places
from simnet.vectors import Vector

NOTICE = -1
"""The slot of a message that holds no model."""
_NEAR = 1e-6
"""The share by which a norm may be off that was not computed by the routine that decides."""


@dataclass(eq=False)
class Letters:
    """Messages, in the order in which they were sent."""

    round: npt.NDArray[np.int32]
    link: npt.NDArray[np.int32]
    """The direction that each takes."""
    number: npt.NDArray[np.int64]
    ends: Vector
    """When each arrives, or is lost."""
    slot: npt.NDArray[np.int32]
    lost: npt.NDArray[np.bool_]
    refused: npt.NDArray[np.bool_]
    """Its model is larger than its receiver admits."""

    def only(self, which: npt.NDArray[Any]) -> Letters:
        """Some of them, by a mask or by their places."""
        return Letters(*(array[which] for array in vars(self).values()))

    @staticmethod
    def joined(several: Sequence[Letters]) -> Letters:
        """All of several lots, one lot after the other."""
        return Letters(
            *(np.concatenate(arrays) for arrays in zip(*(vars(each).values() for each in several), strict=True))
        )

    def __len__(self) -> int:
        return len(self.link)


class CrowdMail:
    """Takes messages and delivers them."""

    def __init__(
        self,
        directions: Directions,
        delays: DelaysAhead,
        limits: Vector,
        features: int,
        rounds: int,
        allot: Allot,
    ) -> None:
        self.directions, self.delays = directions, delays
        self._limits, self._least_limit = limits, float(limits.min())
        agents, links = directions.agents, len(directions)
        self._known: Column = allot((links,), np.int32)
        """What each agent knows of each neighbour, by the direction from it to the neighbour; slot 0 is the start."""
        self.known_round: Column = allot((links,), np.int32)
        self._pool: Column = allot((1 + agents * rounds, features), np.float64)
        self._used = 1
        """How many slots have ever been used."""
        self._free = np.empty(0, np.int32)
        self._flying: list[Letters] = []
        self.sent = 0
        """How many messages there have been."""

    def send(self, round: int, now: float, agents: Places, releases: npt.NDArray[np.bool_], models: Stack) -> Letters:
        """These agents send to all their neighbours: `models` those that release one, the others a notice.

        What is lost ends now, as what takes no time does. All others are under way from here on.
        """
        directions = self.directions
        slots = np.full(len(agents), NOTICE, np.int32)
        slots[releases] = self._kept(models)
        first, last = directions.first[agents], directions.first[agents + 1]
        links, of_agent = ranges(first, last), np.repeat(np.arange(len(agents)), last - first)
        delays = self.delays.take(agents, links)
        lost = np.isnan(delays)
        # As the engine and its environment add: a message leaves at once, and its time is given as a delay.
        ends = np.where(lost, now, now + ((now + delays) - now))
        refused = np.zeros(len(links), np.bool_)
        for place, agent_limits in self._too_long(models):
            mine = of_agent == np.flatnonzero(releases)[place]
            refused[mine] = ~(agent_limits <= self._limits[directions.receiver[links[mine]]])
        number = self.sent + 1 + np.arange(len(links))
        self.sent += len(links)
        rounds = np.full(len(links), round, np.int32)
        found = Letters(rounds, links.astype(np.int32), number, ends, slots[of_agent], lost, refused)
        later = found.ends > now
        self._hear(found.only(~later & ~lost))
        self._flying.append(found.only(later))
        return found

    def arrive(self, until: float) -> list[Letters]:
        """What arrives until then, inclusive, by the round in which it was sent."""
        found, flying = [], []
        for letters in self._flying:
            due = letters.ends <= until
            if due.any():
                found.append(arrived := letters.only(due))
                self._hear(arrived)
                letters = letters.only(~due)
            if len(letters):
                flying.append(letters)
        self._flying = flying
        return found

    def sums(self, first: int, last: int) -> Stack:
        """Σ_j θ_j of what the agents from `first` up to `last` know, each sum in the order of the neighbours."""
        begin, degree = self.directions.first[first:last], self.directions.degree[first:last]
        total = np.zeros((last - first, self._pool.shape[1]))
        for place in range(int(degree.max())):
            having = degree > place
            models = self._pool[self._known[begin[having] + place]]
            if having.all():
                total += models
            else:
                total[having] += models
        return total

    def _hear(self, letters: Letters) -> None:
        """Take in what brings a newer model than the one known."""
        place = self.directions.back[letters.link]
        newer = (letters.slot != NOTICE) & ~letters.refused & (letters.round > self.known_round[place])
        self._known[place[newer]] = letters.slot[newer]
        self.known_round[place[newer]] = letters.round[newer]

    def _too_long(self, models: Stack) -> list[tuple[int, float]]:
        """Models that some agent may refuse, and their norms as `simnet.methods.peer.within` computes them."""
        with np.errstate(all="ignore"):
            lengths = np.sqrt(np.vecdot(models, models))
            doubtful = ~(lengths < self._least_limit * (1.0 - _NEAR))
        return [(place, float(scipy.linalg.blas.dnrm2(models[place]))) for place in np.flatnonzero(doubtful).tolist()]

    def _kept(self, models: Stack) -> npt.NDArray[np.int32]:
        """The slots in which these models are kept from here on."""
        if len(self._free) < len(models):
            self._sweep(len(models))
        slots, self._free = self._free[: len(models)], self._free[len(models) :]
        self._pool[slots] = models
        return slots

    def _sweep(self, wanted: int) -> None:
        """Find slots that nobody refers to, and new ones if those are too few."""
        referred = np.zeros(self._used, np.bool_)
        referred[0] = True
        referred[self._known] = True
        for letters in self._flying:
            referred[letters.slot[letters.slot != NOTICE]] = True
        free = np.flatnonzero(~referred)
        if len(free) < max(wanted, self.directions.agents // 2):
            more = min(self._used + max(wanted, self.directions.agents), len(self._pool))
            free = np.concatenate((free, np.arange(self._used, more)))
            self._used = more
        assert len(free) >= wanted, "there is a slot for all that can be referred to at once"
        self._free = free.astype(np.int32)
