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
from typing import Any

import msgspec
import numpy as np

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
)
from simnet.vectors import Vector

DIGITS = 8
PLACES = 12

_encoder = msgspec.json.Encoder()
_encode = _encoder.encode
encode_lines = _encoder.encode_lines
"""Many lines at once, each with its newline: instances of `LINES`, or `msgspec.Raw` lines."""
_HEADS = {event: f',"event":"{kind}",'.encode() for kind, event in EVENTS.items()}
_DECODERS = {kind.encode(): msgspec.json.Decoder(event).decode for kind, event in EVENTS.items()}
_START = re.compile(rb'\{"seq":([0-9]{1,18}),"t":([0-9.e+-]{1,30}),"event":"([^"\\]*)",')


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


def parse(raw: bytes) -> tuple[int, float, Event]:
    """The event behind a line; LogError says what is wrong with it."""
    start = _START.match(raw)
    if start is None:
        raise LogError("not an event: a line starts with seq, t and event")
    seq, t, kind = start.groups()
    if kind not in _DECODERS:
        raise LogError(f"{kind.decode(errors='replace')!r} is not a kind of event")
    try:
        return int(seq), float(t), _DECODERS[kind](b"{" + raw[start.end() :])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LogError(f"{kind.decode()}: {error}") from None
    except ValueError:
        raise LogError(f"t = {t.decode()} is not a time") from None


def canonical(seq: int, t: float, event: Event, raw: bytes) -> bytes:
    """What the digest hashes for an event: its line, with vectors rounded and without the seal itself."""
    if isinstance(event, ReleaseMade):
        try:
            rounded = canonical_vector(event.value)
        except ValueError:
            raise LogError(f"{event.kind}: the value is not a packed vector") from None
        return line(seq, t, msgspec.structs.replace(event, value="")) + rounded
    if isinstance(event, RunFinished):
        return line(seq, t, msgspec.structs.replace(event, digest="", sha256=""))
    return raw


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
    value = unpack(text)
    if value.size == 0:
        return b"0:"
    largest = max(float(value.max()), -float(value.min()))
    if not math.isfinite(largest):
        return b"%d:%r" % (value.size, largest)
    if largest < 10.0**-PLACES:
        return b"%d:0" % value.size
    exponent = math.floor(math.log10(largest)) - (DIGITS - 1)
    counts = np.rint(value / 10.0**exponent).astype("<i4")
    return b"%d:%d:" % (value.size, exponent) + counts.tobytes()
