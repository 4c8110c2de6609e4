"""What each link of a run carried, for its page."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from simnet.record import events
from simnet.record.events import FATES
from simnet.record.link_numbers import LinkNumbers
from simnet.record.metrics import Row

_COUNTED: dict[type[events.Event], str] = {
    events.MessageSent: "messages",
    **FATES,
    events.MessageRetransmitted: "retransmissions",
}
"""What is counted of a link, and under which name."""


class LinkCounts:
    """A subscriber that counts messages, their fates and bytes by link."""

    def __init__(self) -> None:
        self._numbers = LinkNumbers(0)
        self._ends: list[tuple[int, int]] = []
        self._of = {name: array("q") for name in (*_COUNTED.values(), "wire_bytes")}

    def __len__(self) -> int:
        return len(self._ends)

    def __call__(self, _seq: int, _t: float, event: events.Event) -> None:
        if isinstance(event, events.OfMessage):
            link = self._link(event.agent, event.peer)
            if name := _COUNTED.get(type(event)):
                self._of[name][link] += 1
            if isinstance(event, (events.MessageSent, events.MessageRetransmitted)):
                self._of["wire_bytes"][link] += event.wire_bytes
            elif isinstance(event, (events.MessageLost, events.MessageUnreachable)):
                self._of["wire_bytes"][link] -= event.unsent_bytes
        elif isinstance(event, events.PacketsSent):
            self._of["wire_bytes"][self._link(event.agent, event.peer)] += event.wire_bytes - event.unsent_bytes
        elif isinstance(event, events.RunStarted):
            self._numbers, self._ends = LinkNumbers(len(event.rows)), event.edges
            for a, b in event.edges:
                self._numbers.add(a, b)
            self._of = {name: array("q", [0]) * len(event.edges) for name in self._of}

    def _link(self, agent: int, peer: int) -> int:
        number = self._numbers.get(agent, peer)
        if number is None:
            raise LookupError(f"there is no link between agents {agent} and {peer}")
        return number

    def rows(self, most: int | None = None) -> list[Row]:
        """One row per link, in the order of `run.started`; of more than `most` those with the most messages first.

        `failed_share` is among messages that met a fate.
        """
        every: Iterable[int] = range(len(self))
        if most is not None and len(self) > most:
            every = np.argsort(-np.array(self._of["messages"]), kind="stable")[:most].tolist()
        return [self._row(link) for link in every]

    def _row(self, link: int) -> Row:
        a, b = self._ends[link]
        row: Row = {"a": a, "b": b} | {name: counts[link] for name, counts in self._of.items()}
        failed = row["lost"] + row["overflowed"] + row["unreachable"] + row["refused"]
        met = failed + row["delivered"]
        return row | {"failed_share": failed / met if met else 0.0}
