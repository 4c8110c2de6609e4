"""The payloads of one sender.

A model may have company: vectors that go with it, such as a running sum of what was sent. They may depend on the model
as its receivers decode it, so the model is encoded first. A payload with company begins with a 0, where others have
their number of parts. Then come the length of the model's payload (4 bytes), that payload, and the company's. Company
is written in float32 at least: in a running sum coarse rounding adds up. Its first vector belongs to the model entry by
entry and tells the entries that the model tells; other vectors are whole.

A letter is a payload for one neighbour. Models, company and letters have codecs of their own, each with its own random
stream and its own memory of what was told: neither company nor letters change how a model is rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

import numpy as np

from simnet.errors import FrameError
from simnet.network.codec import CODECS, LONGEST, Codec, Partial, TopKSettings
from simnet.streams import Streams
from simnet.vectors import Parts, Vector

_COMPOUND = Struct("<BI")


class Writer:
    """Encodes what one agent sends, and decodes what it receives, by the codec of this name."""

    def __init__(self, streams: Streams, agent: int, codec: str, topk: TopKSettings) -> None:
        self._make: Callable[[object], Codec] = lambda name: CODECS[codec](
            lambda: streams.generator("codec", name), topk
        )
        self._agent = agent
        self._model = self._make(agent)
        exact = (topk.values if codec == "top-k" else codec) == "float64"
        self._company = CODECS["float64" if exact else "float32"](lambda: streams.generator("codec", agent), topk)
        self._letters: dict[int, Codec] = {}
        self._told: Parts = ()
        self._last: tuple[bytes, Parts] = (b"", ())

    def model(self, model: Vector, accompany: Callable[[Vector], Parts]) -> tuple[bytes, Parts]:
        """A payload for all neighbours, and what they hold once they have decoded it and all before it."""
        first, said = self._model.transfer((model,))
        whole = said.onto(self._told) if type(said) is Partial else said
        company = accompany(whole[0])
        if not company:
            self._told, self._last = whole, (first, said)
            return first, whole
        second = self._company.encode(_told_only(company, said))
        said = _joined(said, self._company.decode(second))
        self._told = said.onto(self._told) if type(said) is Partial else said
        payload = b"".join((_COMPOUND.pack(0, len(first)), first, second))
        self._last = payload, said
        return payload, self._told

    def said(self, payload: bytes) -> Parts | None:
        """What `decode` gives for the payload that `model` made last; None for another one."""
        return self._last[1] if payload is self._last[0] else None

    def letter(self, peer: int, parts: Parts) -> bytes:
        """A payload for one neighbour."""
        if peer not in self._letters:
            self._letters[peer] = self._make(f"{self._agent}>{peer}")
        return self._letters[peer].encode(parts)

    def again(self, parts: Parts) -> bytes:
        """A payload that tells what was decoded before, as exactly as company is."""
        second = self._company.encode(parts)
        return b"".join((_COMPOUND.pack(0, 0), second))

    def decode(self, payload: bytes, longest: int = LONGEST) -> Parts:
        """The vectors in a payload of any of these kinds, none longer than `longest`; a `FrameError` says why not."""
        if payload[:1] != b"\0":
            return self._model.decode(payload, longest)
        if len(payload) < _COMPOUND.size:
            raise FrameError(f"a payload of {len(payload)} bytes ends before its contents")
        middle = _COMPOUND.size + _COMPOUND.unpack_from(payload)[1]
        first = payload[_COMPOUND.size : middle]
        company = self._company.decode(payload[middle:], longest)
        if not first:
            return company
        return _joined(self._model.decode(first, longest), company)


def _told_only(company: Parts, said: Parts) -> Parts:
    """The company with those entries of its first vector that the model's payload tells."""
    return (company[0][~np.isnan(said[0])], *company[1:]) if type(said) is Partial else company


def _joined(said: Parts, company: Parts) -> Parts:
    """A model and its company as they were decoded, NaN for the entries that neither tells."""
    if type(said) is not Partial or not company:
        return said + company
    told = ~np.isnan(said[0])
    if len(company[0]) != np.count_nonzero(told):
        raise FrameError(f"{len(company[0])} entries go with the {np.count_nonzero(told)} of a model")
    first = np.full(len(told), np.nan)
    first[told] = company[0]
    return Partial((*said, first, *company[1:]))
