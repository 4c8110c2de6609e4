"""The payloads of one sender.

What accompanies a model may depend on the model as its receivers decode it, so the model is encoded first. A payload
with company is a 0 where others have their number of parts, the length of the model's payload (4 bytes), that
payload, and the company's. Company is written in float32 at least, and whole: it is a running sum, in which coarse
rounding adds up, and of which a part is of no use.

The three kinds of payload have codecs of their own, each with its own random stream and its own memory of what was left
out: neither company nor letters change how a model is rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from simnet.errors import FrameError
from simnet.network.codec import CODECS, Codec, Vector
from simnet.streams import Streams

Parts = tuple[Vector, ...]

_COMPOUND = Struct("<BI")


class Writer:
    """Encodes what one agent sends, and decodes what it receives, by the codec of this name."""

    def __init__(self, streams: Streams, agent: int, codec: str, **settings: Any) -> None:
        self._make: Callable[[object], Codec] = lambda name: CODECS[codec](streams.generator("codec", name), **settings)
        self._agent = agent
        self._model = self._make(agent)
        self._company = CODECS["float64" if codec == "float64" else "float32"]()
        self._letters: dict[int, Codec] = {}

    def model(self, model: Vector, accompany: Callable[[Vector], Parts]) -> tuple[bytes, Parts]:
        """A payload for all neighbours, and what they decode from it."""
        first = self._model.encode((model,))
        sent = self._model.decode(first)
        company = accompany(sent[0])
        if not company:
            return first, sent
        second = self._company.encode(company)
        payload = b"".join((_COMPOUND.pack(0, len(first)), first, second))
        return payload, sent + self._company.decode(second)

    def letter(self, peer: int, parts: Parts) -> bytes:
        """A payload for one neighbour."""
        if peer not in self._letters:
            self._letters[peer] = self._make(f"{self._agent}>{peer}")
        return self._letters[peer].encode(parts)

    def again(self, parts: Parts) -> bytes:
        """A payload that tells what was decoded before, as exactly as company is."""
        second = self._company.encode(parts)
        return b"".join((_COMPOUND.pack(0, 0), second))

    def decode(self, payload: bytes) -> Parts:
        """The vectors in a payload of any of these kinds; a `FrameError` says why there are none."""
        if payload[:1] != b"\0":
            return self._model.decode(payload)
        if len(payload) < _COMPOUND.size:
            raise FrameError(f"a payload of {len(payload)} bytes ends before its contents")
        middle = _COMPOUND.size + _COMPOUND.unpack_from(payload)[1]
        first = payload[_COMPOUND.size : middle]
        return (self._model.decode(first) if first else ()) + self._company.decode(payload[middle:])
