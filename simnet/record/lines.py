"""One event, one line of JSON: both directions, and the canonical form that is hashed."""

from __future__ import annotations

from typing import Any

import msgspec

from simnet.errors import LogError
from simnet.record.events import EVENTS, Event, ReleaseMade, RunFinished
from simnet.record.rounding import canonical_vector

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_HEADS = {event: f',"event":"{kind}"'.encode() for kind, event in EVENTS.items()}


def line(seq: int, t: float, event: Event) -> bytes:
    """The event as a line of the log, without the newline."""
    body = _encode(event)
    head = b'{"seq":%d,"t":%s%s' % (seq, repr(t).encode(), _HEADS[type(event)])
    return head + b"}" if len(body) == 2 else head + b"," + body[1:]


def parse(raw: bytes) -> tuple[int, float, Event]:
    """The event behind a line; LogError says what is wrong with it."""
    try:
        fields = _decode(raw)
    except msgspec.DecodeError as error:
        raise LogError(f"not a line of JSON ({error})") from None
    seq, t, kind = fields.pop("seq", None), fields.pop("t", None), fields.pop("event", None)
    if not isinstance(seq, int) or not isinstance(t, (int, float)) or not isinstance(kind, str):
        raise LogError("an event starts with seq, t and event")
    if kind not in EVENTS:
        raise LogError(f"{kind!r} is not a kind of event")
    try:
        return seq, float(t), msgspec.convert(fields, EVENTS[kind])
    except msgspec.ValidationError as error:
        raise LogError(f"{kind}: {error}") from None


def canonical(raw: bytes, event: Event) -> bytes:
    """What the digest hashes for an event: its line, with vectors rounded and without the seal itself."""
    if isinstance(event, ReleaseMade):
        return raw.replace(event.value.encode(), canonical_vector(event.value).encode())
    if isinstance(event, RunFinished):
        return raw.replace(event.digest.encode() or b"\0", b"").replace(event.sha256.encode() or b"\0", b"")
    return raw
