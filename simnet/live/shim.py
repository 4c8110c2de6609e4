"""What frames meet on their way to the channel: the links of the scenario, or nothing.

A link knows the fate of a message when it is sent (`simnet.network.link`). The shim keeps a frame until its link would
have delivered it and only then hands it to the channel, and never hands over what the link loses. Each link draws on
its own random streams, as in a simulation, so that the k-th message of a link meets the same delay and the same loss.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import groupby

from msgspec.structs import replace

from simnet.live.machine import HERE, Machine
from simnet.network.frame import HEADER_BYTES, decode
from simnet.network.link import Link, Passage
from simnet.record import events


class Clock:
    """Seconds since `epoch` (a Unix time); never less than `floor`, and never backwards."""

    def __init__(self, epoch: float, floor: float = 0.0, machine: Machine = HERE) -> None:
        self._ticks = machine.ticks
        self._offset = machine.now() - machine.ticks() - epoch
        self._floor = floor

    @property
    def now(self) -> float:
        self._floor = max(self._floor, self._ticks() + self._offset)
        return self._floor


@dataclass(frozen=True)
class Numbering:
    """Message numbers that both ends can compute: in each round a sender uses one per neighbour."""

    neighbours: Mapping[int, Sequence[int]]

    def __call__(self, sender: int, peer: int, round: int) -> int:
        others = self.neighbours[sender]
        return (round - 1) * len(others) + others.index(peer) + 1


@dataclass(eq=False)
class Carrier:
    """Takes frames to the neighbours at once: the real network is what it is."""

    send: Callable[[int, bytes], None]

    def offer(self, now: float, sizes: Mapping[int, int]) -> dict[int, Passage]:
        """What becomes of a round's frames, by neighbour; a link draws on its random streams."""
        return {peer: Passage("delivered", now, now, now, 1, size) for peer, size in sizes.items()}

    def launch(self, round: int, frames: Mapping[int, bytes], passages: Mapping[int, Passage]) -> None:
        """Send the frames: each meets what its passage says."""
        for peer, raw in frames.items():
            self.send(peer, raw)

    def recall(self, past: Iterable[tuple[float, events.Event]]) -> dict[tuple[int, int], Passage]:
        """Come to the state after these events; the passages of the messages among them, by round and neighbour."""
        sent = ((t, event) for t, event in past if isinstance(event, events.MessageSent))
        passages: dict[tuple[int, int], Passage] = {}
        for round, group in groupby(sent, key=lambda entry: entry[1].round):
            messages = list(group)
            now = messages[0][0]
            sizes = {event.peer: HEADER_BYTES + event.payload_bytes for _, event in messages}
            passages |= {(round, peer): passage for peer, passage in self.offer(now, sizes).items()}
        return passages

    @property
    def waiting(self) -> dict[int, tuple[bytes, ...]]:
        """Frames that have not left yet, by neighbour."""
        return {}


@dataclass(eq=False)
class Shim(Carrier):
    """Takes them as the links of the scenario would, by neighbour; inside a running event loop.

    `note` puts a fate on the record, `send` is the channel's, and `fail` hears of what either raises later on.
    """

    agent: int
    links: Mapping[int, Link]
    clock: Clock
    numbering: Numbering
    note: Callable[[events.Event], None]
    fail: Callable[[BaseException], None]
    shared_medium: bool = False

    def __post_init__(self) -> None:
        self._waiting: dict[int, list[tuple[float, int, bytes]]] = {peer: [] for peer in self.links}
        """Heaps: when a frame is due, how many were launched before it, and its bytes."""
        self._launched = 0

    def offer(self, now: float, sizes: Mapping[int, int]) -> dict[int, Passage]:
        if not self.shared_medium:
            return {peer: self.links[peer].send(now, size) for peer, size in sizes.items()}
        # One transmission that every peer hears over its own wire; its bytes are counted with the first message.
        first, size = next(iter(sizes.items()))
        departure = self.links[first].admit(now, size)
        passages = {peer: self.links[peer].send(now, size, departure) for peer in sizes}
        return {peer: passage if peer == first else replace(passage, packets=0) for peer, passage in passages.items()}

    def launch(self, round: int, frames: Mapping[int, bytes], passages: Mapping[int, Passage]) -> None:
        for peer, raw in frames.items():
            passage, where = passages[peer], (self.agent, round, peer, self.numbering(self.agent, peer, round))
            if passage.fate == "overflowed":
                self.note(events.MessageOverflowed(*where))
            elif passage.fate == "lost":
                self._at(passage.departs, self.note, events.MessageLost(*where))
            elif passage.corrupted:
                self._at(passage.arrives, self.note, events.MessageLost(*where, "corrupted"))
            else:
                for arrives in (passage.arrives, *passage.copies):
                    self._launched += 1
                    heappush(self._waiting[peer], (arrives, self._launched, raw))
                    self._at(arrives, self._hand_over, peer, arrives)

    @property
    def waiting(self) -> dict[int, tuple[bytes, ...]]:
        return {peer: tuple(raw for _, _, raw in sorted(due)) for peer, due in self._waiting.items() if due}

    def _at(self, when: float, then: Callable[..., None], *arguments: object) -> None:
        def act() -> None:
            try:
                then(*arguments)
            except Exception as error:
                self.fail(error)  # a loop would only log it

        asyncio.get_running_loop().call_later(max(0.0, when - self.clock.now), act)

    def _hand_over(self, peer: int, now: float) -> None:
        """What is due by now, in order: a timer may be early by as much as a clock's grain, a frame never overtakes."""
        waiting = self._waiting[peer]
        while waiting and waiting[0][0] <= now:
            self.send(peer, heappop(waiting)[2])


def round_of(raw: bytes) -> int:
    """The round that a frame of ours is about."""
    return decode(raw).round
