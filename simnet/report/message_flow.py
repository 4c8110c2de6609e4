"""When messages met their fates, and how many were under way, interval by interval, for the page of a run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simnet.record import events
from simnet.record.events import FATES

_INTERVALS = 60


class MessageFlow:
    """A subscriber that counts the messages of each interval of a run that ends at `end`, which has to be known before.

    An event at an edge belongs to the interval that it ends, so that what happens in the last instant counts. A run
    that takes no time has one interval. Rows that travel before the first round are counted apart, in `reports`.
    """

    def __init__(self, end: float, count: int = _INTERVALS) -> None:
        timely = 0.0 < end < math.inf
        self.edges: list[float] = np.linspace(0.0, end, count + 1).tolist() if timely else [0.0, end]
        self._met = {fate: [0] * (len(self.edges) - 1) for fate in FATES.values()}
        self._most = [0] * (len(self.edges) - 1)
        self._place, self._now, self._level = 0, 0.0, 0
        self.reports = 0

    def __call__(self, _seq: int, t: float, event: events.Event) -> None:
        if t != self._now:
            self._go_on(t)
        if isinstance(event, events.MessageSent):
            self._level += 1
        elif (fate := FATES.get(type(event))) is not None:
            self._met[fate][self._place] += 1
            self._level -= 1
        elif isinstance(event, events.ReportsGathered):
            self.reports += event.messages

    def _go_on(self, t: float) -> None:
        """Another instant. Of what happened in the last one only the outcome counts.

        A message that met its fate in the instant in which it was sent was never under way.
        """
        self._most[self._place] = max(self._most[self._place], self._level)
        self._now = t
        while t > self.edges[self._place + 1]:
            self._place += 1
            # The messages that an interval begins with count in it too.
            self._most[self._place] = max(0, self._level)

    def intervals(self) -> dict[str, Any]:
        """Edges of the intervals, messages of each fate in each, and the most that were under way at once in each.

        Under way is what is queued at its sender, or on the line.
        """
        self._go_on(self.edges[-1])
        return {"edges": self.edges, "under_way": [*self._most]} | {fate: [*met] for fate, met in self._met.items()}
