"""Lets faults happen: crashes, cut links, stragglers, at their times or at random.

A fault that happens again and again has a stream of its own, so that one fault changes nothing about another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from simnet.record import events
from simnet.sim.engine import VirtualEngine
from simnet.sim.flight import Receiver
from simnet.sim.sim_events import at

Kind = Literal["crash", "link-down", "partition", "straggler"]
Span = tuple[float, float]


@dataclass(frozen=True)
class Fault:
    """One thing that breaks: when, and what; `spans` are the times from, and until (infinite: for good)."""

    kind: Kind
    spans: Iterator[Span]
    agents: tuple[int, ...] = ()
    cut: tuple[tuple[int, int], ...] = ()
    """directions that carry nothing"""
    lost: bool = False
    factor: float = 1.0


def alternating(rng: np.random.Generator, without: float, lasting: float) -> Iterator[Span]:
    """Exponential times without the fault and with it, in turns."""
    now = 0.0
    while True:
        start = now + rng.exponential(without)
        now = start + rng.exponential(lasting)
        yield start, now


class Faults:
    """Schedules faults and brings them about."""

    def __init__(self, engine: VirtualEngine, faults: Sequence[Fault]) -> None:
        self._engine = engine
        for fault in faults:
            self._schedule(fault)

    def _schedule(self, fault: Fault) -> None:
        span = next(fault.spans, None)
        if span is not None:
            at(self._engine.env, span[0], lambda: self._begin(fault, span[1]))

    def _begin(self, fault: Fault, until: float) -> None:
        self._engine.emit(events.FaultBegan(fault.kind, *_place(fault)))
        if fault.kind == "crash":
            self._each(fault, lambda port: self._fall(port, lost=fault.lost, for_good=until == inf))
        elif fault.kind == "straggler":
            self._each(fault, lambda port: self._slow(port, fault.factor))
        for ends in fault.cut:
            self._engine.cut[ends] = self._engine.cut.get(ends, 0) + 1
        if until < inf:
            at(self._engine.env, until, lambda: self._end(fault))

    def _end(self, fault: Fault) -> None:
        self._engine.emit(events.FaultEnded(fault.kind, *_place(fault)))
        for ends in fault.cut:
            self._engine.cut[ends] -= 1
            if not self._engine.cut[ends]:
                del self._engine.cut[ends]
        if fault.kind == "crash":
            self._each(fault, self._rise)
        elif fault.kind == "straggler":
            self._each(fault, lambda port: self._slow(port, 1 / fault.factor))
        self._schedule(fault)

    def _each(self, fault: Fault, change: Callable[[Receiver], None]) -> None:
        for agent in fault.agents:
            change(self._engine.ports[agent])

    def _fall(self, port: Receiver, *, lost: bool, for_good: bool) -> None:
        port.fall(lost=lost)
        if port.down == 1 and not port.done:
            self._engine.meeting.expect(-1)
        if for_good and not port.gone and not port.done:
            port.gone = True
            self._engine.retire()
            for done in self._engine.scoreboard.excuse(port.agent):
                self._engine.emit(done)

    def _rise(self, port: Receiver) -> None:
        port.rise()
        if port.down == 0 and not port.done:
            self._engine.meeting.rejoin(port.agent)

    def _slow(self, port: Receiver, factor: float) -> None:
        port.slowness *= factor


def _place(fault: Fault) -> tuple[int | None, int | None, list[int] | None]:
    """Where it is, as an event tells it: an agent, a link, or the agents of one side."""
    if fault.kind == "partition":
        return None, None, list(fault.agents)
    if fault.kind == "link-down":
        return fault.cut[0][0], fault.cut[0][1], None
    return fault.agents[0], None, None
