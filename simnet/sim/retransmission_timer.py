"""RFC 6298: how long a sender waits for an acknowledgement."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simnet.sim.transport import Acknowledged

GRANULARITY = 1e-3
"""Of the clock, in seconds."""
LONGEST_TIMEOUT = 60.0


class HostLine:
    """What a host knows of its own line."""

    __slots__ = ("slowest",)

    def __init__(self) -> None:
        self.slowest = 0.0
        """longest time that a packet has spent in the queue and on the line"""


class RetransmissionTimer:
    """RFC 6298: the timeout, from measured round trips.

    Until one was measured it is `timeout`, or three times the longest stay of a packet on the host's own line, if that
    is longer: a first round trip of R gives 3 R (rule 2.2), and no round trip is shorter than that stay.
    """

    __slots__ = ("_doublings", "_host", "_rule", "smoothed", "variation")

    def __init__(self, rule: Acknowledged, host: HostLine) -> None:
        self._rule, self._host = rule, host
        self.smoothed: float | None = None
        self.variation = 0.0
        self._doublings = 0

    @property
    def seconds(self) -> float:
        """The timeout now."""
        rule = self._rule
        if self.smoothed is None:
            base = max(rule.timeout, 3 * self._host.slowest)
        else:
            base = max(rule.least_timeout, self.smoothed + max(GRANULARITY, 4 * self.variation))
        if not self._doublings:
            return base
        return min(base * rule.backoff**self._doublings, max(base, LONGEST_TIMEOUT))

    @property
    def backed_off(self) -> bool:
        return self._doublings > 0

    def sample(self, seconds: float) -> None:
        """A round trip took so long."""
        if self.smoothed is None:
            self.smoothed, self.variation = seconds, seconds / 2
        else:
            self.variation += (abs(self.smoothed - seconds) - self.variation) / 4
            self.smoothed += (seconds - self.smoothed) / 8
        self._doublings = 0

    def back_off(self) -> None:
        self._doublings += 1

    def forgive(self) -> None:
        """What was waited for was given up: the next segment starts with a plain timeout."""
        self._doublings = 0
