"""Random numbers one at a time at the price of numbers in bulk.

A draw from numpy costs a microsecond alone and some ten nanoseconds in a block. Blocks start at one number and double
up to `LARGEST`, so that a link which carries three messages does not hold memory for hundreds, and the blocks of many
links stay in the processor's cache: larger ones cost more there than they save in calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from simnet.streams import Streams

LARGEST = 32

Draw = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]


def one_by_one(streams: Streams, role: str, name: str, draw: Draw) -> Iterator[float]:
    """The numbers of the stream `role/name`, for ever; the generator is made when the first number is asked for."""
    # A chain of lists is walked without a Python frame a number.
    return chain.from_iterable(_blocks(streams, role, name, draw))


def _blocks(streams: Streams, role: str, name: str, draw: Draw) -> Iterator[list[float]]:
    rng = streams.generator(role, name)
    size = 1
    while True:
        yield draw(rng, size).tolist()
        size = min(2 * size, LARGEST)


def uniform(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    """`n` numbers between 0 (included) and 1 (excluded)."""
    return rng.random(n)
