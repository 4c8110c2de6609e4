"""ε over time, from `privacy.spent` events alone."""

from __future__ import annotations

from simnet.privacy.ledger import Account, Charge, Ledger, network
from simnet.record.events import PrivacySpent


class PrivacyMeter:
    """Every agent's ledger, as an outsider can keep it."""

    def __init__(self, delta: float, agents: int) -> None:
        self._ledgers = [Ledger(delta) for _ in range(agents)]

    def spend(self, event: PrivacySpent) -> None:
        """Enter a charge."""
        charge = Charge.of(event.mechanism, event.parameters, event.spent_on, event.times)
        self._ledgers[event.agent].spend(charge)

    def agent(self, agent: int) -> Account:
        """What one agent has spent."""
        return self._ledgers[agent].account()

    def network(self) -> Account:
        """What the network has spent: one row lives at one agent, so the worst agent counts."""
        return network(ledger.account() for ledger in self._ledgers)
