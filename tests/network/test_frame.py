from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import FrameError
from simnet.network.frame import HEADER_BYTES, Frame, Kind, decode, encode

frames = st.builds(
    Frame,
    kind=st.sampled_from(Kind),
    sender=st.integers(0, 2**32 - 1),
    round=st.integers(0, 2**32 - 1),
    codec=st.integers(0, 255),
    payload=st.binary(max_size=200),
)


def pack(frame):
    return encode(frame.kind, sender=frame.sender, round=frame.round, codec=frame.codec, payload=frame.payload)


@given(frames)
def test_what_is_encoded_is_decoded(frame):
    data = pack(frame)
    assert len(data) == HEADER_BYTES + len(frame.payload)
    assert decode(data) == frame


def test_the_bytes_are_those_of_the_documented_table():
    data = encode(Kind.VALUE, sender=7, round=0x010203, codec=4, payload=b"hello")
    header = b"sN" + bytes([1, 1, 4]) + bytes([7, 0, 0, 0]) + bytes([3, 2, 1, 0]) + bytes([5, 0, 0, 0])
    assert data == header + zlib.crc32(header + b"hello").to_bytes(4, "little") + b"hello"


def test_a_notice_is_nothing_but_a_header():
    assert len(encode(Kind.NOTICE, sender=3, round=9)) == HEADER_BYTES == 21


@given(st.data(), frames)
def test_one_flipped_bit_anywhere_is_refused(data, frame):
    raw = bytearray(pack(frame))
    bit = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(FrameError):
        decode(bytes(raw))


def test_every_flipped_bit_of_one_frame_is_refused():
    raw = encode(Kind.VALUE, sender=1, round=2, codec=1, payload=bytes(range(40)))
    for bit in range(8 * len(raw)):
        damaged = bytearray(raw)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FrameError):
            decode(bytes(damaged))


@given(st.data(), frames)
def test_a_frame_that_is_cut_short_or_grown_is_refused(data, frame):
    raw = pack(frame)
    with pytest.raises(FrameError):
        decode(raw[: data.draw(st.integers(0, len(raw) - 1))])
    with pytest.raises(FrameError):
        decode(raw + data.draw(st.binary(min_size=1, max_size=20)))


@given(st.binary(max_size=100) | st.binary(max_size=100).map(lambda tail: b"sN\x01" + tail))
def test_random_bytes_are_refused(raw):
    with pytest.raises(FrameError):
        decode(raw)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "at least 21 bytes, this one has 0"),
        (b"GET / HTTP/1.1\r\n\r\n\r\n\r\n", "begins with b'sN', this one with b'GE'"),
        (b"sN\x02" + bytes(18), "frame version 2 is unknown"),
        (b"sN\x01" + bytes(20), "a payload of 0 bytes is announced, 2 follow"),
        (b"sN\x01" + bytes(18), "the checksum does not match"),
        (b"sN\x01" + bytes(14) + zlib.crc32(b"sN\x01" + bytes(14)).to_bytes(4, "little"), "frame kind 0 is unknown"),
    ],
)
def test_a_refusal_says_why(raw, message):
    with pytest.raises(FrameError, match=message):
        decode(raw)


def test_kinds_have_names_for_the_log():
    assert [kind.label for kind in Kind] == ["value", "notice", "ack", "request", "reply"]


@pytest.mark.parametrize("kind", Kind)
@given(payload=st.binary(max_size=300), round=st.integers(0, 2**32 - 1))
def test_a_frame_has_as_many_bytes_as_it_is_counted_for_and_says_what_it_carries(kind, payload, round):
    frame = Frame(kind, 7, round, 0, payload)
    assert frame.size == len(frame.raw)
    assert decode(frame.raw) == frame
