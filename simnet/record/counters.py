"""How often what happened at which agent: what summary.json and the tables tell of communication and of values."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from simnet.record.event_columns import EventColumn, Whole
from simnet.record.events import FATES, MessageDelivered, MessageLost, MessageSent, ValueUsed
from simnet.record.used_values import UsedValues

COUNTS = (
    *("broadcasts", "skips", "notices", "messages", "delivered", "lost", "overflowed", "unreachable"),
    "refused",
    *("retransmissions", "payload_bytes", "wire_bytes", "offered_bytes", "duplicates", "corrupted", "transmissions"),
)
"""What summary.json and the tables tell of communication, in their order, but for `in_flight`."""

_OTHERS = ("releases", "staleness_sum", "values_used", "missed", "gradients")


class Counters:
    """How often what happened at which agent; a message and its fate count where it was sent.

    Flat arrays, because a run adds to them with every message: in a large network lists would lead to numbers that lie
    anywhere.
    """

    def __init__(self) -> None:
        self._of = {name: array("q") for name in (*COUNTS, *_OTHERS)}
        # What every message adds to, without a look-up.
        self._messages, self.delivered, self._lost = (self._of[name] for name in ("messages", "delivered", "lost"))
        self._payload_bytes, self._wire_bytes = self._of["payload_bytes"], self._of["wire_bytes"]
        self._offered_bytes = self._of["offered_bytes"]
        self._staleness, self._used = self._of["staleness_sum"], self._of["values_used"]
        self._transmissions = self._of["transmissions"]
        self.values = UsedValues()

    def open(self, agents: int) -> None:
        """Start from nothing with so many agents."""
        for counts in self._of.values():
            counts[:] = array("q", [0]) * agents
        self.values.open(agents)

    def add(self, agent: int, name: str, amount: int = 1) -> None:
        self._of[name][agent] += amount

    def released(self, t: float, agent: int, round: int) -> None:
        """An agent let a model out."""
        self.add(agent, "releases")
        self.values.released(t, agent, round)

    def sent(
        self,
        agent: int,
        carries: str,
        messages: int,
        transmissions: int,
        payload_bytes: int,
        wire_bytes: int,
        offered_bytes: int,
    ) -> None:
        """An agent sent so many messages of one kind in so many transmissions, with so many bytes in all."""
        self._transmissions[agent] += transmissions
        self._messages[agent] += messages
        self._payload_bytes[agent] += payload_bytes
        self._wire_bytes[agent] += wire_bytes
        self._offered_bytes[agent] += offered_bytes
        if carries == "notice":
            self.add(agent, "notices", messages)

    def lost(self, agent: int, reason: str | None, unsent: int) -> None:
        """A message of an agent was lost, of which so many bytes never left."""
        self._lost[agent] += 1
        self._wire_bytes[agent] -= unsent
        if reason == "corrupted":
            self.add(agent, "corrupted")

    def used(self, t: float, agent: int, round: int, peers: Sequence[int], staleness: Sequence[int]) -> None:
        """A round of an agent used a value of each of these neighbours, so many rounds old."""
        self._used[agent] += len(peers)
        self._staleness[agent] += sum(staleness)
        if missed := self.values.used(t, round, peers, staleness):
            self.add(agent, "missed", missed)

    def add_all(self, agents: Whole, name: str, amounts: int | Whole = 1) -> None:
        """The same for many agents at once; one may be among them several times."""
        if not len(agents):
            return
        counts = np.frombuffer(self._of[name], np.int64)
        first, last = int(agents.min()), int(agents.max()) + 1
        if np.ndim(amounts):
            # Sums of whole numbers below 2⁵³ are exact in float64.
            counts[first:last] += np.bincount(agents - first, amounts).astype(np.int64)
        else:
            counts[first:last] += np.bincount(agents - first) * amounts

    def tell(self, column: EventColumn) -> None:
        """Count messages that were sent, delivered or lost, or values that were used."""
        _COLUMNS[column.kind](self, column)

    def _sent_together(self, column: EventColumn) -> None:
        agents, fields = column.array("agent"), column.fields
        for name in ("payload_bytes", "wire_bytes", "offered_bytes"):
            self.add_all(agents, name, _whole(fields[name]))
        self.add_all(agents, "messages")
        self.add_all(agents, "transmissions", np.sign(_whole(fields["wire_bytes"])))
        if fields["carries"] == "notice":
            self.add_all(agents, "notices")

    def _delivered_together(self, column: EventColumn) -> None:
        self.add_all(column.senders, "delivered")

    def _lost_together(self, column: EventColumn) -> None:
        self.add_all(column.senders, "lost")

    def _used_together(self, column: EventColumn) -> None:
        agents, staleness, round = column.array("agent"), column.array("staleness"), _whole(column.fields["round"])
        assert isinstance(round, int), "all are in one round"
        self.add_all(agents, "values_used")
        self.add_all(agents, "staleness_sum", staleness)
        missed = self.values.used_together(column.at, round, column.array("peer"), staleness)
        self.add_all(agents, "missed", missed)

    def __getitem__(self, name: str) -> Sequence[int]:
        """A count of each agent."""
        return self._of[name]

    def communication(self) -> dict[str, int]:
        """All counts of messages, with what is still on its way."""
        counts = {name: sum(self._of[name]) for name in COUNTS}
        counts["in_flight"] = counts["messages"] - sum(counts[fate] for fate in FATES.values())
        return {name: counts[name] for name in (*COUNTS[:9], "in_flight", *COUNTS[9:])}


def _whole(field: object) -> int | Whole:
    assert isinstance(field, int | np.ndarray), "a whole number, or one for each event"
    return field


_COLUMNS = {
    MessageSent: Counters._sent_together,
    MessageDelivered: Counters._delivered_together,
    MessageLost: Counters._lost_together,
    ValueUsed: Counters._used_together,
}
