"""Chance in blocks: random numbers one at a time, at the price of numbers in bulk.

A draw from numpy costs a microsecond alone and some ten nanoseconds in a block. A block takes a kilobyte, so that the
blocks of many links stay in the processor's cache: larger ones cost more there than they save in calls.

The first numbers are drawn at once and their generator is let go: it takes ten times the memory of the numbers, and a
large network has a million links that carry a few dozen messages each. Whoever needs more gets a generator of its own,
which makes the same draws again before it goes on.

The size of a block changes no number (but see `MIXED`): tests draw one by one and get the same runs.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import scipy

from simnet.streams import Streams

Numbers = npt.NDArray[np.float64]


Source: TypeAlias = "np.random.Generator | JoinedStreams | EvenSpread"
"""What numbers are drawn from, all of them in one draw."""
Draw = Callable[[np.random.Generator, int], Numbers]
Blocks = tuple[tuple[int, ...], int]
"""How many numbers are drawn at once: the first times, and then always."""

PLAIN: Blocks = (32,), 128
MIXED: Blocks = (1, 2, 4, 8, 16), 32
"""For draws that mix two kinds of numbers: how many are drawn at once decides what they are, and this is for ever."""


def one_by_one(streams: Streams, role: str, name: str, draw: Draw, blocks: Blocks | None = None) -> Iterator[float]:
    """The numbers of the stream `role/name`, without end; nothing is drawn before the first number is asked for."""
    # A chain walks over blocks without a call of Python per number.
    return chain.from_iterable(_StreamBlocks(streams, role, name, draw, blocks or PLAIN))


def uniform(rng: Source, n: int) -> Numbers:
    """`n` numbers between 0 (included) and 1 (excluded)."""
    return rng.random(n)


class _StreamBlocks:
    """The blocks of one stream; a generator function would hold three times the memory between two of them."""

    __slots__ = ("_begun", "_blocks", "_draw", "_name", "_rng", "_role", "_streams")

    def __init__(self, streams: Streams, role: str, name: str, draw: Draw, blocks: Blocks) -> None:
        self._streams, self._role, self._name = streams, role, name
        self._draw = draw
        self._blocks = blocks
        self._begun = False
        self._rng: np.random.Generator | None = None

    def __iter__(self) -> Iterator[Iterable[float]]:
        return self

    def __next__(self) -> array[float]:
        first, block = self._blocks
        if not self._begun:
            self._begun = True
            return _numbers(self._draw, self._streams.visit(self._role, self._name), first)
        if self._rng is None:
            self._rng = self._streams.generator(self._role, self._name)
            _numbers(self._draw, self._rng, first)
        return _numbers(self._draw, self._rng, (block,))


def _numbers(draw: Draw, rng: np.random.Generator, sizes: Iterable[int]) -> array[float]:
    """Numbers without an object for each."""
    return array("d", b"".join([draw(rng, n).tobytes() for n in sizes]))


class JoinedStreams:
    """The starts of several streams of one role as one source: each stream in turn gives an equal share of a draw."""

    __slots__ = ("_names", "_role", "_streams")

    def __init__(self, streams: Streams, role: str, names: Sequence[str]) -> None:
        self._streams, self._role, self._names = streams, role, names

    def random(self, size: int) -> Numbers:
        return self._all(size, lambda rng, share: rng.random(share))

    def standard_normal(self, size: int) -> Numbers:
        return self._all(size, lambda rng, share: rng.standard_normal(share))

    def standard_gamma(self, shape: float, size: int) -> Numbers:
        return self._all(size, lambda rng, share: rng.standard_gamma(shape, share))

    def integers(self, low: int, *, size: int) -> npt.NDArray[np.int64]:
        return self._all(size, lambda rng, share: rng.integers(low, size=share))

    def apart(self, draw: Draw, size: int) -> Numbers:
        """The numbers of a formula that takes one generator only, stream by stream."""
        return self._all(size, draw)

    def _all(self, size: int, draw: Callable[[np.random.Generator, int], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        share = size // len(self._names)
        return np.concatenate([draw(rng, share) for rng in self._streams.visits(self._role, self._names)])


class EvenSpread:
    """A source without chance: the numbers of a draw are spread evenly over their distribution.

    The quantiles of what is computed from them are those of the distribution, without the noise of a sample.
    """

    def random(self, size: int) -> Numbers:
        return (np.arange(size) + 0.5) / size

    def standard_normal(self, size: int) -> Numbers:
        return np.asarray(scipy.special.ndtri(self.random(size)), dtype=np.float64)

    def standard_gamma(self, shape: float, size: int) -> Numbers:
        return np.asarray(scipy.special.gammaincinv(shape, self.random(size)), dtype=np.float64)

    def integers(self, low: int, *, size: int) -> npt.NDArray[np.int64]:
        return (low * self.random(size)).astype(np.int64)

    def apart(self, draw: Draw, size: int) -> Numbers:
        """The numbers of a formula that asks for chance: a sample, the same every time."""
        return draw(np.random.default_rng(0), size)


LINKS_AT_ONCE = 64
"""Links drawn together: enough to share the cost of a call, few enough for a small network not to pay for others."""


class DelaySampler:
    """Delays and losses of links that are alike, as one number per message: its delay, or NaN if it is lost.

    This is for messages of one packet each that are lost independently, with probability `loss`. Delays and losses are
    two streams of each link and one sequence here, because what a large network costs is the memory of its links, and
    how much of it is touched.

    Most links of a network carry messages, and soon. So the first numbers of some dozens of links are drawn together
    when one of them is asked for, and stay in one array: what a formula costs for so few numbers is its call, and what
    they cost in memory is their objects. Each link's numbers are those of its own streams all the same.
    """

    __slots__ = ("_latency", "_left", "_loss", "_names", "first", "numbers", "streams")

    def __init__(self, latency: Callable[[Source, int], Numbers], loss: float, streams: Streams) -> None:
        self._latency, self._loss = latency, loss
        self.streams = streams
        self.first = PLAIN[0][0]
        """How many numbers are drawn for each link."""
        self.numbers = _NOTHING
        """Theirs, one link after the other, once they are drawn and until no link needs them any more."""
        self._names: list[str] | str = []
        """Of the links; once their numbers are drawn, in one text: few are ever needed again."""
        self._left = 0

    @property
    def full(self) -> bool:
        """Whether further links should have another sampler."""
        return isinstance(self._names, str) or len(self._names) >= LINKS_AT_ONCE

    def delays(self, name: str) -> FirstDelays:
        """The numbers of the first messages of the link `name`, which lead to those of all others."""
        if isinstance(self._names, str):
            return DelaySampler(self._latency, self._loss, self.streams).delays(name)
        self._names.append(name)
        return FirstDelays(self, len(self._names) - 1)

    def begin(self) -> array[float]:
        """Draw the first numbers of all links."""
        assert isinstance(self._names, list), "the numbers are drawn once"
        names, self._left, self._names = self._names, len(self._names), "\n".join(self._names)
        delays, losses = (JoinedStreams(self.streams, role, names) for role in ("latency", "loss"))
        self.numbers = self.draw(delays, losses, self.first * len(names))
        return self.numbers

    def leave(self, place: int) -> str:
        """A link has used up its first numbers; its name."""
        assert isinstance(self._names, str), "it has asked for its numbers"
        self._left -= 1
        if not self._left:
            self.numbers = _NOTHING
        return self._names.split("\n")[place]

    def draw(self, delays: Source, losses: Source, n: int) -> array[float]:
        """The numbers of `n` messages."""
        under_way, lost = self._latency(delays, n), uniform(losses, n) < self._loss
        return array("d", np.where(lost, np.nan, under_way).tobytes())


_NOTHING: array[float] = array("d")


class FirstDelays(msgspec.Struct, gc=False, eq=False):
    """The numbers of a link's first messages, which its sampler has drawn together with those of other links."""

    _sampler: DelaySampler
    _place: int
    _taken: int = 0

    def __iter__(self) -> Iterator[float]:
        return self

    def __next__(self) -> float:
        sampler, taken = self._sampler, self._taken
        first = sampler.first
        if taken == first:
            raise StopIteration
        self._taken = taken + 1
        return (sampler.numbers or sampler.begin())[self._place * first + taken]

    def others(self) -> Iterator[float]:
        """The numbers of all later messages, without end, from generators of the link's own; asked for once."""
        sampler = self._sampler
        name = sampler.leave(self._place)
        rngs = sampler.streams.generator("latency", name), sampler.streams.generator("loss", name)
        sampler.draw(*rngs, sampler.first)
        return chain.from_iterable(_blocks(sampler, *rngs))


def _blocks(sampler: DelaySampler, delays: np.random.Generator, losses: np.random.Generator) -> Iterator[array[float]]:
    _, block = PLAIN
    while True:
        yield sampler.draw(delays, losses, block)
