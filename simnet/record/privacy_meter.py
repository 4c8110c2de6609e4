"""ε over time, from `privacy.spent` events alone."""

from __future__ import annotations

from functools import lru_cache

from simnet.privacy.ledger import Account, Charge, Kind, Ledger, network, network_of
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
        charge = _checked(event.mechanism, event.spent_on, event.times, *event.parameters.items())
        self._ledgers[event.agent].spend(charge)
        if event.mechanism == "trusted-upload":
            self._entrusted.add(event.agent)

    def agent(self, agent: int) -> Account:
        """What has been spent of one agent's rows: by itself, and by the hub if it has entrusted them to one."""
        mine = self._ledgers[agent].account()
        return network([self._ledgers[HUB].account(), mine]) if agent in self._entrusted else mine

    def network(self) -> Account:
        """What the network has spent: one row lives at one agent, so the worst agent counts."""
        return network_of(self._ledgers)


@lru_cache(maxsize=1 << 12)
def _checked(name: str, kind: Kind, times: int, *parameters: tuple[str, float]) -> Charge:
    """A charge; agents make the same ones over and over, and each is checked once."""
    return Charge.of(name, dict(parameters), kind, times)
