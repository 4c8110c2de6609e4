"""The envelope: what is encoded is decoded, and nothing else is."""

from __future__ import annotations

import asyncio
import re
import socket
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import FrameError
from simnet.live.connection import Connection
from simnet.live.envelope import (
    GREETING_BYTES,
    HEADER_BYTES,
    Envelope,
    EnvelopeKind,
    Greeting,
    Header,
    Reason,
    Refused,
    encode,
    head,
    run_id,
)
from tests.live.party import PATIENCE, data, hello
from tests.live.test_connection import section

LIMIT = 1 << 16

runs = st.binary(min_size=16, max_size=16)
numbers = st.integers(0, 2**64 - 1)
data_envelopes = st.builds(
    Envelope, st.just(EnvelopeKind.DATA), runs, st.integers(0, 2**32 - 1), numbers, numbers, st.binary(max_size=300)
)
bare_envelopes = st.builds(
    Envelope,
    st.sampled_from([EnvelopeKind.HELLO, EnvelopeKind.ACK, EnvelopeKind.RECEIPT]),
    runs,
    st.integers(0, 2**32 - 1),
    numbers,
    numbers,
)
envelopes = data_envelopes | bare_envelopes


def _read(raw: bytes) -> Envelope | None:
    """The first envelope on a connection that brings these bytes and ends."""

    async def read() -> Envelope | None:
        caller, host = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=host)
        caller.sendall(raw)
        caller.close()
        try:
            return await Connection(reader, writer).receive(LIMIT, PATIENCE)
        finally:
            writer.close()

    return asyncio.run(read())


@given(envelopes)
def test_what_is_encoded_is_decoded(item: Envelope) -> None:
    assert _read(encode(item)) == item


@given(envelopes, st.data())
def test_any_changed_byte_is_refused(item: Envelope, chance: st.DataObject) -> None:
    raw = bytearray(encode(item))
    place = chance.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= chance.draw(st.integers(1, 255))
    with pytest.raises(Refused):
        _read(bytes(raw))


@given(envelopes, st.data())
def test_any_burst_of_up_to_four_bytes_is_refused(item: Envelope, chance: st.DataObject) -> None:
    raw = bytearray(encode(item))
    place = chance.draw(st.integers(0, len(raw) - 4))
    burst = chance.draw(st.binary(min_size=4, max_size=4).filter(any))
    raw[place : place + 4] = bytes(old ^ new for old, new in zip(raw[place : place + 4], burst, strict=True))
    with pytest.raises(Refused):
        _read(bytes(raw))


@given(envelopes, st.data())
def test_any_beginning_is_refused_as_truncated(item: Envelope, chance: st.DataObject) -> None:
    raw = encode(item)
    with pytest.raises(Refused) as refused:
        _read(raw[: chance.draw(st.integers(1, len(raw) - 1))])
    assert refused.value.reason is Reason.TRUNCATED


@given(st.binary(min_size=1, max_size=200))
def test_random_bytes_are_refused(raw: bytes) -> None:
    with pytest.raises(Refused):
        _read(raw)


@given(data_envelopes)
def test_the_header_says_what_is_announced_before_the_content_is_there(item: Envelope) -> None:
    header = head(encode(item)[:HEADER_BYTES], LIMIT)
    assert (header.bare, header.length) == (replace(item, content=b""), len(item.content))


def _with(field: slice, content: bytes) -> bytes:
    raw = bytearray(data(0, 1))
    raw[field] = content
    return bytes(raw)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (_with(slice(0, 2), b"sN"), Reason.MALFORMED),
        (_with(slice(2, 3), b"\x03"), Reason.VERSION),
        (_with(slice(3, 4), b"\x09"), Reason.MALFORMED),
        (_with(slice(40, 44), b"\xff\xff\xff\xff"), Reason.OVERSIZED),
        (_with(slice(3, 4), b"\x03"), Reason.MALFORMED),
        (_with(slice(20, 21), b"\x05"), Reason.CHECKSUM),
        (_with(slice(-1, None), b"\x00"), Reason.CHECKSUM),
    ],
    ids=["magic", "version", "kind", "length", "an acknowledgement with content", "sender", "content"],
)
def test_each_fault_has_its_word(raw: bytes, reason: Reason) -> None:
    with pytest.raises(Refused) as refused:
        _read(raw)
    assert refused.value.reason is reason


def test_four_gibibytes_that_are_only_announced_cost_nothing() -> None:
    raw = _with(slice(40, 44), b"\xff\xff\xff\xff")[:HEADER_BYTES]
    tracemalloc.start()
    try:
        with pytest.raises(Refused, match="at most 65536 bytes here, this one announces 4294967295"):
            head(raw, LIMIT)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 16


def test_the_layout_is_what_the_documentation_says() -> None:
    raw = encode(Envelope(EnvelopeKind.DATA, run_id("a run"), 3, 2, 7, b"frame"))
    assert raw[:4] == b"sE\x02\x02"
    assert raw[4:20].hex() == "7666f0507e9b2d38e9dee8b3a19b4379"
    assert raw[20:44] == b"\x03\0\0\0" + b"\x02" + bytes(7) + b"\x07" + bytes(7) + b"\x05\0\0\0"
    assert raw[48:] == b"frame"


def test_a_greeting_is_what_the_documentation_says_and_nothing_longer_or_shorter() -> None:
    raw = Greeting(2, 7, b"h" * 32).encode()

    assert raw == b"\x02" + bytes(7) + b"\x07" + bytes(7) + b"h" * 32
    assert Greeting.decode(raw) == Greeting(2, 7, b"h" * 32)
    for wrong in (raw[:-1], raw + b"h", b""):
        with pytest.raises(Refused, match="48 bytes of content"):
            Greeting.decode(wrong)


def test_a_header_is_the_same_whatever_follows_it() -> None:
    assert isinstance(head(hello(0), GREETING_BYTES), Header)
    assert head(hello(0), GREETING_BYTES) == head(hello(0), LIMIT)


def test_every_word_is_explained_and_no_other() -> None:
    first_cells = re.findall(r"^\| (`.*?) \|", section("What is refused"), flags=re.MULTILINE)
    assert {word for cell in first_cells for word in re.findall(r"`(.+?)`", cell)} == set(Reason)


def test_a_refusal_is_a_frame_error_with_a_word() -> None:
    refused = Refused(Reason.GAP, "number 3 after 1")
    assert isinstance(refused, FrameError)
    assert (str(refused), refused.reason) == ("number 3 after 1", "gap")
