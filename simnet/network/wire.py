"""The way between two agents: how long a message is under way, and whether and how it arrives.

Of every stream that a wire uses, each message takes exactly one row whatever its fate, also a message that its
transmitter refused. So the k-th message of a link meets the same delay and the same luck in all runs of a seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from math import inf
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from simnet.network.draws import MIXED, one_by_one, uniform
from simnet.network.fates import Luck
from simnet.network.loss import Sampler
from simnet.network.model import LinkModel
from simnet.streams import Streams

Fate = Literal["delivered", "lost", "overflowed"]


class Passage(NamedTuple):
    """What becomes of one message; a time is infinite if the thing never happens.

    starts      the first bit leaves the sender
    departs     the last bit leaves the sender
    arrives     the last bit reaches the receiver
    packets     into how many the message is cut
    wire_bytes  what the line carries, overhead included; 0 if the queue refused the message
    corrupted   it arrives, and its checksum fails
    copies      when further copies of it arrive
    """

    fate: Fate
    starts: float
    departs: float
    arrives: float
    packets: int
    wire_bytes: int
    corrupted: bool
    copies: tuple[float, ...]


# A named tuple's own constructor takes twice as long.
_make = tuple.__new__


class Wire:
    """One direction between two agents, behind a transmitter.

    A copy of a message arrives with a delay of its own, not before the first, and outside the order: it delays nobody.
    """

    __slots__ = ("_delays", "_flaws", "_latest", "_lost", "_ordered")

    def __init__(
        self, model: LinkModel, streams: Streams, name: str, *, single: bool = False, luck: Luck | None = None
    ) -> None:
        """`single` if every message is one packet, whatever it goes through; `luck` if it is that of others as well."""
        latency = model.latency
        self._lost: Sampler | None = None
        luck = luck or Luck.on(model, streams) if single else None
        if luck is not None:
            self._delays: Iterator[float] = luck.of(name)
        else:
            self._lost = model.loss.sampler(streams, name)
            self._delays = (
                one_by_one(streams, "latency", name, latency.draw)
                if latency.constant is None
                else repeat(latency.constant)
            )
        self._flaws = _Flaws(model, streams, name) if model.duplication or model.corruption else None
        self._ordered = model.order == "fifo"
        self._latest = -inf

    @property
    def simple(self) -> bool:
        """One number decides when a message arrives, and whether."""
        return self._flaws is None and self._lost is None

    def carry(self, starts: float, departs: float, packets: int, wire_bytes: int) -> Passage:
        """The passage of the next message, from what `Transmitter.admit` said of it."""
        arrives = departs + next(self._delays)
        is_lost = arrives != arrives if self._lost is None else self._lost(packets)
        flaws = self._flaws
        corrupted, copy_delay = (False, inf) if flaws is None else flaws.draw(packets)
        if starts == inf:
            return _make(Passage, ("overflowed", inf, inf, inf, packets, 0, False, ()))
        if is_lost:
            return _make(Passage, ("lost", starts, departs, inf, packets, wire_bytes, False, ()))
        if self._ordered:
            if arrives < self._latest:
                arrives = self._latest
            else:
                self._latest = arrives
        copies = () if flaws is None or copy_delay == inf else (max(arrives, departs + copy_delay),)
        return _make(Passage, ("delivered", starts, departs, arrives, packets, wire_bytes, corrupted, copies))


class _Flaws:
    """Corruption and duplication on one wire; few have them."""

    __slots__ = ("_corruption", "_duplication", "_spoils", "_twins")

    def __init__(self, model: LinkModel, streams: Streams, name: str) -> None:
        def twin(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
            return np.column_stack((uniform(rng, n), model.latency.draw(rng, n))).ravel()

        self._corruption = model.corruption
        self._duplication = model.duplication
        self._spoils = one_by_one(streams, "corruption", name, uniform)
        self._twins = one_by_one(streams, "duplication", name, twin, MIXED)

    def draw(self, packets: int) -> tuple[bool, float]:
        """Whether a packet of the message is spoilt, and the delay of its copy (infinite: there is none)."""
        corrupted = next(self._spoils) < 1 - (1 - self._corruption) ** packets
        twin, delay = next(self._twins), next(self._twins)
        return corrupted, delay if twin < self._duplication else inf
