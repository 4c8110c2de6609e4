"""Random numbers one at a time at the price of numbers in bulk.

A draw from numpy costs a microsecond alone and some ten nanoseconds in a block. Blocks start at one number and double
up to `LARGEST`, so that the blocks of many links stay in the processor's cache: larger ones cost more there than they
save in calls. No draw may depart from that rule, because some streams mix two kinds of draws block by block.

The first `EARLY` blocks are drawn at once and their generator is let go: it takes ten times the memory of the numbers,
and in a large network there are a million links that carry a few dozen messages each. Whoever needs more gets a new
generator that has made the same draws.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from simnet.streams import Streams

LARGEST = 32
EARLY = 5

Draw = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]


def one_by_one(streams: Streams, role: str, name: str, draw: Draw) -> Iterator[float]:
    """The numbers of the stream `role/name`, for ever; the generator is made when the first number is asked for."""
    # A chain of lists is walked without a Python frame a number.
    return chain.from_iterable(_blocks(streams, role, name, draw))


def _blocks(streams: Streams, role: str, name: str, draw: Draw) -> Iterator[Iterable[float]]:
    yield _early(streams.generator(role, name), draw)
    rng = streams.generator(role, name)
    _early(rng, draw)
    size = 2**EARLY
    while True:
        yield draw(rng, size).tolist()
        size = min(2 * size, LARGEST)


def _early(rng: np.random.Generator, draw: Draw) -> array[float]:
    """The first blocks, as numbers without an object each."""
    return array("d", b"".join(draw(rng, 2**k).astype(np.float64, copy=False).tobytes() for k in range(EARLY)))


def uniform(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    """`n` numbers between 0 (included) and 1 (excluded)."""
    return rng.random(n)
