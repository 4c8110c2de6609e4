"""One direction between two agents: a transmitter, and a wire behind it.

A link is a pure function of (now, size) and of what was sent before: it schedules nothing and knows no clock. So what
becomes of a message is known when it is sent.

Of every stream that a link uses, each message takes exactly one row whatever its fate, also a message that the
transmitter refused. So the k-th message of a link meets the same delay and the same loss in all runs of a seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat
from math import inf
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from simnet.network.draws import MIXED, DelaySampler, one_by_one, uniform
from simnet.network.loss import Sampler
from simnet.network.model import Ends, LinkModel
from simnet.network.queueing import Departure, Transmitter
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
    """what the line carries, overhead included; 0 if the queue refused the message"""
    corrupted: bool = False
    """it arrives, and its checksum fails"""
    copies: tuple[float, ...] = ()
    """when further copies of it arrive"""


class Link:
    """A transmitter, which it may share with others (the uplink of an agent), and the wire that it sends through.

    `name` is "sender>receiver" and names the streams. A copy of a message arrives with a delay of its own, not before
    the first, and outside the order: it delays nobody.

    >>> link = Link(LinkModel(bandwidth=8000.0), Streams(1), "0>1")
    >>> link.send(0.0, 500).arrives, link.send(0.1, 500).arrives
    (0.5, 1.0)
    """

    __slots__ = ("_delays", "_flaws", "_latest", "_lost", "_ordered", "_timed", "transmitter")

    def __init__(
        self,
        model: LinkModel,
        streams: Streams,
        name: str,
        transmitter: Transmitter | None = None,
        sampler: DelaySampler | None = None,
    ) -> None:
        self.transmitter = transmitter or Transmitter(model, streams, name)
        latency = model.latency
        self._lost: Sampler | None = None
        self._timed = latency.clock(streams.generator("latency", name).random()) if latency.timed else None
        if self.transmitter.single and model.loss.independent and self._timed is None:
            self._delays: Iterator[float] = (sampler or delay_sampler(model, streams)).delays(name)
        else:
            self._lost = model.loss.sampler(streams, name)
            self._delays = (
                one_by_one(streams, "latency", name, latency.draw)
                if latency.constant is None and self._timed is None
                else repeat(latency.constant or 0.0)
            )
        self._flaws = _Flaws(model, streams, name) if model.duplication or model.corruption else None
        self._ordered = model.order == "fifo"
        self._latest = -inf

    def send(self, now: float, size: int, departure: Departure | None = None) -> Passage:
        """Send a message of `size` bytes; `now` never goes back from one call to the next.

        `departure` is what the transmitter has said of it already: a shared medium has one transmission for all.
        """
        starts, departs, packets, wire_bytes = departure or self.transmitter.admit(now, size)
        arrives = departs + (next(self._delays) if self._timed is None else self._timed(departs))
        lost = arrives != arrives if self._lost is None else self._lost(packets)
        flaws = None if self._flaws is None else self._flaws.draw(packets)
        if starts == inf:
            return Passage("overflowed", inf, inf, inf, packets, 0)
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


class _Flaws:
    """Corruption and duplication on one wire; few have them."""

    __slots__ = ("_corruption", "_duplication", "_spoils", "_twins")

    def __init__(self, model: LinkModel, streams: Streams, name: str) -> None:
        def twin(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
            return np.column_stack((uniform(rng, n), model.latency.draw(rng, n))).ravel()

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
    return DelaySampler(model.latency.draw, model.loss.independent or 0.0, streams)


def connect(
    edges: nx.Graph[int], models: Mapping[Ends, LinkModel], streams: Streams, *, one_line_out: bool
) -> dict[int, dict[int, Link]]:
    """Both directions of every link, by sender and receiver.

    With `one_line_out` all links of an agent leave through one transmitter, which is like the one to its first
    neighbour. A transmitter that takes no time remembers nothing, so links that are alike share one: a large network
    has a million of them.
    """
    lines: dict[int, Transmitter] = {}
    if one_line_out:
        lines = {
            agent: Transmitter(models[agent, min(edges[agent])], streams, str(agent)) for agent in edges if edges[agent]
        }
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
        found[sender][receiver] = Link(model, streams, f"{sender}>{receiver}", line, sampler)
    return found
