"""The privacy ledger of a run: every charge, and what its agent had spent once it was made."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from simnet.privacy.mechanisms import mechanism
from simnet.record import events
from simnet.record.metrics import PrivacyMeter, Row

PRICED = 20_000
"""Charges that are priced one by one; a page that lists more is read by nobody."""


@dataclass(frozen=True)
class _Kind:
    mechanism: str
    parameters: tuple[tuple[str, float], ...]
    spent_on: str


class Charges:
    """A subscriber that keeps the ledgers."""

    def __init__(self, priced: int = PRICED) -> None:
        self._priced = priced
        self._meter = PrivacyMeter(0.5, 0)
        self._kinds: dict[_Kind, list[tuple[int, int, int]]] = {}
        self._agents = 0
        self._made: Counter[int] = Counter()
        self.count = 0
        self.entries: list[Row] = []
        """A row a charge, with the agent's claimed and proven ε after it; the first ones only if there are many."""

    def __call__(self, _seq: int, _t: float, event: events.Event) -> None:
        if isinstance(event, events.RunStarted):
            self._agents = len(event.rows)
            self._meter = PrivacyMeter(event.scenario["privacy"]["delta"], self._agents)
        elif isinstance(event, events.PrivacySpent):
            self._spent(event)

    def _spent(self, event: events.PrivacySpent) -> None:
        self._meter.spend(event)
        self.count += 1
        self._made[event.agent] += 1
        kind = _Kind(event.mechanism, tuple(sorted(event.parameters.items())), event.spent_on)
        self._kinds.setdefault(kind, []).append((event.agent, event.round, event.times))
        if self.count <= self._priced:
            spent = self._meter.agent(event.agent)
            self.entries.append(
                {
                    "round": event.round,
                    "agent": event.agent,
                    "spent_on": event.spent_on,
                    "mechanism": event.mechanism,
                    "times": event.times,
                    "claimed_epsilon": spent.claimed_epsilon,
                    "proven_epsilon": spent.proven_epsilon,
                }
            )

    @property
    def kinds(self) -> list[Row]:
        """A row a mechanism with its numbers: who paid for it, in which rounds, how often, and by which theorem."""
        return [
            {
                "mechanism": kind.mechanism,
                "spent_on": kind.spent_on,
                "agents": _listed({agent for agent, _, _ in uses}),
                "rounds": _listed({round for _, round, _ in uses}),
                "charges": len(uses),
                "times": sum(times for _, _, times in uses),
                "parameters": ", ".join(f"{name} = {value:.4g}" for name, value in kind.parameters),
                "theorem": mechanism(kind.mechanism, dict(kind.parameters)).theorem,
            }
            for kind, uses in self._kinds.items()
        ]

    @property
    def accounts(self) -> list[Row]:
        """A row an agent: what it spent in all, and on which theorems that rests."""
        accounts = [self._meter.agent(agent) for agent in range(self._agents)]
        return [
            {
                "agent": agent,
                "charges": self._made[agent],
                "claimed_epsilon": spent.claimed_epsilon,
                "proven_epsilon": spent.proven_epsilon,
                "basis": spent.basis,
            }
            for agent, spent in enumerate(accounts)
        ]


def _listed(numbers: set[int]) -> str:
    """Numbers for people: runs of them as a range.

    >>> _listed({1, 2, 3, 7})
    '1–3, 7'
    """
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{a}–{b}" if b > a else str(a) for a, b in spans)
