"""When the messages of a link arrive, and whether: delays and losses in one sequence, NaN for a message that is lost.

This is for messages of one packet each that are lost independently. Two streams in one sequence, because what a large
network costs is the memory of its links, and how much of it is touched.

Most links of a network carry messages, and soon. So the first numbers of some dozens of links that are alike are drawn
together, when one of them is asked for: what a formula costs for so few numbers is its call. Each link's numbers are
those of its own streams all the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from simnet.network.draws import PLAIN, Abreast, Source, uniform
from simnet.network.latency import Latency
from simnet.network.model import LinkModel
from simnet.streams import Streams

MANY = 64
"""Links drawn together: enough to share the cost of a call, few enough for a small network not to pay for others."""


class Luck:
    """What links have in common that are alike: how their messages are delayed and lost."""

    __slots__ = ("_latency", "_loss", "_waiting", "streams")

    def __init__(self, latency: Latency, loss: float, streams: Streams) -> None:
        self._latency, self._loss = latency, loss
        self.streams = streams
        self._waiting: list[_Fates] = []

    @classmethod
    def on(cls, model: LinkModel, streams: Streams) -> Luck | None:
        """That of links like this; None if nothing is lost on them, or not independently."""
        loss = model.loss.independent
        return cls(model.latency, loss, streams) if loss else None

    @property
    def full(self) -> bool:
        """Whether further links should have another one."""
        return len(self._waiting) >= MANY

    def of(self, name: str) -> Iterator[float]:
        """The delays of the link `name`, message by message, for ever."""
        fates = _Fates(self, name)
        self._waiting.append(fates)
        # A chain of blocks is walked without a Python frame a number.
        return chain.from_iterable(fates)

    def begin(self) -> None:
        """Draw the first block of all links that wait for it."""
        waiting, self._waiting = self._waiting, []
        names = [fates.name for fates in waiting]
        (first,), _ = PLAIN
        delays, losses = (Abreast(self.streams, role, names) for role in ("latency", "loss"))
        numbers = self.draw(delays, losses, first * len(names))
        for place, fates in enumerate(waiting):
            fates.block = numbers[place * first : (place + 1) * first]

    def draw(self, delays: Source, losses: Source, n: int) -> array[float]:
        """The fates of `n` messages, without an object each."""
        under_way, lost = self._latency.draw(delays, n), uniform(losses, n) < self._loss
        return array("d", np.where(lost, np.nan, under_way).tobytes())


_NOTHING: array[float] = array("d")


class _Fates:
    """The blocks of one link; the generators for more than the first are made when it is used up."""

    __slots__ = ("_luck", "_rngs", "block", "name")

    def __init__(self, luck: Luck, name: str) -> None:
        self._luck = luck
        self.name = name
        self.block: array[float] | None = None
        """The first one, once it is drawn, until it is handed out."""
        self._rngs: tuple[np.random.Generator, np.random.Generator] | None = None

    def __iter__(self) -> Iterator[Iterable[float]]:
        return self

    def __next__(self) -> array[float]:
        luck, (first, block) = self._luck, PLAIN
        if self.block is None:
            luck.begin()
        if self.block:
            found, self.block = self.block, _NOTHING
            return found
        if self._rngs is None:
            self._rngs = luck.streams.generator("latency", self.name), luck.streams.generator("loss", self.name)
            luck.draw(*self._rngs, *first)
        return luck.draw(*self._rngs, block)
