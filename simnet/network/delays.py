"""How long a value is under way on each kind of link, known before anything runs.

The code that sends is asked: the lines say when the last bit of a value leaves, and the latency gives numbers that are
spread evenly over its distribution. Lines and channel are idle here. What waits for them takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simnet.network.draws import EvenSpread, Numbers
from simnet.network.link import Link
from simnet.network.model import Ends, Lines, LinkModel
from simnet.streams import Streams

PERCENT = (5, 50, 95, 99)
"""Which quantiles are told."""
POINTS = 10_000
"""Numbers by which a distribution is told."""
Cut = Callable[[int, int | None], Sequence[int]]
"""What is handed to a link of a message of so many bytes, where a packet has room for so many."""
MOST_KINDS = 8
"""Kinds of links that are told one by one; more are told together."""


@dataclass(frozen=True)
class AlikeLinks:
    """Links on which a value is under way for the same time, or for times of the same distribution."""

    places: list[Ends]
    model: LinkModel
    sending: float
    """Seconds from the first bit to the last, over all lines on the way."""

    def times(self, points: int = POINTS) -> Numbers:
        """Seconds until a value has arrived, spread evenly over their distribution; one if they are all the same."""
        latency = self.model.latency
        return self.sending + latency.times(EvenSpread(), points if latency.constant is None else 1)

    @cached_property
    def median(self) -> float:
        return float(np.median(self.times()))

    @property
    def named(self) -> str:
        """Which links they are, in a few words."""
        (sender, receiver), others = self.places[0], len(self.places) - 1
        first = f"{sender}>{receiver}"
        return first if not others else f"{first} and {others:,} other{'s' if others > 1 else ''}"


def whole(size: int, room: int | None) -> list[int]:
    """A message that the link itself cuts."""
    return [size]


def alike_links(
    models: Mapping[Ends, LinkModel], lines: Lines, size: int, air: Callable[[LinkModel], float], cut: Cut = whole
) -> list[AlikeLinks]:
    """All links by kind, for a value of `size` bytes; `air` is how long one is on a channel that agents share."""
    found: dict[tuple[object, ...], list[Ends]] = {}
    lasting: dict[object, float] = {}
    for ends, model in models.items():
        latency = model.latency
        what = id(latency) if latency.constant is None else latency.constant
        line = (model.bandwidth, model.mtu, model.overhead, model.framing)
        if line not in lasting:
            lasting[line] = sending(model, lines, size, cut) + air(model)
        found.setdefault((what, line), []).append(ends)
    return [AlikeLinks(places, models[places[0]], lasting[line]) for (_, line), places in found.items()]


def sending(model: LinkModel, lines: Lines, size: int, cut: Cut = whole) -> float:
    """Seconds from the first bit to the last of a message of `size` bytes, over idle lines with room for all of it."""
    streams, room = Streams(0), {"queue": None}
    up, down = (
        None if line is None else line.model_copy(update=room).transmitter(streams, "")
        for line in (lines.up, lines.down)
    )
    link, ends = Link(model.model_copy(update=room), streams, "", up=up), 0.0
    for packet in cut(size, link.transmitter.room):
        departs = link.admit(0.0, packet)[1]
        ends = departs if down is None else link.received(down, departs, packet)
    return ends


def quantiles(kinds: Sequence[AlikeLinks]) -> dict[str, list[float]]:
    """The quantiles of `PERCENT` in seconds, for each kind; if there are many, for all links together."""
    if not kinds:
        return {}
    if len(kinds) == 1:
        return {"all links": _of(kinds[0].times())}
    if len(kinds) <= MOST_KINDS:
        return {kind.named: _of(kind.times()) for kind in kinds}
    # Every link counts alike, however many are of its kind.
    links = sum(len(kind.places) for kind in kinds)
    each = [kind.times(max(100, POINTS // len(kinds))) for kind in kinds]
    weights = [np.full(len(times), len(kind.places) / len(times)) for kind, times in zip(kinds, each, strict=True)]
    return {f"{links:,} links of {len(kinds):,} kinds": _of(np.concatenate(each), np.concatenate(weights))}


def _of(times: Numbers, weights: Numbers | None = None) -> list[float]:
    found = np.percentile(times, PERCENT, weights=weights, method="inverted_cdf")
    return [float(each) for each in found]
