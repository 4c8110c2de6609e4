"""The privacy ledger of a run, for its page."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from simnet.privacy.mechanisms import mechanism
from simnet.record import events
from simnet.record.metrics import PrivacyMeter, Row, claims_of

LISTED = 20_000
"""Charges that are priced one by one, and kinds of charges that are told apart: nobody reads a page that lists more."""


@dataclass
class _Uses:
    """Who made a kind of charge, in which rounds, and how often."""

    agents: set[int] = field(default_factory=set)
    rounds: set[int] = field(default_factory=set)
    charges: int = 0
    times: int = 0


class Charges:
    """A subscriber that keeps the privacy ledger of a run: every charge, and what its agent had spent after it."""

    def __init__(self, listed: int = LISTED) -> None:
        self._limit = listed
        self._meter = PrivacyMeter(0.5, 0)
        self._kinds: dict[tuple[str, tuple[tuple[str, float], ...], str], _Uses] = {}
        """By mechanism, parameters and what was paid for."""
        self._made = array("q")
        self.count = 0
        """Charges in all."""
        self._entries: list[Row] = []

    def __call__(self, _seq: int, _t: float, event: events.Event) -> None:
        if isinstance(event, events.RunStarted):
            self._made = array("q", [0]) * len(event.rows)
            delta = event.scenario["privacy"]["delta"]
            self._meter = PrivacyMeter(delta, len(event.rows), claims=claims_of(event))
        elif isinstance(event, events.PrivacySpent):
            self._spent(event)

    def _spent(self, event: events.PrivacySpent) -> None:
        self._meter.spend(event)
        self.count += 1
        self._made[event.agent] += 1
        kind = (event.mechanism, tuple(sorted(event.parameters.items())), event.spent_on)
        uses = self._kinds.get(kind)
        if uses is None and len(self._kinds) < self._limit:
            uses = self._kinds[kind] = _Uses()
        if uses is not None:
            uses.agents.add(event.agent)
            uses.rounds.add(event.round)
            uses.charges += 1
            uses.times += event.times
        if self.count <= self._limit:
            spent = self._meter.agent(event.agent)
            self._entries.append(
                {
                    "round": event.round,
                    "agent": event.agent,
                    "spent_on": event.spent_on,
                    "mechanism": event.mechanism,
                    "times": event.times,
                    **spent.figures(declares=True),
                }
            )

    @property
    def entries(self) -> list[Row]:
        """One row per charge, with what the agent's ε is after it; only the first ones if there are many."""
        unused = set() if self._meter.declares else {"declared_epsilon"}
        return [{name: value for name, value in row.items() if name not in unused} for row in self._entries]

    @property
    def kinds(self) -> list[Row]:
        """One row per mechanism with its numbers: who paid for it, in which rounds, how often, and by which theorem.

        Only the first ones if there are many.
        """
        return [
            {
                "mechanism": name,
                "spent_on": spent_on,
                "agents": _listed(uses.agents),
                "rounds": _listed(uses.rounds),
                "charges": uses.charges,
                "times": uses.times,
                "parameters": ", ".join(f"{key} = {value:.4g}" for key, value in parameters),
                "theorem": mechanism(name, dict(parameters)).theorem,
            }
            for (name, parameters, spent_on), uses in self._kinds.items()
        ]

    def accounts(self, agents: Iterable[int] | None = None) -> Iterator[Row]:
        """One row per agent, or for some: what it spent in all, and on which theorems that rests."""
        for agent in range(len(self._made)) if agents is None else agents:
            spent = self._meter.agent(agent)
            yield {
                "agent": agent,
                "charges": self._made[agent],
                **spent.figures(declares=self._meter.declares),
                "basis": spent.basis,
            }


def _listed(numbers: set[int]) -> str:
    """Numbers for people; those that follow each other are a range.

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
