"""Named random streams: one source of chance, one generator.

A stream is named by (seed, role, id), for example `noise/3` or `loss/0>4`. Two runs that share a seed but differ in
one setting share every draw that the setting does not touch, because no stream is ever consumed on behalf of another
(common random numbers). There is no global generator anywhere in simnet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence


@dataclass(frozen=True)
class Streams:
    """The streams of one seed.

    >>> Streams(1).generator("noise", 3).integers(100) == Streams(1).generator("noise", 3).integers(100)
    True
    """

    seed: int

    def generator(self, role: str, name: object = "") -> np.random.Generator:
        """A fresh generator at the start of the stream `role/name`."""
        key: Any = _Key(self._key(role, name))  # numpy's stubs know SeedSequence, not the interface that it implements
        return np.random.Generator(np.random.Philox(key))

    def visit(self, role: str, name: object = "") -> np.random.Generator:
        """The same for who draws all that it needs at once, at half the price: the next visit takes it away again."""
        rng = self._visitor
        rng.bit_generator.state = _START | {"state": {"counter": _ZEROS, "key": _WORDS.unpack(self._key(role, name))}}
        return rng

    def _key(self, role: str, name: object) -> bytes:
        return sha256(f"simnet/{self.seed}/{role}/{name}".encode()).digest()[:16]

    @cached_property
    def _visitor(self) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(0))


_WORDS = Struct("<QQ")
_ZEROS = (0, 0, 0, 0)
_START = {"bit_generator": "Philox", "buffer": _ZEROS, "buffer_pos": 4, "has_uint32": 0, "uinteger": 0}
"""The state of a Philox generator that has drawn nothing, but for its key."""


class _Key(ISeedSequence):
    """A Philox key as it is. Handing Philox a plain number would hash it once more, at three times the cost."""

    def __init__(self, key: bytes) -> None:
        self._words = np.frombuffer(key, dtype="<u8").astype(np.uint64)

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> npt.NDArray[Any]:
        return self._words
