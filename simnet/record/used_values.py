"""Of the values that agents use: how many rounds and seconds old they are, and how many are old because of the network.

A value is *missed* if its sender had made a newer release by then, of the user's round or an earlier one, and the user
does not have it. A value kept through a skip is old and not missed: nothing newer existed. A release of a later round
than the user's own is not missed either: nobody in that round asks for it.

Age in seconds counts from the release, or from the start of the run for the value that everybody starts with. Its 95th
percentile comes from a histogram whose bins split every power of two into `BINS` equal parts, so it takes the same
memory however long the run is, histograms add up, and no logarithm rounds differently on another machine. The figure is
the upper end of the bin that the percentile lies in, or the greatest age if that is less: never below the percentile,
and above it by at most one part in `BINS`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from math import ldexp
from typing import Any

import numpy as np

BINS = 128
"""Bins per power of two."""
_NO_AGE = -(1 << 20)
"""The bin of age 0, below every other."""
_TOGETHER = 1024
"""Ages that are sorted into bins together."""


class _Ages:
    """Ages in seconds of the values of one round, or of all."""

    __slots__ = ("bins", "longest", "new", "total")

    def __init__(self) -> None:
        self.bins: Counter[int] = Counter()
        self.new = array("d")
        """Ages that are not in bins yet: many are sorted into them at the price of one."""
        self.total = self.longest = 0.0

    def sort(self) -> None:
        """Put the new ages into their bins."""
        ages = np.array(self.new)
        fractions, powers = np.frexp(ages)
        places = powers.astype(np.int64) * BINS + (fractions * 2 * BINS).astype(np.int64)
        self.bins.update(np.where(ages > 0, places, _NO_AGE).tolist())
        self.new = array("d")

    def add(self, other: _Ages) -> None:
        other.sort()
        self.bins.update(other.bins)
        self.total += other.total
        self.longest = max(self.longest, other.longest)

    def figures(self, values: int) -> dict[str, float]:
        self.sort()
        if not values:
            return {"mean_seconds": 0.0, "p95_seconds": 0.0, "max_seconds": 0.0}
        p95 = min(self.longest, _upper_end(_percentile(self.bins, 95)))
        return {"mean_seconds": self.total / values, "p95_seconds": p95, "max_seconds": self.longest}


class UsedValues:
    """Counts values as they are used. However they come, together or one by one, the figures are the same."""

    def __init__(self) -> None:
        self._rounds: list[array[int]] = []
        """Of each agent's releases, in order; `_times` has their times."""
        self._times: list[array[float]] = []
        self._last_round, self._last_time = array("I"), array("d")
        """Of each agent's newest release, 0 if there is none: of nearly all values that are used. They lie together,
        because in a large network every visit to somewhere else is slow."""
        self._open: dict[int, tuple[Counter[int], _Ages]] = {}
        self._missed_in: Counter[int] = Counter()
        self.staleness: Counter[int] = Counter()
        """How many values were how many rounds old."""
        self.missed = 0
        self._ages = _Ages()

    def open(self, agents: int) -> None:
        """Start with so many agents."""
        self._rounds = [array("I") for _ in range(agents)]
        self._times = [array("d") for _ in range(agents)]
        self._last_round, self._last_time = array("I", [0]) * agents, array("d", [0.0]) * agents

    def released(self, t: float, agent: int, round: int) -> None:
        """An agent made a release."""
        self._rounds[agent].append(round)
        self._times[agent].append(t)
        self._last_round[agent], self._last_time[agent] = round, t

    def used(self, t: float, round: int, peers: Sequence[int], staleness: Sequence[int]) -> int:
        """A round used one value of each of these peers, so many rounds old; how many of them are missed."""
        found = self._open.get(round)
        if found is None:
            found = self._open[round] = Counter(), _Ages()
        stale, ages = found
        total, longest, new, missed = ages.total, ages.longest, ages.new, 0
        last_round, last_time = self._last_round, self._last_time
        for peer, behind in zip(peers, staleness, strict=True):
            stale[behind] += 1
            if last_round[peer] == round - behind:
                age = t - last_time[peer]
            else:
                rounds = self._rounds[peer]
                value = bisect_right(rounds, round - behind) - 1
                missed += bisect_right(rounds, round) - 1 > value
                age = t - self._times[peer][value] if value >= 0 else t
            total += age
            if age > longest:
                longest = age
            new.append(age)
        ages.total, ages.longest = total, longest
        if len(new) > _TOGETHER:
            ages.sort()
        if missed:
            self.missed += missed
            self._missed_in[round] += missed
        return missed

    def close(self, round: int) -> dict[str, Any]:
        """A round is over for everybody: what was used in it."""
        stale, ages = self._open.pop(round, (Counter(), _Ages()))
        self.staleness.update(stale)
        self._ages.add(ages)
        missed = _share(self._missed_in.pop(round, 0), stale.total())
        return _histogram(stale) | {"missed_share": missed} | ages.figures(stale.total())

    @property
    def so_far(self) -> Counter[int]:
        """How many values were how many rounds old, those of rounds that are not over included."""
        found = Counter(self.staleness)
        for stale, _ in self._open.values():
            found.update(stale)
        return found

    def summary(self) -> dict[str, Any]:
        """All values of the run."""
        stale, ages = self.so_far, _Ages()
        for each in (self._ages, *(ages for _, ages in self._open.values())):
            ages.add(each)
        total = stale.total()
        return _histogram(stale) | {"missed_share": _share(self.missed, total)} | ages.figures(total)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _percentile(counts: Counter[int], percent: int) -> int:
    """The least value such that at least so many in a hundred are not above it."""
    rank, below = -(-percent * counts.total() // 100), 0
    for value in sorted(counts):
        below += counts[value]
        if below >= rank:
            return value
    raise ValueError("nothing was counted")


def _upper_end(place: int) -> float:
    """The end of a bin: fraction·2^power, the fraction from ½ to 1 in steps of 1/(2·BINS)."""
    if place == _NO_AGE:
        return 0.0
    # A fraction from ½ on gives BINS to 2·BINS − 1.
    power, step = divmod(place - BINS, BINS)
    return ldexp((BINS + step + 1) / (2 * BINS), power)


def _histogram(counts: Counter[int]) -> dict[str, Any]:
    """Mean, 95th percentile, maximum and share of fresh values."""
    total = counts.total()
    if total == 0:
        return {"mean": 0.0, "p95": 0.0, "max": 0, "fresh_share": 1.0}
    mean = sum(value * count for value, count in counts.items()) / total
    p95 = float(_percentile(counts, 95))
    return {"mean": mean, "p95": p95, "max": max(counts), "fresh_share": counts[0] / total}
