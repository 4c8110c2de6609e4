"""One event, one line of JSON: both directions, and the canonical form that is hashed."""

from __future__ import annotations

import re

import msgspec

from simnet.errors import LogError
from simnet.record.events import EVENTS, Event, ReleaseMade, RunFinished
from simnet.record.rounding import canonical_vector

_encode = msgspec.json.Encoder().encode
_HEADS = {event: f',"event":"{kind}",'.encode() for kind, event in EVENTS.items()}
_DECODERS = {kind.encode(): msgspec.json.Decoder(event).decode for kind, event in EVENTS.items()}
_START = re.compile(rb'\{"seq":([0-9]{1,18}),"t":([0-9.e+-]{1,30}),"event":"([^"\\]*)",')


def line(seq: int, t: float, event: Event) -> bytes:
    """The event as a line of the log, without the newline."""
    return stamped(seq, b"%r" % t, event)


def stamped(seq: int, stamp: bytes, event: Event) -> bytes:
    """The line of an event whose time is text already: writing a float is half the cost of a line."""
    return b'{"seq":%d,"t":%b%b%b' % (seq, stamp, _HEADS[type(event)], _encode(event)[1:])


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
