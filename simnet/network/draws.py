"""Random numbers one at a time at the price of numbers in bulk.

A draw from numpy costs a microsecond alone and some ten nanoseconds in a block. A block takes a kilobyte, so that those
of many links stay in the processor's cache: larger ones cost more there than they save in calls.

The first numbers are drawn at once and their generator is let go: it takes ten times the memory of the numbers, and in
a large network there are a million links that carry a few dozen messages each. Whoever needs more gets a generator of
its own that has made the same draws.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simnet.streams import Streams

Numbers = npt.NDArray[np.float64]


class Source(Protocol):
    """What is asked of a generator, all of it in one draw."""

    def random(self, size: int) -> Numbers: ...

    def standard_normal(self, size: int) -> Numbers: ...

    def standard_gamma(self, shape: float, size: int) -> Numbers: ...

    def integers(self, low: int, *, size: int) -> npt.NDArray[np.int64]: ...


Draw = Callable[[np.random.Generator, int], Numbers]
Blocks = tuple[tuple[int, ...], int]
"""How many numbers are drawn at once: the first times, and then always."""

PLAIN: Blocks = (32,), 128
MIXED: Blocks = (1, 2, 4, 8, 16), 32
"""For draws that mix two kinds of numbers: how many are drawn at once decides what they are, and this is for ever."""


def one_by_one(streams: Streams, role: str, name: str, draw: Draw, blocks: Blocks = PLAIN) -> Iterator[float]:
    """The numbers of the stream `role/name`, for ever; nothing is drawn before the first number is asked for."""
    # A chain of blocks is walked without a Python frame a number.
    return chain.from_iterable(_Drawn(streams, role, name, draw, blocks))


class _Drawn:
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
    """Numbers without an object each."""
    return array("d", b"".join([draw(rng, n).tobytes() for n in sizes]))


class Abreast:
    """The starts of several streams of one role as a source: of a draw, each in its turn gives an equal share."""

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

    def _all(self, size: int, draw: Callable[[np.random.Generator, int], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        share = size // len(self._names)
        return np.concatenate([draw(rng, share) for rng in self._streams.visits(self._role, self._names)])


def uniform(rng: Source, n: int) -> Numbers:
    """`n` numbers between 0 (included) and 1 (excluded)."""
    return rng.random(n)
