"""Of the values that agents use: how many rounds and seconds old they are, and how many are old because of the network.

A value is *missed* if its sender had made a newer release by then, of the user's round or an earlier one, and the user
does not have it. A value kept through a skip is old and not missed: nothing newer existed. A release of a later round
than the user's own is not missed either: nobody in that round asks for it.

Age in seconds counts from the release, or from the start of the run for the value that everybody starts with.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any


class _Releases:
    """Rounds and times of one agent's releases, in order."""

    __slots__ = ("rounds", "times")

    def __init__(self) -> None:
        self.rounds = array("L")
        self.times = array("d")


class UsedValues:
    """Counts values as they are used. However they come, together or one by one, the figures are the same."""

    def __init__(self) -> None:
        self._releases: list[_Releases] = []
        self._open: dict[int, Counter[int]] = {}
        self._missed_in: Counter[int] = Counter()
        self.staleness: Counter[int] = Counter()
        """How many values were how many rounds old."""
        self.missed = 0
        self._seconds = self._longest = 0.0

    def open(self, agents: int) -> None:
        """Start with so many agents."""
        self._releases = [_Releases() for _ in range(agents)]

    def released(self, t: float, agent: int, round: int) -> None:
        """An agent made a release."""
        found = self._releases[agent]
        found.rounds.append(round)
        found.times.append(t)

    def used(self, t: float, round: int, peers: Sequence[int], staleness: Sequence[int]) -> int:
        """A round used one value of each of these peers, so many rounds old; how many of them are missed."""
        stale = self._open.get(round)
        if stale is None:
            stale = self._open[round] = Counter()
        missed = 0
        for peer, behind in zip(peers, staleness, strict=True):
            stale[behind] += 1
            releases = self._releases[peer]
            rounds = releases.rounds
            value = len(rounds) - 1
            if value >= 0 and rounds[-1] != round - behind:
                value = bisect_right(rounds, round - behind) - 1
                missed += bisect_right(rounds, round) - 1 > value
            age = t - releases.times[value] if value >= 0 else t
            self._seconds += age
            if age > self._longest:
                self._longest = age
        if missed:
            self.missed += missed
            self._missed_in[round] += missed
        return missed

    def close(self, round: int) -> dict[str, Any]:
        """A round is over for everybody: what was used in it."""
        stale = self._open.pop(round, Counter())
        self.staleness.update(stale)
        return _histogram(stale) | {"missed_share": _share(self._missed_in.pop(round, 0), stale.total())}

    @property
    def so_far(self) -> Counter[int]:
        """How many values were how many rounds old, those of rounds that are not over included."""
        found = Counter(self.staleness)
        for stale in self._open.values():
            found.update(stale)
        return found

    def summary(self) -> dict[str, Any]:
        """All values of the run."""
        stale = self.so_far
        total = stale.total()
        seconds = {"mean_seconds": self._seconds / total if total else 0.0, "max_seconds": self._longest}
        return _histogram(stale) | {"missed_share": _share(self.missed, total)} | seconds


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _histogram(counts: Counter[int]) -> dict[str, Any]:
    """Mean, 95th percentile, maximum and share of fresh values."""
    total = counts.total()
    if total == 0:
        return {"mean": 0.0, "p95": 0.0, "max": 0, "fresh_share": 1.0}
    below, p95 = 0, 0
    for value in sorted(counts):
        below, p95 = below + counts[value], value
        if below >= 0.95 * total:
            break
    mean = sum(value * count for value, count in counts.items()) / total
    return {"mean": mean, "p95": float(p95), "max": max(counts), "fresh_share": counts[0] / total}
