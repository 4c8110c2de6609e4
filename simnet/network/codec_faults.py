"""What is wrong with a codec, found by using it: for whoever writes one.

A codec says of itself whether it survives loss, and a network believes it. So the claim is tried here: one receiver
hears every message, another misses some, and both must soon hold the same.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator, Sequence

import numpy as np

from simnet.errors import FrameError
from simnet.network.codec import CodecKind
from simnet.network.payloads import Partial, PayloadCodec
from simnet.streams import Streams
from simnet.vectors import Parts, Vector

FEATURES = 20
VARIED = 12
"""Messages that differ from each other; some of them get lost."""
STEADY = 600
"""Messages of one and the same vector afterwards: time enough to mend what was lost."""
_MISSED = {2, 3, 7, VARIED - 1}


def codec_faults(codec: CodecKind) -> list[str]:
    """One sentence per fault; none if it keeps its word."""
    vectors = _vectors()
    try:
        payloads = _sent(codec, vectors)
        found = [*_draws_elsewhere(codec, vectors[:3])]
        if _sent(codec, vectors[:VARIED]) != payloads[:VARIED]:
            found.append("write: the same vectors and the same random numbers give other bytes the second time")
        return [*found, *_remembers(codec, payloads[:VARIED]), *_stays_wrong(codec, payloads)]
    except FrameError as error:
        return [str(error)]


def _vectors() -> list[Vector]:
    rng = Streams(1).generator("vectors")
    varied = [np.zeros(FEATURES), *rng.standard_normal((VARIED - 1, FEATURES))]
    return varied + [varied[-1]] * STEADY


def _made(codec: CodecKind) -> PayloadCodec:
    return codec.made(lambda: Streams(1).generator("codec", 0))


def _sent(codec: CodecKind, vectors: Sequence[Vector]) -> list[bytes]:
    sender = _made(codec)
    return [sender.encode((vector.copy(),)) for vector in vectors]


def _draws_elsewhere(codec: CodecKind, vectors: Sequence[Vector]) -> Iterator[str]:
    """Whether it takes random numbers from the generators that all of a process share."""
    before = _shared_chance()
    _sent(codec, vectors)
    if before != _shared_chance():
        yield "write: it draws from a generator that all share; its random numbers are those of `rng`"


def _shared_chance() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002


def _remembers(codec: CodecKind, payloads: Sequence[bytes]) -> Iterator[str]:
    """Whether `read` depends on what was read before it."""
    receiver = _made(codec)
    forwards = [receiver.decode(payload) for payload in payloads]
    backwards = [receiver.decode(payload) for payload in reversed(payloads)][::-1]
    alone = [_made(codec).decode(payload) for payload in payloads]
    if not all(_same(*each) for other in (backwards, alone) for each in zip(forwards, other, strict=True)):
        yield "read: what it gives depends on the messages before it, and these may get lost or come from others"


def _stays_wrong(codec: CodecKind, payloads: Sequence[bytes]) -> Iterator[str]:
    """Whether a receiver that has missed some messages still holds something else at the end."""
    if not codec.survives_loss:
        return
    receiver = _made(codec)
    told = [receiver.decode(payload) for payload in payloads]
    all_heard = _held(told)
    some_missed = _held([parts for number, parts in enumerate(told) if number not in _MISSED])
    if not _same(all_heard, some_missed):
        wrong = int(np.count_nonzero(all_heard[0] != some_missed[0]))
        yield (
            f"survives_loss: {STEADY} messages after some were lost, {wrong} of {FEATURES} entries are still wrong; "
            "send values again, or say survives_loss = False"
        )


def _held(messages: Sequence[Parts]) -> Parts:
    held: Parts = ()
    for parts in messages:
        held = parts.onto(held) if isinstance(parts, Partial) else parts
    return held


def _same(one: Parts, other: Parts) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))
