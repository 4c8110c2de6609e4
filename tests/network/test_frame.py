"""Frames, and the payloads in them."""

from __future__ import annotations

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.errors import FrameError
from simnet.network.codec import CODECS
from simnet.network.frame import HEADER_BYTES, Frame, Kind, Writer, decode, encode
from simnet.network.payloads import Partial
from simnet.streams import Streams
from tests.network.models import a_codec

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


VECTORS = np.random.default_rng(0).normal(size=(4, 7))


def whole(parts, before=()):
    return parts.onto(before) if isinstance(parts, Partial) else parts


@pytest.mark.parametrize("codec", sorted(CODECS))
def test_what_goes_with_a_model_is_computed_from_the_model_as_it_is_decoded(codec):
    writer = Writer(Streams(1), 0, a_codec(codec))
    given = []

    def accompany(decoded):
        given.append(decoded)
        return (VECTORS[1],)

    payload, sent = writer.model(VECTORS[0], accompany)
    received = whole(writer.decode(payload))
    np.testing.assert_array_equal(received[0], given[0])
    for got, kept in zip(received, sent, strict=True):
        np.testing.assert_array_equal(got, kept)


@pytest.mark.parametrize("codec", ["int8", "top-k"])
def test_neither_company_nor_letters_change_how_models_are_rounded(codec):
    alone, busy = Writer(Streams(1), 0, a_codec(codec)), Writer(Streams(1), 0, a_codec(codec))
    for model in VECTORS:
        busy.letter(3, (model,))
        with_company, _ = busy.model(model, lambda decoded: (decoded + 1,))
        bare, _ = alone.model(model, lambda decoded: ())
        np.testing.assert_array_equal(busy.decode(with_company)[0], alone.decode(bare)[0])


@pytest.mark.parametrize("codec", ["float32", "float16", "int8"])
def test_company_is_sent_in_single_precision_at_least(codec):
    _, sent = Writer(Streams(1), 0, a_codec(codec)).model(VECTORS[0], lambda decoded: (VECTORS[1],))
    np.testing.assert_array_equal(sent[1], VECTORS[1].astype(np.float32))


@pytest.mark.parametrize("values", ["float64", "float16"])
def test_with_top_k_each_entry_travels_with_its_company(values):
    writer, held = Writer(Streams(1), 0, a_codec("top-k", share=0.3, values=values)), ()
    for model, company in zip(VECTORS, VECTORS[::-1], strict=True):
        lead = np.array([3.0])
        payload, sent = writer.model(model, lambda decoded, company=company, lead=lead: (company, lead))
        received = writer.decode(payload)
        told = ~np.isnan(received[0])
        assert np.count_nonzero(told) == 2
        np.testing.assert_array_equal(told, ~np.isnan(received[1]))
        single = company if values == "float64" else company.astype(np.float32)
        np.testing.assert_array_equal(received[1][told], single[told])
        held = received.onto(held)
        for got, kept in zip(held, sent, strict=True):
            np.testing.assert_array_equal(got, kept)


def test_an_answer_tells_what_was_decoded_before():
    writer = Writer(Streams(1), 0, a_codec("int8"))
    np.testing.assert_array_equal(writer.decode(writer.again((VECTORS[2],)))[0], VECTORS[2].astype(np.float32))


@pytest.mark.parametrize("cut", [1, 4, 5, 20])
def test_a_payload_that_ends_too_early_is_refused(cut):
    payload, _ = Writer(Streams(1), 0, a_codec("float64")).model(VECTORS[0], lambda decoded: (VECTORS[1],))
    with pytest.raises(FrameError):
        Writer(Streams(1), 0, a_codec("float64")).decode(payload[:cut])


def test_a_small_payload_cannot_ask_for_much_memory():
    writer = Writer(Streams(1), 0, a_codec("top-k", share=0.1))
    empty = struct.pack("<B3I", 3, *[2**24] * 3) + bytes(12)  # three parts of 2**24 entries of which none is told
    tracemalloc.start()
    with pytest.raises(FrameError, match="at most 20 per part"):
        writer.decode(empty, longest=20)
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


@pytest.mark.parametrize("company", [(), (VECTORS[3],)])
@pytest.mark.parametrize("codec", sorted(CODECS))
def test_the_sender_knows_what_its_receivers_will_decode(codec, company):
    writer = Writer(Streams(1), 0, a_codec(codec))
    for model in VECTORS:
        payload, _ = writer.model(model, lambda decoded: company)
        said, decoded = writer.said(payload), writer.decode(payload)
        assert said is not None
        assert type(said) is type(decoded)
        for mine, theirs in zip(said, decoded, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert writer.said(bytes(bytearray(payload))) is None, "only the very payload is known"
