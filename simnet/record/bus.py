"""The event stream: numbers and times what happens, and tells everyone who listens.

The bus is the only way out of an engine. Every metric is a subscriber, and the same subscriber fed from a saved log
gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from simnet.record.events import Event

Subscriber = Callable[[int, float, Event], None]


class Bus:
    """Hands each event, with its sequence number and time, to all subscribers in order."""

    def __init__(self, *subscribers: Subscriber) -> None:
        self._subscribers = subscribers
        self._now = self._t = 0.0
        self.seq = 0

    def emit(self, now: float, event: Event) -> None:
        """Publish; times are kept to the nanosecond, so that the last bits of a logarithm do not matter."""
        self.seq = seq = self.seq + 1
        # Most events share their instant with the one before: rounding is paid once an instant. A clock may count in
        # integers or in numpy's floats; a log holds plain floats only.
        if now != self._now:
            self._now, self._t = now, round(float(now), 9)
        t = self._t
        for tell in self._subscribers:
            tell(seq, t, event)
