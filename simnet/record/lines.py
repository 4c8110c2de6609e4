"""One event, one line of JSON: both directions, and the canonical form that is hashed."""

from __future__ import annotations

import re
from typing import Any

import msgspec

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
from simnet.record.rounding import canonical_vector

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


ROUNDED = frozenset({ReleaseMade, RunFinished})
"""The kinds whose canonical form is not their line."""
