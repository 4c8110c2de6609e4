"""The phase before the first round, where there is one: rows travel to whoever computes with them."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from simnet.agent.port import Port, never
from simnet.network.row_reports import Reports
from simnet.privacy.ledger import Charge, Ledger
from simnet.record import events


@dataclass(frozen=True, eq=False)
class Reporting:
    """The phase before the first round: the reports of each agent's rows, None where they stay, and its end."""

    reports: Sequence[Reports | None]

    @property
    def begins(self) -> float:
        """When the first round begins: everybody waits for the slowest."""
        return max(found.ends for found in self.reports if found is not None)


async def after_reports(
    program: Coroutine[Any, Any, None],
    port: Port,
    reports: Reports | None,
    begins: float,
    charges: Sequence[Charge],
    ledger: Ledger,
) -> None:
    """Pay for the reports of an agent's rows, wait for them, and run `program` once everybody's are in.

    An agent whose rows stay where they are has no reports and waits for the others'.
    """
    me = port.agent
    ledger.spend(*charges)
    for charge in charges:
        port.emit(events.PrivacySpent(me, 0, charge.kind, charge.mechanism, dict(charge.parameters), charge.times))
    if reports is not None:
        await port.until(never, reports.ends)
        delivered, lost = reports.delivered, reports.messages - reports.delivered
        size = (reports.payload_bytes, reports.wire_bytes)
        port.emit(events.ReportsGathered(me, reports.messages, delivered, lost, *size))
    await port.until(never, begins)
    await program
