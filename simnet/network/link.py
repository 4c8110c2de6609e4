"""One direction between two agents: a transmitter, and a wire behind it.

A link is a pure function of (now, size) and of what was sent before: it schedules nothing and knows no clock. So what
becomes of a message is known when it is sent.

Of every stream that a link uses, each message takes exactly one row whatever its fate, also a message that the
transmitter refused. So the k-th message of a link meets the same delay and the same loss in all runs of a seed. Only
early detection looks at packets, and takes one row of `red` per packet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from math import inf
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from simnet.errors import ScenarioError
from simnet.network.draws import MIXED, DelaySampler, FirstDelays, one_by_one, uniform
from simnet.network.loss import Sampler
from simnet.network.model import Ends, Line, Lines, LinkModel
from simnet.network.queueing import Departure, Queue, Transmitter, drained, in_turn
from simnet.streams import Streams

if TYPE_CHECKING:
    import networkx as nx

Fate = Literal["delivered", "lost", "overflowed"]


class Passage(msgspec.Struct, frozen=True, gc=False):
    """What becomes of one message; a time is infinite if the thing never happens."""

    fate: Fate
    starts: float
    """the first bit leaves the sender"""
    departs: float
    """the last bit leaves the sender"""
    arrives: float
    """the last bit reaches the receiver"""
    packets: int
    """into how many the message is cut; 0 if it shares the transmission of another one"""
    wire_bytes: int
    """what leaves the host, with what its packets add; 0 if the sender's queue refused all of it"""
    corrupted: bool = False
    """it arrives, and its checksum fails"""
    copies: tuple[float, ...] = ()
    """when further copies of it arrive"""
    refused_bytes: int = 0
    """what the sender's queue refused of it"""

    @property
    def offered_bytes(self) -> int:
        """What was handed to the host, with what its packets add."""
        return self.wire_bytes + self.refused_bytes


_NEVER = -inf
"""One number for all links."""


class Link:
    """A transmitter, which it may share with others (the uplink of an agent), and the wire that it sends through.

    `name` is "sender>receiver" and names the streams. A copy of a message arrives with a delay of its own, not before
    the first, and outside the order: it delays nobody.

    >>> link = Link(LinkModel(bandwidth=8000.0, overhead=0), Streams(1), "0>1")
    >>> link.send(0.0, 500).arrives, link.send(0.1, 500).arrives
    (0.5, 1.0)
    """

    __slots__ = ("_delays", "_flaws", "_latest", "_lines", "_lost", "_ordered", "_timed", "transmitter")

    def __init__(
        self,
        model: LinkModel,
        streams: Streams,
        name: str,
        transmitter: Transmitter | None = None,
        sampler: DelaySampler | None = None,
        up: Transmitter | None = None,
    ) -> None:
        self.transmitter = transmitter or Transmitter(model, streams, name)
        own = () if model.bandwidth is None else (self.transmitter,)
        self._lines: tuple[Transmitter, ...] = () if up is None else (up, *own)
        """The lines of a sender that has one for all its links; empty if it has none but the link's own."""
        latency = model.latency
        self._lost: Sampler | None = None
        self._timed = latency.clock(streams.generator("latency", name).random()) if latency.timed else None
        if self.transmitter.single and model.loss.independent and self._timed is None:
            self._delays: Iterator[float] = (sampler or delay_sampler(model, streams)).delays(name)
        else:
            self._lost = model.loss.sampler(streams, name)
            self._delays = (
                one_by_one(streams, "latency", name, latency.times)
                if latency.constant is None and self._timed is None
                else repeat(latency.constant or 0.0)
            )
        self._flaws = _Flaws(model, streams, name) if model.duplication or model.corruption else None
        self._ordered = model.order == "fifo"
        self._latest = _NEVER

    def admit(self, now: float, size: int) -> Departure:
        """What the sender's lines do with a message of `size` bytes."""
        if not self._lines:
            return self.transmitter.admit(now, size)
        return in_turn(self._lines, now, self.transmitter.weights(size))

    def received(self, line: Transmitter, now: float, size: int) -> float:
        """When a message whose last bit arrives now is through the receiver's `line`; infinite if it has no room."""
        pace = min(each.bandwidth for each in (self.transmitter, *self._lines))
        return drained(line, now, list(self.transmitter.weights(size)), pace)

    def halt(self, now: float) -> None:
        """The sender is dead: what waits for its lines, or is on them, never leaves."""
        for line in (self.transmitter, *self._lines):
            line.clear(now)

    def send(self, now: float, size: int, departure: Departure | None = None) -> Passage:
        """Send a message of `size` bytes; `now` never goes back from one call to the next.

        `departure` is what the transmitter has said of it already: a shared medium has one transmission for all.
        """
        if departure is None:
            departure = self.admit(now, size) if self._lines else self.transmitter.admit(now, size)
        starts, departs, packets, wire_bytes, refused = departure
        if self._timed is not None:
            arrives = departs + self._timed(departs)
        elif (delay := next(self._delays, None)) is not None:
            arrives = departs + delay
        else:
            arrives = departs + self._next_of_others()
        lost = arrives != arrives if self._lost is None else self._lost(packets)
        flaws = None if self._flaws is None else self._flaws.draw(packets)
        if starts == inf:
            return Passage("overflowed", inf, inf, inf, packets, wire_bytes, refused_bytes=refused)
        if lost:
            return Passage("lost", starts, departs, inf, packets, wire_bytes)
        if self._ordered:
            if arrives < self._latest:
                arrives = self._latest
            else:
                self._latest = arrives
        if flaws is None:
            return Passage("delivered", starts, departs, arrives, packets, wire_bytes)
        corrupted, copy_delay = flaws
        copies = () if copy_delay == inf else (max(arrives, departs + copy_delay),)
        return Passage("delivered", starts, departs, arrives, packets, wire_bytes, corrupted, copies)

    def _next_of_others(self) -> float:
        """The first delays are used up, and others take their place."""
        assert isinstance(self._delays, FirstDelays), "no other delays ever end"
        self._delays = self._delays.others()
        return next(self._delays)


class _Flaws:
    """Corruption and duplication on one wire; few have them."""

    __slots__ = ("_corruption", "_duplication", "_spoils", "_twins")

    def __init__(self, model: LinkModel, streams: Streams, name: str) -> None:
        def twin(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
            return np.column_stack((uniform(rng, n), model.latency.times(rng, n))).ravel()

        self._corruption = model.corruption
        self._duplication = model.duplication
        self._spoils = one_by_one(streams, "corruption", name, uniform)
        self._twins = one_by_one(streams, "duplication", name, twin, MIXED)

    def draw(self, packets: int) -> tuple[bool, float]:
        """Whether a packet of the message is spoilt, and the delay of its copy (infinite: there is none)."""
        corrupted = next(self._spoils) < 1 - (1 - self._corruption) ** packets
        twin, delay = next(self._twins), next(self._twins)
        return corrupted, delay if twin < self._duplication else inf


def delay_sampler(model: LinkModel, streams: Streams) -> DelaySampler:
    """The delays and losses of links like this."""
    return DelaySampler(model.latency.times, model.loss.independent or 0.0, streams)


def connect(
    edges: nx.Graph[int],
    models: Mapping[Ends, LinkModel],
    streams: Streams,
    *,
    one_line_out: bool,
    up: Line | None = None,
) -> dict[int, dict[int, Link]]:
    """Both directions of every link, by sender and receiver.

    With `one_line_out` all links of an agent leave through one transmitter, so they must be alike; `up` is a line of
    each agent before its links' own. A transmitter that takes no time remembers nothing, so links that are alike share
    one: a large network has a million of them.
    """
    lines: dict[int, Transmitter] = {}
    if one_line_out:
        lines = {
            agent: Transmitter(_one_line(agent, [models[agent, peer] for peer in edges[agent]]), streams, str(agent))
            for agent in edges
            if edges[agent]
        }
    ups = {} if up is None else {agent: up.transmitter(streams, f"{agent}/up") for agent in edges}
    idle = {id(model): model for model in models.values() if model.bandwidth is None}
    instant = {which: Transmitter(model, streams, "") for which, model in idle.items()}
    samplers: dict[int, DelaySampler] = {}
    found: dict[int, dict[int, Link]] = {agent: {} for agent in edges}
    # Sender by sender: what is used together lies together.
    for sender, receiver in [(agent, peer) for agent in edges for peer in sorted(edges[agent])]:
        model = models[sender, receiver]
        line = lines.get(sender) or instant.get(id(model))
        sampler = samplers.get(id(model))
        if sampler is None or sampler.full:
            sampler = samplers[id(model)] = delay_sampler(model, streams)
        found[sender][receiver] = Link(model, streams, f"{sender}>{receiver}", line, sampler, ups.get(sender))
    return found


_OF_A_LINE = ("bandwidth", "queue", "mtu", "overhead", "framing")


def _one_line(agent: int, models: Sequence[LinkModel]) -> LinkModel:
    """What the one line of an agent is like over which all these links leave."""
    first = models[0]
    for other in models[1:]:
        for name in _OF_A_LINE if other is not first else ():
            if getattr(other, name) != getattr(first, name):
                raise ScenarioError(
                    f"network.uplink: the links of agent {agent} leave over one line but differ in {name}; give them "
                    '`uplink = "independent"`, and say in [network.line] up what the agent has for all of them'
                )
    return first


def refuse_above_queue(model: LinkModel, lines: Lines, size: int, where: str, *, repeated: bool = False) -> None:
    """Refuse a link that drops part of every message of `size` bytes, because its packets are more than fit.

    `repeated`: a message is a single packet, which is sent again until it passes.
    """
    bare = model.model_copy(update={"queue": without_red(model.queue)})
    tried = [_passed(bare, lines, size, now) for now in _openings(bare, lines)]
    if any(departs < inf for departs, *_ in tried):
        return
    _, line, packets, weight = tried[0]
    makes = f"a value makes {packets} packets of {weight:,} bytes in all, and even an idle line drops some of them"
    cure = 'a longer queue, a smaller codec or `transport = "reliable"` would do'
    if repeated:
        makes = f"a packet of {weight:,} bytes has to wait even for an idle line, and there is no room for it"
        cure = "a longer queue would do"
    raise ScenarioError(f"{line or where}: {makes}, so that no value would ever arrive; {cure}")


def _openings(model: LinkModel, lines: Lines) -> list[float]:
    """When the lines that a message passes are up for the first time; they may be down at the start."""
    own = Transmitter(model, Streams(0), "")
    access = [line.transmitter(Streams(0), "") for line in (lines.up, lines.down) if line is not None]
    return sorted({line.opens(0.0) for line in (own, *access)})


def _passed(model: LinkModel, lines: Lines, size: int, now: float) -> tuple[float, str, int, int]:
    """When a message of `size` bytes is through idle lines, what is full if it is not, its packets and their bytes."""
    up, down = (None if each is None else _plain(each).transmitter(Streams(0), "") for each in (lines.up, lines.down))
    link = Link(model, Streams(0), "", up=up)
    _, departs, packets, left, refused = link.admit(now, size)
    full = "network.line.up.queue" if refused and up is not None else ""
    if departs < inf and down is not None:
        full, departs = "network.line.down.queue", link.received(down, departs, size)
    return departs, full, packets, left + refused


def without_red(queue: Queue | None) -> Queue | None:
    """The same queue, which drops nothing before it is full."""
    return queue and queue.model_copy(update={"red": None})


def _plain(line: Line) -> Line:
    return line.model_copy(update={"queue": without_red(line.queue)})
