"""A plain store-and-forward network in exact arithmetic: what the packet carrier is compared with.

Lines hold their packets in a list and are woken by events of their own, where simnet's lines compute ahead. Numbers are
fractions, so nothing is rounded. A comparison with floats is fair unless two things happen at one line at one instant:
then rounding decides which comes first, and `ambiguous` says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count

NEAR = Fraction(1, 10**9)


@dataclass
class Line:
    bandwidth: Fraction
    latency: Fraction
    limit: int | None
    by_bytes: bool = False
    waiting: list[tuple[int, int]] = field(default_factory=list)
    on_line: tuple[int, int] | None = None
    touched: Fraction = Fraction(-1)
    """when something last happened here"""
    entered: bool = False
    """it was a packet that came from its sender"""

    def has_room(self, size: int) -> bool:
        if self.on_line is None or self.limit is None:
            return True
        if self.by_bytes:
            return sum(weight for _, weight in self.waiting) + size <= self.limit
        return len(self.waiting) + 1 <= self.limit


@dataclass
class PlainNetwork:
    """`packets` are (time, route as line names, size), in the order of sending; `ends` is what became of each."""

    lines: dict[object, Line]
    packets: list[tuple[Fraction, list[object], int]]
    ends: dict[int, tuple[str, Fraction]] = field(default_factory=dict)
    ambiguous: bool = False

    def run(self) -> PlainNetwork:
        order = count()
        agenda: list[tuple[Fraction, int, str, int, int]] = []
        for number, (time, _, _) in enumerate(self.packets):
            heappush(agenda, (time, next(order), "node", number, 0))
        while agenda:
            now, _, what, number, hop = heappop(agenda)
            _, route, size = self.packets[number]
            if what == "node" and hop == len(route):
                self.ends[number] = ("delivered", now)
                continue
            line = self.lines[route[hop]]
            self._look(line, now, first=what == "node" and hop == 0)
            if what == "node" and not line.has_room(size):
                self.ends[number] = ("overflowed", now)
                continue
            if what == "node":
                line.waiting.append((number, size))
            else:
                line.on_line = None
                heappush(agenda, (now + line.latency, next(order), "node", number, hop + 1))
            if line.on_line is None and line.waiting:
                line.on_line = line.waiting.pop(0)
                next_number, next_size = line.on_line
                done = now + Fraction(next_size * 8) / line.bandwidth
                next_hop = self.packets[next_number][1].index(route[hop])
                heappush(agenda, (done, next(order), "done", next_number, next_hop))
        return self

    def _look(self, line: Line, now: Fraction, *, first: bool) -> None:
        """Whether rounding could have changed the order; packets of one sender enter in the order of sending."""
        if abs(now - line.touched) < NEAR and not (first and line.entered and line.touched == now):
            self.ambiguous = True
        line.touched, line.entered = now, first
