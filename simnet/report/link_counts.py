"""What every link carried, both directions together."""

from __future__ import annotations

from typing import Any

from simnet.record import events
from simnet.record.metrics import Row
from simnet.report.flow import FATES

_COUNTS = ("messages", *FATES.values(), "retransmissions", "wire_bytes")


class LinkCounts:
    """A subscriber that counts messages, their fates and bytes by link."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], Row] = {}

    def __call__(self, _seq: int, _t: float, event: events.Event) -> None:
        kind = type(event)
        if kind in FATES:
            self._row(event)[FATES[kind]] += 1
        elif isinstance(event, events.MessageSent):
            row = self._row(event)
            row["messages"] += 1
            row["wire_bytes"] += event.wire_bytes
        elif isinstance(event, events.MessageRetransmitted):
            row = self._row(event)
            row["retransmissions"] += 1
            row["wire_bytes"] += event.wire_bytes
        elif isinstance(event, events.RunStarted):
            self._rows = {(a, b): {"a": a, "b": b} | dict.fromkeys(_COUNTS, 0) for a, b in event.edges}

    def _row(self, event: Any) -> Row:
        a, b = event.agent, event.peer
        return self._rows[(a, b) if a < b else (b, a)]

    @property
    def rows(self) -> list[Row]:
        """A row a link, in the order of `run.started`; `failed_share` is of the messages that met a fate."""
        return [row | {"failed_share": _failed_share(row)} for row in self._rows.values()]


def _failed_share(row: Row) -> float:
    failed = row["lost"] + row["overflowed"] + row["unreachable"]
    met = failed + row["delivered"]
    return failed / met if met else 0.0
