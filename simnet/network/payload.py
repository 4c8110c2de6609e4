"""The payloads of one sender.

What accompanies a model may depend on the model as its receivers decode it, so the model is encoded first and the rest
joined to it. The three kinds of payload have codecs of their own, each with its own random stream and its own memory of
what was left out: neither company nor letters change how a model is rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simnet.network.codec import CODECS, Codec, Vector
from simnet.streams import Streams

Parts = tuple[Vector, ...]


class Writer:
    """Encodes what one agent sends, by the codec of this name.

    A codec that sends a share of the entries does so for models and letters; company is sent whole, because its
    receivers cannot do with a part of it.
    """

    def __init__(self, streams: Streams, agent: int, codec: str, **settings: Any) -> None:
        whole = settings | {"share": 1.0} if "share" in settings or codec == "top-k" else settings
        self._make: Callable[[object], Codec] = lambda name: CODECS[codec](streams.generator("codec", name), **settings)
        self._agent = agent
        self._model = self._make(agent)
        self._company = CODECS[codec](streams.generator("codec", f"{agent}+"), **whole)
        self._letters: dict[int, Codec] = {}
        self.id = self._model.id
        self.decode = self._model.decode

    def model(self, model: Vector, accompany: Callable[[Vector], Parts]) -> tuple[bytes, Parts]:
        """A payload for all neighbours, and what they decode from it."""
        payload = self._model.encode((model,))
        sent = self.decode(payload)
        company = accompany(sent[0])
        if not company:
            return payload, sent
        second = self._company.encode(company)
        return join(payload, second), sent + self.decode(second)

    def whole(self, parts: Parts) -> bytes:
        """A payload that leaves nothing out."""
        return self._company.encode(parts)

    def letter(self, peer: int, parts: Parts) -> bytes:
        """A payload for one neighbour."""
        if peer not in self._letters:
            self._letters[peer] = self._make(f"{self._agent}>{peer}")
        return self._letters[peer].encode(parts)


def join(first: bytes, second: bytes) -> bytes:
    """The payload that decodes to the parts of `first` and then those of `second`."""
    head, tail = 1 + 4 * first[0], 1 + 4 * second[0]
    return b"".join((bytes([first[0] + second[0]]), first[1:head], second[1:tail], first[head:], second[tail:]))
