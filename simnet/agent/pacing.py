"""When a round ends: the rules by which agents keep pace."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Protocol

from simnet.agent.neighbourhood import Neighbourhood
from simnet.agent.port import Port, never
from simnet.record.events import RoundTimeout


class Pacing(Protocol):
    """A rule for the end of a round."""

    @property
    def notices(self) -> bool:
        """Whether a skip is announced to the neighbours."""
        ...

    @property
    def aligned(self) -> bool:
        """Whether values of later rounds wait until the agent gets there."""
        ...

    async def settle(self, round: int, port: Port, neighbourhood: Neighbourhood) -> None:
        """Return when the round may end."""
        ...

    def resume(self, rounds: int) -> None:
        """Be the pacing of an agent that comes back after so many rounds: take from chance what they took."""
        ...


class WithoutChance:
    """A pacing that draws nothing."""

    def resume(self, rounds: int) -> None:
        return


@dataclass(frozen=True)
class Ideal(WithoutChance):
    """The papers' synchronous rounds: all have sent, and every message has met its fate.

    An oracle, not a protocol: no agent could know this. It separates what a method does from what a network does.
    """

    notices: ClassVar[bool] = False
    aligned: ClassVar[bool] = True

    async def settle(self, round: int, port: Port, neighbourhood: Neighbourhood) -> None:
        await port.rendezvous()


@dataclass(frozen=True)
class Barrier(WithoutChance):
    """Wait to hear of this round from every neighbour, at most for `patience` seconds.

    Without notices silence cannot be told from loss: a neighbour that skips is waited for in vain.
    """

    patience: float
    notices: bool
    aligned: ClassVar[bool] = True

    async def settle(self, round: int, port: Port, neighbourhood: Neighbourhood) -> None:
        def all_heard() -> bool:
            return neighbourhood.missing(round) == 0

        if not await port.until(all_heard, port.now + self.patience):
            port.emit(RoundTimeout(port.agent, round, neighbourhood.missing(round)))


@dataclass(frozen=True)
class Quorum(WithoutChance):
    """Wait to hear of this round from a share of the neighbours, and of each within `max_staleness` rounds.

    An agent that has waited for `patience` seconds goes on in any case.
    """

    quorum: float
    max_staleness: int
    patience: float
    notices: bool
    aligned: ClassVar[bool] = False

    async def settle(self, round: int, port: Port, neighbourhood: Neighbourhood) -> None:
        neighbours = len(neighbourhood.peers)
        # A hair of tolerance: 0.1 · 30 neighbours are 3 of them, whatever the rounding.
        may_miss = neighbours - math.ceil(self.quorum * neighbours - 1e-9)

        def enough() -> bool:
            fresh = neighbourhood.missing(round) <= may_miss
            return fresh and neighbourhood.missing(round - self.max_staleness) == 0

        if not await port.until(enough, port.now + self.patience):
            port.emit(RoundTimeout(port.agent, round, neighbourhood.missing(round)))


@dataclass(frozen=True)
class Free(WithoutChance):
    """Never wait."""

    notices: bool
    aligned: ClassVar[bool] = False

    async def settle(self, round: int, port: Port, neighbourhood: Neighbourhood) -> None:
        return


@dataclass(frozen=True)
class Deadline:
    """A round ends at the next tick of the agent's own clock, with whatever has arrived.

    An agent whose work outlasts a tick ends its round at the following one, and so falls behind its neighbours. Each
    tick is late by a random part (`late`, numbers between 0 and 1) of `jitter`.
    """

    period: float
    notices: bool
    jitter: float = 0.0
    late: Iterator[float] | None = None
    aligned: ClassVar[bool] = False

    async def settle(self, round: int, port: Port, neighbourhood: Neighbourhood) -> None:
        # The tick after now; a hair of tolerance keeps an agent that wakes exactly on a tick from ending a round twice
        # on it when the division rounds down.
        tick = math.floor(port.now / self.period + 1e-9) + 1
        late = self.jitter * next(self.late) if self.late is not None else 0.0
        await port.until(never, tick * self.period + late)

    def resume(self, rounds: int) -> None:
        for _ in islice(self.late or (), rounds):
            pass
