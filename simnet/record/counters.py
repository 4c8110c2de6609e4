"""Counts of a run, agent by agent: flat lists, because a run adds to them with every message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

COUNTS = (
    *("broadcasts", "skips", "notices", "messages", "delivered", "lost", "overflowed", "unreachable"),
    *("retransmissions", "payload_bytes", "wire_bytes", "duplicates", "corrupted"),
)
"""What summary.json and the tables tell of communication, in their order, but for `in_flight`."""

OTHERS = ("releases", "staleness_sum", "values_used")


class Counters:
    """How often what happened at which agent; a message and its fate count where it was sent."""

    def __init__(self) -> None:
        self._of: dict[str, list[int]] = {name: [] for name in (*COUNTS, *OTHERS)}
        # What every message adds to, without a look-up.
        self._messages, self.delivered, self._lost = (self._of[name] for name in ("messages", "delivered", "lost"))
        self._payload_bytes, self._wire_bytes = self._of["payload_bytes"], self._of["wire_bytes"]
        self._staleness, self._used = self._of["staleness_sum"], self._of["values_used"]
        self.ages: dict[int, Counter[int]] = {}
        """Of each round that somebody is in: how many of the values used were how many rounds old."""

    def open(self, agents: int) -> None:
        """Start from nothing with so many agents."""
        for counts in self._of.values():
            counts[:] = [0] * agents

    def add(self, agent: int, name: str, amount: int = 1) -> None:
        self._of[name][agent] += amount

    def sent(self, agent: int, carries: str, messages: int, payload_bytes: int, wire_bytes: int) -> None:
        """An agent sent so many messages of one kind, with so many bytes in all."""
        self._messages[agent] += messages
        self._payload_bytes[agent] += payload_bytes
        self._wire_bytes[agent] += wire_bytes
        if carries == "notice":
            self.add(agent, "notices", messages)

    def lost(self, agent: int, reason: str | None) -> None:
        """A message of an agent was lost."""
        self._lost[agent] += 1
        if reason == "corrupted":
            self.add(agent, "corrupted")

    def used(self, agent: int, round: int, staleness: Sequence[int]) -> None:
        """A round of an agent used values so many rounds old."""
        total, number = sum(staleness), len(staleness)
        self._used[agent] += number
        ages = self.ages.get(round)
        if ages is None:
            ages = self.ages[round] = Counter()
        if not total:
            ages[0] += number
            return
        self._staleness[agent] += total
        for age in staleness:
            ages[age] += 1

    def of(self, agent: int, name: str) -> int:
        return self._of[name][agent]

    def total(self, name: str) -> int:
        return sum(self._of[name])

    def most(self, name: str) -> int:
        return max(self._of[name])

    def communication(self) -> dict[str, int]:
        """All counts of messages, with what is still on its way."""
        counts = {name: self.total(name) for name in COUNTS}
        met = counts["delivered"] + counts["lost"] + counts["overflowed"] + counts["unreachable"]
        counts["in_flight"] = counts["messages"] - met
        return {name: counts[name] for name in (*COUNTS[:8], "in_flight", *COUNTS[8:])}
