"""Delays and losses of a crowd's messages, drawn ahead: the numbers that `simnet.network.draws` gives each link.

The k-th message of a link takes the k-th number of each of its streams. What is drawn ahead of all links would be much
for a long run, and a generator for each would be more. So a block is drawn at a time, of the sizes in which a link of
its own draws; for a later one the stream is drawn from its start again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simnet.learning.column_solver import Allot, Column
from simnet.network.draws import LINKS_AT_ONCE, PLAIN, JoinedStreams, Numbers, Source, uniform
from simnet.network.latency import Latency
from simnet.sim.crowd_graph import Directions, Places
from simnet.streams import Streams


class DelaysAhead:
    """The next delays of every link that is like all others; NaN for a message that is lost."""

    def __init__(
        self, latency: Latency, loss: float, streams: Streams, directions: Directions, rounds: int, allot: Allot
    ) -> None:
        self._latency, self._loss = latency, loss
        self._streams, self._directions = streams, directions
        (first,), block = PLAIN
        self._width = min(rounds, first) if rounds <= first else block
        agents, links = directions.agents, len(directions)
        self._constant = latency.constant if not loss else None
        self._table: Column = allot((0 if self._constant is not None else links, self._width), np.float64)
        self._next: Column = allot((agents,), np.int32)
        """Of each sender the column of its next message; all its links are at the same one."""
        self._next[:] = self._width
        self._blocks: Column = allot((agents,), np.int32)
        """How many have been drawn."""

    def prepare(self, first: int, last: int) -> None:
        """Draw what the next message of each of these senders needs, if it has not been drawn."""
        if self._constant is not None:
            return
        for sender in range(first, last, LINKS_AT_ONCE):
            some = np.arange(sender, min(sender + LINKS_AT_ONCE, last))
            due = some[self._next[some] == self._width]
            new = self._blocks[due] == 0
            for blocks in np.unique(self._blocks[due[~new]]).tolist():
                self._draw_again(due[self._blocks[due] == blocks], blocks)
            self._begin(due[new])

    def take(self, senders: Places, links: Places) -> Numbers:
        """The delay of the next message of each of these links, which are all that these senders have."""
        if self._constant is not None:
            return np.full(len(links), self._constant)
        found: Numbers = self._table[links, self._next[self._directions.sender[links]]]
        self._next[senders] += 1
        return found

    def _begin(self, senders: Places) -> None:
        """The first block of these senders' links."""
        links, size = self._links(senders), PLAIN[0][0]
        if len(links):
            names = [self._name(link) for link in links.tolist()]
            delays, losses = (JoinedStreams(self._streams, role, names) for role in ("latency", "loss"))
            self._keep(senders, links, self._numbers(delays, losses, size * len(links)).reshape(-1, size))

    def _draw_again(self, senders: Places, blocks: int) -> None:
        """The block after so many of these senders' links."""
        (first,), block = PLAIN
        links = self._links(senders)
        found = np.empty((len(links), block))
        for place, link in enumerate(links.tolist()):
            # Stream by stream: a visit to one ends that to the other.
            delays = self._streams.visit("latency", self._name(link))
            for size in (first, *[block] * blocks):
                found[place, :size] = self._latency.times(delays, size)
            if not self._loss:
                continue
            losses = self._streams.visit("loss", self._name(link))
            for size in (first, *[block] * blocks):
                lost = uniform(losses, size) < self._loss
            found[place, lost] = np.nan
        self._keep(senders, links, found)

    def _numbers(self, delays: Source, losses: Source, n: int) -> Numbers:
        under_way = self._latency.times(delays, n)
        return np.where(uniform(losses, n) < self._loss, np.nan, under_way) if self._loss else under_way

    def _keep(self, senders: Places, links: Places, drawn: Numbers) -> None:
        """Write a block to the end of the table's rows, or as much of it as a run can need."""
        begin = max(0, self._width - drawn.shape[1])
        self._table[links, begin:] = drawn[:, : self._width - begin]
        self._next[senders] = begin
        self._blocks[senders] += 1

    def _links(self, senders: Places) -> Places:
        first, last = self._directions.first[senders], self._directions.first[senders + 1]
        return ranges(first, last)

    def _name(self, link: int) -> str:
        return f"{self._directions.sender[link]}>{self._directions.receiver[link]}"


def ranges(first: npt.NDArray[np.intp], last: npt.NDArray[np.intp]) -> Places:
    """All numbers from each `first` up to its `last`, one range after the other."""
    sizes = last - first
    ends = np.cumsum(sizes)
    found: Places = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(first - (ends - sizes), sizes)
    return found
