"""Thinned logs: some kinds of events, and of these what happened at some of the agents.

A large run makes more events than anyone wants to store. What a thinned log leaves out happened all the same: the
events keep their numbers, so `seq` has gaps, and the run's figures are those of all events. Agents are chosen by a hash
of the seed and their number, never by a stream of the run. A message is kept with its sender: its sending and its fate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError

from simnet.errors import LogError
from simnet.parts.fields import Share, Switch
from simnet.parts.part import Section, WordOf
from simnet.record import events
from simnet.record.bus import Subscriber
from simnet.record.event_columns import EventColumn, Rows

_ALWAYS: frozenset[type[events.Event]] = frozenset({events.RunStarted, events.RunFinished})
_WORDS = dict.fromkeys(kind.split(".")[0] for kind, event in events.EVENTS.items() if event not in _ALWAYS)
FAMILIES = {word: {event for kind, event in events.EVENTS.items() if kind.split(".")[0] == word} for word in _WORDS}
"""The kinds that a log may leave out, by their first word."""


class Log(Section):
    """What the event log holds. Thinning it changes nothing about the run and its figures."""

    private: Switch = Field(
        False,
        description="also write what nobody may know: unreleased figures and raw query values; for debugging",
    )
    kinds: tuple[Annotated[str, WordOf(FAMILIES)], ...] | None = Field(
        None, description="write only these kinds of events, by their first word; absent: all"
    )
    sample: Share | None = Field(
        None, description="write only the events of about this share of the agents, with the fates of what they sent"
    )

    def thinning(self, seed: int) -> Thinning | None:
        """What to leave out; None if nothing."""
        if self.kinds is None and self.sample is None:
            return None
        kept = _ALWAYS.union(*(FAMILIES[word] for word in (FAMILIES if self.kinds is None else self.kinds)))
        return Thinning(kept, self.sample, seed)


@lru_cache(maxsize=1 << 20)
def _drawn(seed: int, agent: int) -> float:
    """A number in [0, 1) for an agent: its events are kept if it is below the share."""
    return int.from_bytes(sha256(f"log/{seed}/{agent}".encode()).digest()[:8], "big") / 2**64


@dataclass(frozen=True)
class Thinning:
    """Which events a log holds; `share` is None if it is those of all agents."""

    kinds: frozenset[type[events.Event]]
    share: float | None
    seed: int

    @classmethod
    def of(cls, scenario: dict[str, Any]) -> Thinning | None:
        """What a resolved scenario, as in a log's first line, says of its log; None if nothing is left out."""
        seed = scenario.get("seed", 0)
        if not isinstance(seed, int):
            raise LogError("its scenario's seed is not a whole number")
        try:
            return Log.model_validate(scenario.get("log", {})).thinning(seed)
        except ValidationError:
            raise LogError("its scenario's [log] is not one that this simnet can read") from None

    def keeps(self, event: Any) -> bool:
        """Whether the log holds an event."""
        if type(event) not in self.kinds:
            return False
        return getattr(event, "agent", None) is None or self.samples(events.sender(event))

    def picks(self, column: EventColumn) -> Rows:
        """Which events of a column the log holds."""
        if column.kind not in self.kinds:
            return np.empty(0, np.intp)
        if self.share is None:
            return np.arange(column.size)
        senders = column.senders
        return np.flatnonzero(_chosen(self, int(senders.max(initial=0)).bit_length())[senders])

    def samples(self, agent: int) -> bool:
        """Whether the log holds the events of an agent."""
        return self.share is None or _drawn(self.seed, agent) < self.share

    def __str__(self) -> str:
        missing = sorted(word for word, kinds in FAMILIES.items() if not kinds <= self.kinds)
        parts = [f"no {' and no '.join(missing)} events"] if missing else []
        if self.share is not None:
            parts.append(f"the events of about {100 * self.share:g} % of the agents only")
        return "the log is thinned: it holds " + ", and ".join(parts)


@lru_cache(maxsize=8)
def _chosen(thinning: Thinning, bits: int) -> npt.NDArray[np.bool_]:
    """Whether the log holds the events of each agent whose number has so many bits."""
    return np.array([thinning.samples(agent) for agent in range(1 << bits)])


def refuse_thinned(start: events.RunStarted) -> None:
    """LogError if a log does not hold everything that the run's figures are made of."""
    if thinning := Thinning.of(start.scenario):
        raise LogError(f"{thinning}; the figures of the run cannot be computed from it, they stand in its summary.json")


class Thinned:
    """Hands a subscriber what a thinned log holds, and nothing else."""

    def __init__(self, subscriber: Subscriber, thinning: Thinning) -> None:
        self.kinds = thinning.kinds
        self._subscriber = subscriber
        self._thinning = thinning
        self.picks = thinning.picks

    def __call__(self, seq: int, t: float, event: events.Event) -> None:
        if self._thinning.keeps(event):
            self._subscriber(seq, t, event)
