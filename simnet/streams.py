"""Named random streams: one source of chance, one generator.

A stream is named by (seed, role, id), for example `noise/3` or `loss/0>4`. Two runs that share a seed but differ in
one setting share every draw that the setting does not touch, because no stream is ever consumed on behalf of another
(common random numbers). There is no global generator anywhere in simnet.

Privacy rests on the streams of the roles in `SECRET`. Whoever knows the seed can draw them again, and a small seed is
found by trying. So they can be taken from something else than the seed (`Streams.noise`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence

if TYPE_CHECKING:
    from hashlib import _Hash


SECRET = frozenset({"noise", "svt", "objective", "labels"})
"""Roles whose draws nobody else may know: noise on models and in tests, tilts of objectives, flips of labels."""


@dataclass(frozen=True)
class Streams:
    """The streams of one seed; `noise`, if given, takes the seed's place in the roles of `SECRET`.

    >>> Streams(1).generator("noise", 3).integers(100) == Streams(1).generator("noise", 3).integers(100)
    True
    """

    seed: int
    noise: str = ""
    every: bool = False
    """Whether all roles are secret: nobody knows by which names a method of the user's own draws its noise."""

    def secret_role(self, role: str) -> bool:
        """Whether the draws of a role protect something."""
        return self.every or role in SECRET

    def generator(self, role: str, name: object = "") -> np.random.Generator:
        """A fresh generator at the start of the stream `role/name`."""
        # numpy's stubs know SeedSequence, not the interface that it implements.
        key: Any = _Key(self._named(role, name).digest()[:16])
        return np.random.Generator(np.random.Philox(key, counter=_COUNTER))

    def visit(self, role: str, name: object = "") -> np.random.Generator:
        """The same for who draws all that it needs at once, at half the price: the next visit takes it away again."""
        return next(self.visits(role, (name,)))

    def visits(self, role: str, names: Iterable[object]) -> Iterator[np.random.Generator]:
        """A visit to one stream of a role after another, at half the price once more."""
        rng, start = self._visitor
        bits, state = rng.bit_generator, start["state"]
        root = self._named(role, "")
        for name in names:
            digest = root.copy()
            digest.update(str(name).encode())
            state["key"] = _WORDS.unpack_from(digest.digest())
            bits.state = start
            yield rng

    def _named(self, role: str, name: object) -> _Hash:
        root = self.noise if self.noise and self.secret_role(role) else self.seed
        return sha256(f"simnet/{root}/{role}/{name}".encode())

    @cached_property
    def _visitor(self) -> tuple[np.random.Generator, dict[str, Any]]:
        """A generator, and the state of one that has drawn nothing."""
        zeros = (0, 0, 0, 0)
        start = {"bit_generator": "Philox", "buffer": zeros, "buffer_pos": 4, "has_uint32": 0, "uinteger": 0}
        return np.random.Generator(np.random.Philox(0)), start | {"state": {"counter": zeros}}


_WORDS = Struct("<QQ")
_COUNTER = np.zeros(4, np.uint64)
"""Where a stream starts. Philox would make this array of a plain 0, at the price of all the rest of it."""


class _Key(ISeedSequence):
    """A Philox key as it is. Handing Philox a plain number would hash it once more, at three times the cost."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        return _WORDS.unpack(self._key)
