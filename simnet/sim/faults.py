"""[[fault]]: what breaks, when, and for how long.

A fault that happens again and again has a stream of its own, so that one fault changes nothing about another.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from simnet.errors import ScenarioError
from simnet.network.measured_times import Unit
from simnet.network.model import Ends, known_agents, known_link
from simnet.network.timetables import Span, Timetable, gaps, read_timetable, up_share
from simnet.parts.fields import FileName, Finder, Positive, PositiveSeconds, Seconds, Whole
from simnet.parts.part import OneOf, Part, table
from simnet.record import events
from simnet.streams import Streams

if TYPE_CHECKING:
    import networkx as nx

    from simnet.sim.engine import VirtualEngine

Place = tuple[int | None, int | None, list[int] | None]
"""Where it is, as an event tells it: an agent, a link, or the agents of one side."""


Outage = tuple[int | tuple[int, int], float, float]
"""An agent that stands still or a link that carries nothing; from when until when, in seconds."""


class Fault(Part):
    """Something that breaks. One of your own implements `outages`."""

    says: ClassVar[tuple[str, ...]] = ("outages", "happenings")
    halts: ClassVar[bool] = False
    """Whether agents stand still by it."""

    @property
    def loses_state(self) -> bool:
        """Whether an agent loses its model and dual by it."""
        return getattr(self, "state", "kept") == "lost"

    def outages(self, edges: nx.Graph[int], rng: np.random.Generator) -> Iterable[Outage]:
        """All that breaks by it in this graph."""
        raise NotImplementedError

    def happenings(self, index: int, edges: nx.Graph[int], streams: Streams, find: Finder) -> Iterator[Happening]:
        """What happens by it, and when; `index` is its place in the scenario. Refuses what is not in the topology."""
        for what, start, until in self.outages(edges, streams.generator("faults", str(index))):
            fault: SpanFault
            if isinstance(what, tuple):
                fault = LinkDown(kind="link-down", link=what, at=start)
            elif self.halts:
                fault = Crash(kind="crash", agent=what, at=start)
            else:
                raise ScenarioError(f"fault.{index}: agent {what} stands still by it, so it must say halts = True")
            fault.refuse_unknown(edges, f"fault.{index}")
            yield fault, iter([(float(start), float(until))])

    def told(self, index: int, edges: nx.Graph[int], find: Finder) -> str | None:
        """What its file says, in words; None if it has none."""
        return None


class SpanFault(Fault):
    """Once, `at` a time for a `duration`; or again and again, `every` so often on average, exponentially."""

    at: Seconds | None = Field(None, description="when it happens, once")
    every: PositiveSeconds | None = Field(None, description="mean time without it, exponential, again and again")
    duration: PositiveSeconds | None = Field(
        None, description="how long it lasts, with `every` on average, exponentially; for ever when absent"
    )

    @model_validator(mode="after")
    def _has_a_time(self) -> SpanFault:
        if (self.at is None) == (self.every is None):
            raise ValueError("at: give either `at` or `every`")
        if self.every is not None and self.duration is None:
            raise ValueError("duration: needed with `every`")
        return self

    def happenings(self, index: int, edges: nx.Graph[int], streams: Streams, find: Finder) -> Iterator[Happening]:
        self.refuse_unknown(edges, f"fault.{index}")
        yield self, self.spans(streams, str(index))

    def spans(self, streams: Streams, name: str) -> Iterator[Span]:
        """When it happens; `name` names its stream."""
        if self.at is not None:
            return iter([(self.at, inf if self.duration is None else self.at + self.duration)])
        assert self.every is not None
        assert self.duration is not None
        return alternating(streams.generator("faults", name), self.every, self.duration)

    @property
    @abstractmethod
    def place(self) -> Place:
        """Where it is."""

    @abstractmethod
    def refuse_unknown(self, edges: nx.Graph[int], where: str) -> None:
        """Refuse agents and links that are not in the topology; `where` is the fault's place in the scenario."""

    @abstractmethod
    def begin(self, engine: VirtualEngine, *, for_good: bool) -> None:
        """Break."""

    @abstractmethod
    def end(self, engine: VirtualEngine) -> None:
        """Be as before."""


Happening = tuple[SpanFault, Iterator[Span]]
"""A fault, and all the times at which it happens."""


class Crash(SpanFault):
    """An agent stops, and goes on after a while."""

    kind: Literal["crash"]
    halts: ClassVar[bool] = True
    agent: Whole = Field(description="which one")
    state: Literal["kept", "lost"] = Field("kept", description="whether model and dual survive; the ledger always does")

    @property
    def place(self) -> Place:
        return self.agent, None, None

    def refuse_unknown(self, edges: nx.Graph[int], where: str) -> None:
        known_agents([self.agent], edges, f"{where}.agent")

    def begin(self, engine: VirtualEngine, *, for_good: bool) -> None:
        port = engine.ports[self.agent]
        port.fall(lost=self.loses_state)
        engine.silence(self.agent, lost=self.loses_state or for_good)
        if port.down == 1 and not port.done:
            engine.meeting.expect(-1)
        if for_good and not port.gone and not port.done:
            port.gone = True
            engine.retire()
            engine.excuse(port.agent)

    def end(self, engine: VirtualEngine) -> None:
        port = engine.ports[self.agent]
        port.rise()
        if port.down == 0 and not port.done:
            engine.meeting.rejoin(port.agent)


class Churn(Fault):
    """Every agent is up and down in turns, for exponential times."""

    kind: Literal["churn"]
    halts: ClassVar[bool] = True
    up: PositiveSeconds = Field(description="mean time up")
    down: PositiveSeconds = Field(description="mean time down")
    agents: tuple[Whole, ...] = Field((), description="which ones; empty: all")
    state: Literal["kept", "lost"] = Field("kept", description="whether model and dual survive; the ledger always does")

    def happenings(self, index: int, edges: nx.Graph[int], streams: Streams, find: Finder) -> Iterator[Happening]:
        known_agents(self.agents, edges, f"fault.{index}.agents")
        for agent in self.agents or sorted(edges):
            crash = Crash(kind="crash", agent=agent, every=self.up, duration=self.down, state=self.state)
            yield crash, crash.spans(streams, f"{index}/{agent}")


class _Cut(SpanFault):
    """Some directions carry nothing; one that is cut twice is whole again when both cuts are over."""

    @abstractmethod
    def directions(self, engine: VirtualEngine) -> list[Ends]:
        """Those that it cuts."""

    def begin(self, engine: VirtualEngine, *, for_good: bool) -> None:
        for ends in self.directions(engine):
            engine.cut[ends] = engine.cut.get(ends, 0) + 1
            engine.sever(*ends)

    def end(self, engine: VirtualEngine) -> None:
        for ends in self.directions(engine):
            engine.cut[ends] -= 1
            engine.sever(*ends)
            if not engine.cut[ends]:
                del engine.cut[ends]


class LinkDown(_Cut):
    """A link carries nothing, in both directions."""

    kind: Literal["link-down"]
    link: tuple[Whole, Whole] = Field(description="the two agents")

    @property
    def place(self) -> Place:
        return *self.link, None

    def refuse_unknown(self, edges: nx.Graph[int], where: str) -> None:
        known_link(*self.link, edges, f"{where}.link")

    def directions(self, engine: VirtualEngine) -> list[Ends]:
        a, b = self.link
        return [(a, b), (b, a)]


class Partition(_Cut):
    """Nothing passes between some agents and all others."""

    kind: Literal["partition"]
    agents: tuple[Whole, ...] = Field(description="the agents of one side")

    @model_validator(mode="after")
    def _splits(self) -> Partition:
        if not self.agents:
            raise ValueError("agents: at least one")
        return self

    @property
    def place(self) -> Place:
        return None, None, sorted(set(self.agents))

    def refuse_unknown(self, edges: nx.Graph[int], where: str) -> None:
        known_agents(self.agents, edges, f"{where}.agents")

    def directions(self, engine: VirtualEngine) -> list[Ends]:
        side = frozenset(self.agents)
        return [(a, b) for a, peers in engine.links.items() for b in peers if (a in side) != (b in side)]


class Straggler(SpanFault):
    """An agent's local work takes longer."""

    kind: Literal["straggler"]
    agent: Whole = Field(description="which one")
    factor: Positive = Field(10.0, description="how many times longer")

    @property
    def place(self) -> Place:
        return self.agent, None, None

    def refuse_unknown(self, edges: nx.Graph[int], where: str) -> None:
        known_agents([self.agent], edges, f"{where}.agent")

    def begin(self, engine: VirtualEngine, *, for_good: bool) -> None:
        engine.ports[self.agent].slowness *= self.factor

    def end(self, engine: VirtualEngine) -> None:
        engine.ports[self.agent].slowness *= 1 / self.factor


class _Timetabled(Fault):
    """Up and down by a file."""

    ends: ClassVar[int]
    """How many agents a line names: one, or the two of a link."""

    file: FileName
    unit: Unit | None = Field(None, description="what the times count; seconds if absent")
    period: PositiveSeconds | None = Field(
        None, description="after which the file begins again; absent: after the last interval it is down for good"
    )

    def up_times(self, index: int, edges: nx.Graph[int], find: Finder) -> Timetable:
        """What the file says."""
        path = find(self.file)
        found = read_timetable(path, f"fault.{index}.file = {path}", self.ends, self.unit, edges)
        last = max(end if end < inf else start for spans in found.values() for start, end in spans)
        if self.period is None:
            return found
        if last > self.period:
            raise ScenarioError(f"fault.{index}.period = {self.period:g}: at least {last:g}, the last time in {path}")
        return {who: [(start, min(end, self.period)) for start, end in spans] for who, spans in found.items()}

    def told(self, index: int, edges: nx.Graph[int], find: Finder) -> str:
        found = self.up_times(index, edges, find)
        times = [time for spans in found.values() for span in spans for time in span if isfinite(time)]
        until = self.period or max(times) or 1.0
        shares = [100 * up_share(spans, until) for spans in found.values()]
        what = "agents" if self.ends == 1 else "links"
        again = "repeats" if self.period else "then down for good"
        return (
            f"{what} named: {len(shares)}, up {np.mean(shares):.3g} % of {until:g} s on average "
            f"({min(shares):.3g} to {max(shares):.3g} %), {again}"
        )


class Availability(_Timetabled):
    """Agents are up in the intervals of a file, and down between them."""

    kind: Literal["availability"]
    halts: ClassVar[bool] = True
    file: FileName = Field(description="CSV file, a line per interval: agent, from, to; whoever is absent is always up")
    state: Literal["kept", "lost"] = Field("kept", description="whether model and dual survive; the ledger always does")
    ends: ClassVar[int] = 1

    def happenings(self, index: int, edges: nx.Graph[int], streams: Streams, find: Finder) -> Iterator[Happening]:
        for (agent,), up in self.up_times(index, edges, find).items():
            yield Crash(kind="crash", agent=agent, at=0.0, state=self.state), gaps(up, self.period)


class Contacts(_Timetabled):
    """Links are up in the intervals of a file, and down between them.

    The neighbours of an agent stay the same: a link that is down is one over which nothing passes.
    """

    kind: Literal["contacts"]
    file: FileName = Field(description="CSV file, a line per interval: agent, agent, from, to, either way round")
    others: Literal["up", "down"] = Field("up", description="what the links are that the file does not name")
    ends: ClassVar[int] = 2

    def happenings(self, index: int, edges: nx.Graph[int], streams: Streams, find: Finder) -> Iterator[Happening]:
        found = self.up_times(index, edges, find)
        for a, b in found:
            known_link(a, b, edges, f"fault.{index}.file")
        absent = [(min(ends), max(ends)) for ends in edges.edges] if self.others == "down" else []
        for ends in [*found, *sorted(set(absent) - found.keys())]:
            down = gaps(found.get(ends, []), self.period if ends in found else None)
            yield LinkDown(kind="link-down", link=(ends[0], ends[1]), at=0.0), down


FAULTS = table(Crash, Churn, LinkDown, Partition, Straggler, Availability, Contacts)
AnyFault = Annotated[Fault, OneOf(FAULTS)]


def happenings(faults: Sequence[Fault], edges: nx.Graph[int], streams: Streams, find: Finder) -> list[Happening]:
    """Everything that breaks in a network; refuses faults of what is not there."""
    return [found for index, fault in enumerate(faults) for found in fault.happenings(index, edges, streams, find)]


def schedule(engine: VirtualEngine, happening: Happening) -> None:
    """Let a fault happen at its next time, and again at the one after that."""
    fault, spans = happening
    start, until = next(spans, (inf, inf))
    if start == inf:
        return

    def begin() -> None:
        engine.emit(events.FaultBegan(fault.word, *fault.place))
        fault.begin(engine, for_good=until == inf)
        if until < inf:
            engine.at(until, end)

    def end() -> None:
        engine.emit(events.FaultEnded(fault.word, *fault.place))
        fault.end(engine)
        schedule(engine, happening)

    engine.at(start, begin)


def alternating(rng: np.random.Generator, without: float, lasting: float) -> Iterator[Span]:
    """Exponential times without the fault and with it, in turns."""
    now = 0.0
    while True:
        start = now + rng.exponential(without)
        now = start + rng.exponential(lasting)
        yield start, now
