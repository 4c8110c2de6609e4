"""Rows that travel once, before the first round: users report to their server, leaves upload to their hub.

A report's fate follows from its line alone, so the whole phase is known before anything else happens, and the log holds
one line per agent instead of two per row. Reports are written in float64 whatever the codec of the rounds: a rounded
row may be longer than 1, and then every sensitivity is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simnet.agent.port import Port, never
from simnet.agent.program import record_charges
from simnet.network.frame import HEADER_BYTES
from simnet.network.link import Link, Passage
from simnet.network.model import LinkModel
from simnet.network.queueing import Departure
from simnet.privacy.ledger import Charge, Ledger
from simnet.record import events
from simnet.streams import Streams


@dataclass(frozen=True, eq=False)
class Reports:
    """What became of the reports of one agent's rows: which arrived, what they weighed, when the last was through."""

    arrived: npt.NDArray[np.bool_]
    payload_bytes: int
    wire_bytes: int
    offered_bytes: int
    ends: float

    @property
    def messages(self) -> int:
        return int(self.arrived.size)

    @property
    def delivered(self) -> int:
        return int(np.count_nonzero(self.arrived))


def from_users(model: LinkModel, streams: Streams, server: int, users: int, features: int) -> Reports:
    """Every user sends its row and label at time 0 over a line of its own; all those lines are alike."""
    size = HEADER_BYTES + row_bytes(features)
    line = Link(model, streams, f"users>{server}")
    departure = _unhindered(line, 0.0, size)
    return _summed((line.send(0.0, size, departure) for _ in range(users)), users, features)


def upload(model: LinkModel, streams: Streams, sender: int, hub: int, rows: int, features: int) -> Reports:
    """One sender's rows and labels, one message per row, one after another: the next starts when the last has left."""
    line = Link(model, streams, f"{sender}>{hub}/rows")
    size = HEADER_BYTES + row_bytes(features)

    def passages() -> Iterable[Passage]:
        now = 0.0
        for _ in range(rows):
            passage = line.send(now, size, _unhindered(line, now, size))
            now = passage.departs
            yield passage

    return _summed(passages(), rows, features)


def _unhindered(line: Link, now: float, size: int) -> Departure:
    """How a report leaves whose sender hands over each packet when the one before has left: no queue refuses it."""
    sender = line.transmitter
    return now, sender.unhindered(now, size), sender.packets(size), sender.on_wire(size), 0


def row_bytes(features: int) -> int:
    """The payload of a row and its label: two parts of float64 (`simnet.network.codec`)."""
    return 1 + 2 * 4 + 8 * (features + 1)


def _summed(passages: Iterable[Passage], rows: int, features: int) -> Reports:
    arrived = np.zeros(rows, dtype=np.bool_)
    wire, offered, ends = 0, 0, 0.0
    for index, passage in enumerate(passages):
        arrived[index] = passage.fate == "delivered"
        wire += passage.wire_bytes
        offered += passage.offered_bytes
        ends = max(ends, passage.arrives if arrived[index] else passage.departs)
    return Reports(arrived, rows * row_bytes(features), wire, offered, ends)


@dataclass(frozen=True, eq=False)
class Reporting:
    """The phase before the first round: the reports of each agent's rows, None where they stay, and its end."""

    reports: Sequence[Reports | None]

    @property
    def begins(self) -> float:
        """When the first round begins: everybody waits for the slowest."""
        return max(found.ends for found in self.reports if found is not None)


async def after_reports(
    program: Callable[[], Coroutine[Any, Any, None]],
    port: Port,
    reports: Reports | None,
    begins: float,
    charges: Sequence[Charge],
    ledger: Ledger,
) -> None:
    """Pay for the reports of an agent's rows, wait for them, and run `program` once everybody's are in.

    An agent whose rows stay where they are has no reports and waits for the others'.
    """
    ledger.spend(*charges)
    record_charges(0, charges, port)
    if reports is not None:
        await port.until(never, reports.ends)
        delivered, lost = reports.delivered, reports.messages - reports.delivered
        size = (reports.payload_bytes, reports.wire_bytes, reports.offered_bytes)
        port.emit(events.ReportsGathered(port.agent, reports.messages, delivered, lost, *size))
    await port.until(never, begins)
    await program()
