"""One event, one line of JSON: both directions, and the canonical form that is hashed.

Model-derived numbers are rounded, so that they are the same on every machine. Another BLAS or CPU changes the last bits
of a matrix product. Eight significant digits are far above those bits and far below anything a study reports. A number
that is small because larger ones cancel, like a residual or a drift, carries the noise of the larger ones: nothing is
kept below 1e-12.
"""

from __future__ import annotations

import base64
import math
import re
from binascii import a2b_base64
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from simnet.errors import LogError
from simnet.record.events import (
    EVENTS,
    EvaluationDone,
    Event,
    FaultBegan,
    FaultEnded,
    PrivacySpent,
    ReleaseMade,
    RunFinished,
    RunStarted,
    Whole,
)
from simnet.vectors import Vector

Places = npt.NDArray[np.int64]
"""Where something is in a block of bytes."""

DIGITS = 8
PLACES = 12

_encoder = msgspec.json.Encoder()
_encode = _encoder.encode
encode_lines = _encoder.encode_lines
"""Many lines at once, each with its newline: instances of `LINES`, or `msgspec.Raw` lines."""
_HEADS = {event: f',"event":"{kind}",'.encode() for kind, event in EVENTS.items()}
_START = re.compile(rb'\{"seq":[0-9]+,"t":[^,]*,"event":"([^"\\]*)",')


def line(seq: int, t: float, event: Event) -> bytes:
    """The event as a line of the log, without the newline."""
    return b'{"seq":%d,"t":%r%b%b' % (seq, t, _HEADS[type(event)], _encode(event)[1:])


def _line_type(kind: type[Event]) -> type[msgspec.Struct]:
    head: list[Any] = [("seq", int), ("t", msgspec.Raw), ("event", str)]
    for field in msgspec.structs.fields(kind):
        required = field.default is msgspec.NODEFAULT
        head.append((field.name, field.type) if required else (field.name, field.type, field.default))
    return msgspec.defstruct(f"{kind.__name__}Line", head, omit_defaults=True, gc=False)


_COLLECTIONS = (RunStarted, PrivacySpent, ReleaseMade, FaultBegan, FaultEnded, EvaluationDone, RunFinished)
LINES: dict[type[Event], Any] = {kind: _line_type(kind) for kind in EVENTS.values() if kind not in _COLLECTIONS}
"""A record of a whole line, (seq, stamp, kind, …fields), for each kind that has nothing but plain numbers and words.

Such a line can be written later, with many others, at a tenth of the price.
"""


def stamp(now: float) -> msgspec.Raw:
    """The text of a time to the nanosecond: that of `round(now, 9)`, at a third of the price.

    A number of at most 15 digits is the shortest text of the float that it rounds to, so what `%.9f` says is what
    `repr` would say, but for the zeros at its end; beyond that, and where `repr` writes an exponent, it is asked.
    """
    if 1e-4 <= now < 1e6:
        text = (b"%.9f" % now).rstrip(b"0")
        return msgspec.Raw(text + b"0" if text.endswith(b".") else text)
    return msgspec.Raw(b"%r" % round(float(now), 9))


def _line_read(kind: type[Event]) -> Any:
    """The event with its number and time, as a line of the log has them."""
    return msgspec.defstruct(
        kind.__name__,
        [("seq", Whole), ("t", float)],
        bases=(kind,),
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        tag_field="event",
        tag=kind.kind,
        gc=False,
    )


READ: dict[type[Event], Any] = {kind: _line_read(kind) for kind in EVENTS.values()}
"""What a line of each kind is read as: the event itself, which also has `seq` and `t`."""
_KINDS = {read: kind for kind, read in READ.items()}
_decoder = msgspec.json.Decoder(reduce(or_, READ.values()))
_RELEASE = READ[ReleaseMade]
_OPENS, _CLOSES = b"{}"
_NO_EVENT = "not an event: a line starts with seq, t and event"
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def parse_lines(block: bytes, ends: Places) -> list[Any]:
    """The lines of a block, as `READ` has them; LogError says what is wrong with the first if there is but one.

    Args:
        block: whole lines, each with its newline.
        ends: where the newlines are.
    """
    try:
        lines = _decoder.decode_lines(block)
    except _BROKEN as error:
        raise _no_event(block, error) from None
    # JSON may go on behind a newline, or begin before one: every newline has to stand between two objects.
    letters = np.frombuffer(block, np.uint8)
    apart = (letters[ends - 1] == _CLOSES).all() and (letters[ends[:-1] + 1] == _OPENS).all()
    if len(lines) != len(ends) or not apart or not block.startswith(b"{"):
        raise LogError(_NO_EVENT)
    return lines


def _no_event(raw: bytes, error: Exception) -> LogError:
    """What is wrong with a line that cannot be read."""
    start = _START.match(raw)
    if start is None:
        return LogError(_NO_EVENT)
    kind = start[1].decode(errors="replace")
    return LogError(f"{kind}: {error}" if kind in EVENTS else f"{kind!r} is not a kind of event")


def event_of(line: Any) -> Event:
    """The event of a line as `READ` has it."""
    event: Event = _KINDS[type(line)](*msgspec.structs.astuple(line)[:-2])
    return event


def parse(raw: bytes) -> tuple[int, float, Event]:
    """The event behind a line without its newline; LogError says what is wrong with it."""
    (line,) = parse_lines(raw + b"\n", np.array([len(raw)]))
    return line.seq, line.t, event_of(line)


def canonical_pieces(
    block: bytes, before: int, ends: Places, released: Sequence[tuple[int, Any]]
) -> list[bytes | memoryview]:
    """What the digest hashes for the lines of a block: `canonical` of each, in pieces.

    Args:
        block: whole lines, each with its newline.
        before: where to stop: the last line of a log is not among these.
        ends: where the newlines are.
        released: each `release.made` among the lines, with its place.
    """
    view = memoryview(block)
    if not released:
        return [view[:before]]
    try:
        vectors = canonical_vectors([release.value for _, release in released])
    except ValueError:
        raise _no_vector() from None
    pieces: list[bytes | memoryview] = []
    done = 0
    for (place, release), vector in zip(released, vectors, strict=True):
        start = int(ends[place - 1]) + 1 if place else 0
        head = line(release.seq, release.t, ReleaseMade(release.agent, release.round, ""))
        pieces += (view[done:start], head, vector)
        done = int(ends[place])
    return [*pieces, view[done:before]]


def canonical(seq: int, t: float, event: Event, raw: bytes) -> bytes:
    """What the digest hashes for an event: its line, with vectors rounded and without the seal itself."""
    if isinstance(event, ReleaseMade):
        try:
            rounded = canonical_vector(event.value)
        except ValueError:
            raise _no_vector() from None
        return line(seq, t, msgspec.structs.replace(event, value="")) + rounded
    if isinstance(event, RunFinished):
        return line(seq, t, msgspec.structs.replace(event, digest="", sha256=""))
    return raw


def _no_vector() -> LogError:
    return LogError(f"{ReleaseMade.kind}: the value is not a packed vector")


def sig(x: float) -> float:
    """`x` to eight significant digits, and to no more than twelve places.

    >>> sig(0.123456789123)
    0.12345679
    >>> sig(4.39016882e-07)
    4.39017e-07
    >>> sig(-3e-17)
    0.0
    """
    if not math.isfinite(x):
        return x
    if abs(x) < 10.0 ** (DIGITS - PLACES):
        return round(x, PLACES) + 0.0  # no negative zero
    return float(f"{x:.{DIGITS - 1}e}")


def pack(value: Vector) -> str:
    """A vector as text: little-endian float64 in base64."""
    return base64.b64encode(np.ascontiguousarray(value, dtype="<f8").tobytes()).decode("ascii")


def unpack(text: str) -> Vector:
    """The vector behind `pack`; ValueError if it is none."""
    return np.frombuffer(a2b_base64(text, strict_mode=True), dtype="<f8").astype(np.float64, copy=False)


def canonical_vector(text: str) -> bytes:
    """A packed vector rounded to eight digits of its largest entry: what enters the digest.

    It is `length:exponent:` and the entries as little-endian int32 counts of 10^exponent; a vector without a finite
    largest entry is `length:` and that entry's name.
    """
    return canonical_vectors([text])[0]


def canonical_vectors(texts: Sequence[str]) -> list[bytes]:
    """The same of many vectors: those of equal length cost little more than one."""
    rows = [unpack(text) for text in texts]
    size = rows[0].size
    if any(row.size != size for row in rows):
        return [canonical_vector(text) for text in texts]
    if size == 0:
        return [b"0:"] * len(rows)
    values = np.concatenate(rows).reshape(-1, size)
    largest = np.maximum(values.max(axis=1), -values.min(axis=1)).tolist()
    exponents = [_exponent(each) for each in largest]
    scales = np.array([10.0 ** (exponent or 0) for exponent in exponents])
    with np.errstate(invalid="ignore"):  # what is not finite has no counts
        counts = np.rint(values / scales[:, None]).astype("<i4").tobytes()
    found = []
    for place, (exponent, name) in enumerate(zip(exponents, largest, strict=True)):
        if exponent is None:
            found.append(b"%d:0" % size if math.isfinite(name) else b"%d:%r" % (size, name))
        else:
            found.append(b"%d:%d:%b" % (size, exponent, counts[4 * size * place : 4 * size * (place + 1)]))
    return found


def _exponent(largest: float) -> int | None:
    """Of the power of ten in which the entries are counted; None where nothing can be."""
    if not math.isfinite(largest) or largest < 10.0**-PLACES:
        return None
    return math.floor(math.log10(largest)) - (DIGITS - 1)
