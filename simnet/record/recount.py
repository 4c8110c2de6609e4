"""The figures of a saved log, block by block: what the bus is to a run, this is to its log.

Most of what happens is that a message is sent, arrives or is lost, and that a value is used. A run counts these four
without a record (`simnet.record.bus`), and so does this, by the same counters: the messages of a block together, in
any order, because they are only added up. Whatever else happens is told to the metrics one by one, as it was told to
them then. A used value is not counted later than that: how old it is depends on what had been released by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from simnet.record import events
from simnet.record.lines import READ, event_of
from simnet.record.metrics import Metrics

_SENT, _DELIVERED, _USED = READ[events.MessageSent], READ[events.MessageDelivered], READ[events.ValueUsed]
_SUMS = frozenset((READ[events.ReleaseMade], READ[events.EvaluationDone], READ[events.RunFinished]))
"""Before these, all values used so far have to be counted; before the last two, all messages too."""
_RELEASED = READ[events.ReleaseMade]
_SIZES = attrgetter("agent", "carries", "payload_bytes", "wire_bytes", "offered_bytes")


class Recount:
    """Tells metrics the lines of a log: `metrics` has the figures of all blocks so far."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self._told = frozenset(READ[kind] for kind in self.metrics.kinds)

    def __call__(self, lines: Sequence[Any]) -> None:
        """Count the lines of a block, as `READ` has them."""
        if self.metrics.observed is not None:  # who retraces what others saw has to see all of it
            for line in lines:
                self.metrics(line.seq, line.t, event_of(line))
            return
        sent_line, delivered_line, used_line, told, sums = _SENT, _DELIVERED, _USED, self._told, _SUMS
        metrics = self.metrics
        sent: list[Any] = []
        delivered: list[int] = []
        used: list[Any] = []
        for line in lines:
            kind = type(line)
            if kind is sent_line:
                sent.append(line)
            elif kind is delivered_line:
                delivered.append(line.peer)
            elif kind is used_line:
                used.append(line)
            elif kind in told:
                if kind in sums:
                    metrics.counters.used_in_turn(used)
                    used = []
                    if kind is not _RELEASED:
                        self._messages(sent, delivered)
                        sent, delivered = [], []
                metrics(line.seq, line.t, line)
        metrics.counters.used_in_turn(used)
        self._messages(sent, delivered)

    def _messages(self, sent: Iterable[Any], delivered: Iterable[int]) -> None:
        counters = self.metrics.counters
        for (agent, carries, payload, wire, offered), times in Counter(map(_SIZES, sent)).items():
            handed = wire if offered is None else offered
            counters.sent(agent, carries, times, times if wire else 0, times * payload, times * wire, times * handed)
        for agent, times in Counter(delivered).items():
            counters.delivered[agent] += times
