"""What a line can carry when its bandwidth changes, packet by packet: the arithmetic behind `simnet.network.rates`.

The points in time of a file are shared by all lines that it describes; a pace remembers only how much of them is taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from math import floor, inf

_ROUNDING = 1e-6
"""Bits: a packet that ends where a rate does must not wait for the next one because of a rounding."""


class Cycle:
    """Points in time that repeat for ever, numbered from the first one on."""

    __slots__ = ("_period", "_scale", "_shift", "_times")

    def __init__(self, times: Sequence[float], period: float, scale: float, shift: float) -> None:
        self._times, self._period, self._scale, self._shift = times, period, scale, shift

    def time(self, index: int) -> float:
        """When the point of this number is."""
        cycle, place = divmod(index, len(self._times))
        return (cycle * self._period + self._times[place]) / self._scale - self._shift

    def after(self, now: float) -> int:
        """The number of the first point that comes after now."""
        within = (now + self._shift) * self._scale
        cycle = floor(within / self._period)
        found = cycle * len(self._times) + bisect_right(self._times, within - cycle * self._period)
        # The division above may be off by a rounding; `time` decides.
        while self.time(found) <= now:
            found += 1
        while found > 0 and self.time(found - 1) > now:
            found -= 1
        return found


class Pace(ABC):
    """How much one line can carry when, and how much of it is taken."""

    @abstractmethod
    def begins(self, now: float) -> float:
        """When the first bit of a packet that is handed over now would leave."""

    @abstractmethod
    def serve(self, now: float, weight: int) -> float:
        """When the last bit leaves of so many bytes that are handed over now; they take their part of the line."""

    @abstractmethod
    def halt(self, now: float) -> None:
        """Let go of all that has not left."""


class OpportunityPace(Pace):
    """Bytes leave at points in time, as many as there are at each."""

    __slots__ = ("_at", "_cycle", "_left", "_upto")

    def __init__(self, cycle: Cycle, upto: Sequence[int]) -> None:
        """`upto` says how many bytes may leave from the start of a turn to each of its points."""
        self._cycle, self._upto = cycle, upto
        self._at, self._left = -1, 0
        """The last point of which bytes were taken, and what is left of it for whoever waited then."""

    def begins(self, now: float) -> float:
        return self._cycle.time(self._next(now)[0])

    def serve(self, now: float, weight: int) -> float:
        at, left = self._next(now)
        self._at, self._left = self._reaching(self._all_until(at) - left + weight)
        return self._cycle.time(self._at)

    def halt(self, now: float) -> None:
        self._at, self._left = self._cycle.after(now) - 1, 0

    def _next(self, now: float) -> tuple[int, int]:
        """The first point from which a packet that is handed over now may take bytes, and how many are left there."""
        if self._left and self._cycle.time(self._at) > now:
            return self._at, self._left
        at = max(self._at + 1, self._cycle.after(now))
        return at, self._all_until(at) - self._all_until(at - 1)

    def _all_until(self, index: int) -> int:
        """The bytes of all points up to this one."""
        cycle, place = divmod(index, len(self._upto))
        return cycle * self._upto[-1] + self._upto[place]

    def _reaching(self, total: int) -> tuple[int, int]:
        """The point at which so many bytes are reached, and how many more it has."""
        cycle, rest = divmod(total - 1, self._upto[-1])
        place = bisect_right(self._upto, rest)
        return cycle * len(self._upto) + place, self._upto[place] - rest - 1


class StepPace(Pace):
    """A bit rate that is constant between points in time."""

    __slots__ = ("_cycle", "_free", "_per_turn", "_rates")

    def __init__(self, cycle: Cycle, rates: Sequence[float]) -> None:
        self._cycle, self._rates = cycle, rates
        self._free = -inf
        self._per_turn = sum((self._end(at) - cycle.time(at)) * rate for at, rate in enumerate(rates))
        """Bits of all points once; infinite where the rate never changes."""

    def begins(self, now: float) -> float:
        time = max(now, self._free)
        at = self._cycle.after(time) - 1
        while not self._rates[at % len(self._rates)]:
            at += 1
            time = self._cycle.time(at)
        return time

    def serve(self, now: float, weight: int) -> float:
        time, bits = self.begins(now), weight * 8.0
        at = self._cycle.after(time) - 1
        turns = int(bits / self._per_turn) - 1
        if turns > 0:  # a packet may last for millions of them
            later = at + turns * len(self._rates)
            bits -= turns * self._per_turn
            time, at = time + (self._cycle.time(later) - self._cycle.time(at)), later
        while True:
            rate, end = self._rates[at % len(self._rates)], self._end(at)
            if rate and bits <= (end - time) * rate + _ROUNDING:
                self._free = min(time + bits / rate, end)
                return self._free
            bits -= (end - time) * rate
            time, at = end, at + 1

    def halt(self, now: float) -> None:
        self._free = min(self._free, now)

    def _end(self, at: int) -> float:
        """When the rate of this number ends; one that is alone never does."""
        return inf if len(self._rates) == 1 else self._cycle.time(at + 1)
