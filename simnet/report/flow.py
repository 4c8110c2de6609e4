"""When messages were sent and when they met their fate: counts an interval of simulated time."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import numpy.typing as npt

from simnet.record import events

FATES: dict[type[events.Event], str] = {
    events.MessageDelivered: "delivered",
    events.MessageLost: "lost",
    events.MessageOverflowed: "overflowed",
    events.MessageUnreachable: "unreachable",
}
"""Every way in which a message ends; one that is still under way at the end has no event."""

INTERVALS = 60


class Flow:
    """A subscriber that notes the times of messages; rows that travel before the first round are counted apart."""

    def __init__(self) -> None:
        self._sent = array("d")
        self._met = {fate: array("d") for fate in FATES.values()}
        self.reports = 0
        self.end = 0.0

    def __call__(self, _seq: int, t: float, event: events.Event) -> None:
        self.end = t
        if isinstance(event, events.MessageSent):
            self._sent.append(t)
        elif (fate := FATES.get(type(event))) is not None:
            self._met[fate].append(t)
        elif isinstance(event, events.ReportsGathered):
            self.reports += event.messages

    def intervals(self, count: int = INTERVALS) -> dict[str, Any]:
        """Edges of the intervals, messages of each fate in each, and the most that were under way at once in each.

        An event at an edge belongs to the interval that it ends, so that what happens in the last instant counts.
        A run that takes no time has one interval.
        """
        edges = np.linspace(0.0, self.end, count + 1) if self.end > 0.0 else np.zeros(2)
        met = {fate: _counts(times, edges) for fate, times in self._met.items()}
        return {"edges": edges.tolist(), "under_way": self._under_way(edges).tolist()} | {
            fate: counts.tolist() for fate, counts in met.items()
        }

    def _under_way(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """The most messages at once in each interval: queued at their sender, or on the line."""
        met = np.concatenate([_times(times) for times in self._met.values()])
        times = np.concatenate([_times(self._sent), met])
        steps = np.concatenate([np.ones(len(self._sent), np.int64), -np.ones(len(met), np.int64)])
        # Of what happens in one instant, fates come first: a message that meets its own at once is never under way.
        order = np.lexsort((steps, times))
        level, places = np.cumsum(steps[order]), _places(times[order], edges)
        most = np.zeros(len(edges) - 1, np.int64)
        np.maximum.at(most, places, level)
        # What an interval begins with was there in it too.
        started = np.concatenate([np.zeros(1, np.int64), level])[np.searchsorted(places, np.arange(len(most)))]
        return np.asarray(np.maximum(most, started), dtype=np.int64)


def _counts(times: array[float], edges: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.bincount(_places(_times(times), edges), minlength=len(edges) - 1)


def _places(times: npt.NDArray[np.float64], edges: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.asarray(np.searchsorted(edges[1:], times, side="left"), dtype=np.int64)


def _times(times: array[float]) -> npt.NDArray[np.float64]:
    return np.frombuffer(times) if times else np.empty(0)
