"""ε over time, from `privacy.spent` events alone."""

from __future__ import annotations

from simnet.privacy.ledger import Account, Charge, Ledger, network
from simnet.record.events import PrivacySpent

HUB = 0
"""The hub of a star."""


class PrivacyMeter:
    """Every agent's ledger, as an outsider can keep it."""

    def __init__(self, delta: float, agents: int) -> None:
        self._ledgers = [Ledger(delta) for _ in range(agents)]
        self._entrusted: set[int] = set()

    def spend(self, event: PrivacySpent) -> None:
        """Enter a charge."""
        charge = Charge.of(event.mechanism, event.parameters, event.spent_on, event.times)
        self._ledgers[event.agent].spend(charge)
        if event.mechanism == "trusted-upload":
            self._entrusted.add(event.agent)

    def agent(self, agent: int) -> Account:
        """What has been spent of one agent's rows: by itself, and by the hub if it has entrusted them to one."""
        mine = self._ledgers[agent].account()
        return network([self._ledgers[HUB].account(), mine]) if agent in self._entrusted else mine

    def network(self) -> Account:
        """What the network has spent: one row lives at one agent, so the worst agent counts."""
        return network(ledger.account() for ledger in self._ledgers)
