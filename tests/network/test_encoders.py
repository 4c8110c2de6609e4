from __future__ import annotations

import struct
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from simnet.errors import FrameError, ScenarioError
from simnet.network.codec import CODECS
from simnet.network.encoders import TINIEST, TURN
from simnet.network.payloads import LONGEST, Partial
from simnet.scenario import Scenario
from simnet.streams import Streams
from tests.network.models import a_codec

numbers = st.floats(-1e6, 1e6)


def vectors(elements=numbers, **shape):
    return st.lists(arrays(np.float64, st.integers(0, 20), elements=elements), max_size=4, **shape)


def make(name, seed=1, **settings):
    return a_codec(name, **settings).made(lambda: Streams(seed).generator("codec", 0))


every = pytest.mark.parametrize("name", CODECS)


@every
@given(parts=vectors(), seed=st.integers(0, 1000))
def test_a_payload_holds_every_part(name, parts, seed):
    codec = make(name, seed)
    payload = codec.encode(parts)
    decoded = codec.decode(payload)
    assert [len(part) for part in decoded] == [len(part) for part in parts]
    assert all(part.dtype == np.float64 and part.flags.writeable for part in decoded)


@given(vectors(st.floats(allow_nan=False, allow_infinity=False)))
def test_float64_changes_nothing(parts):
    codec = make("float64")
    for part, decoded in zip(parts, codec.decode(codec.encode(parts)), strict=True):
        np.testing.assert_array_equal(part, decoded)


def test_the_bytes_are_those_of_the_documented_form():
    payload = make("float32").encode([np.array([1.5, -2.0]), np.array([]), np.array([0.25])])
    assert payload == struct.pack("<B3I3f", 3, 2, 0, 1, 1.5, -2.0, 0.25)


@pytest.mark.parametrize(("name", "digits"), [("float32", 2**-24), ("float16", 2**-11)])
@given(values=st.lists(st.floats(2**-14, 65504) | st.floats(-65504, -(2**-14)), min_size=1))
def test_narrow_floats_round_to_nearest(name, digits, values):
    codec = make(name)
    (decoded,) = codec.decode(codec.encode([np.array(values)]))
    assert (np.abs(decoded - values) <= digits * np.abs(values)).all()


@pytest.mark.parametrize(
    ("name", "greatest"),
    [("float64", 1.7976931348623157e308), ("float32", 3.4028234663852886e38), ("float16", 65504.0)],
)
def test_too_large_a_number_becomes_the_greatest_that_fits(name, greatest):
    codec = make(name)
    (decoded,) = codec.decode(codec.encode([np.array([1e308, -1e308, inf, -inf, 70000.0])]))
    assert decoded[:4].tolist() == [min(greatest, 1e308), -min(greatest, 1e308), greatest, -greatest]
    assert decoded[4] == pytest.approx(min(greatest, 70000.0))


@every
@given(parts=vectors(st.floats(allow_nan=False)))
def test_whatever_is_sent_arrives_finite(name, parts):
    codec = make(name)
    for _ in range(3):  # also once it remembers what it has told
        decoded = codec.decode(codec.encode(parts))
        whole = decoded.onto(()) if isinstance(decoded, Partial) else decoded
        assert all(np.isfinite(part).all() for part in whole)


@every
def test_what_is_no_number_is_not_sent(name):
    with pytest.raises(FrameError, match="part 1 holds NaN"):
        make(name).encode([np.zeros(2), np.array([1.0, nan])])


@given(st.lists(numbers, min_size=1, max_size=30), st.integers(0, 1000))
def test_int8_is_never_off_by_more_than_a_step(values, seed):
    codec = make("int8", seed)
    (decoded,) = codec.decode(codec.encode([np.array(values)]))
    step = max(map(abs, values)) / 127
    assert (np.abs(decoded - values) <= step * (1 + 1e-9) + 127 * TINIEST).all()


@given(st.lists(st.floats(-126 * TINIEST, 126 * TINIEST), min_size=1, max_size=30))
def test_int8_sends_numbers_too_small_for_a_scale_as_nothing(values):
    codec = make("int8")
    (decoded,) = codec.decode(codec.encode([np.array(values)]))
    assert not decoded.any()


def test_int8_is_right_on_average():
    vector = Streams(1).generator("vector").normal(size=20)
    codec = make("int8")
    mean = np.mean([codec.decode(codec.encode([vector]))[0] for _ in range(20_000)], axis=0)
    step = np.abs(vector).max() / 127
    # A rounding has a deviation of at most half a step: the mean of 20000 of them of 0.0035 steps.
    assert (np.abs(mean - vector) < 5 * 0.0036 * step).all()


def test_int8_scales_each_part_by_itself():
    codec = make("int8")
    small, large = codec.decode(codec.encode([np.array([1e-6, -5e-7]), np.array([1e6, 1.0])]))
    assert small == pytest.approx([1e-6, -5e-7], abs=1e-6 / 127)
    assert large == pytest.approx([1e6, 1.0], abs=1e6 / 127)


def test_int8_of_nothing_is_nothing():
    codec = make("int8")
    for vector in (np.zeros(3), np.array([5e-324, 0.0])):
        (decoded,) = codec.decode(codec.encode([vector]))
        assert decoded.tolist() == [0.0] * len(vector)


series = st.lists(arrays(np.float64, 12, elements=st.floats(-1000, 1000)), min_size=1, max_size=10)


def listen(codec, vectors, missed=()):
    """What a receiver holds after each payload, if it does not get those with the numbers in `missed`."""
    held = ()
    for number, vector in enumerate(vectors):
        decoded = codec.decode(codec.encode([vector]))
        if number not in missed:
            held = decoded.onto(held)
        yield held[0] if held else np.zeros(len(vector))


@given(series, st.sampled_from(["float64", "float32", "float16", "int8"]))
def test_what_top_k_leaves_out_comes_later(rounds, values):
    """Once the vector stays as it is, a receiver soon holds it."""
    codec = make("top-k", share=0.25, values=values)
    held = list(listen(codec, [*rounds, *[rounds[-1]] * 40]))[-1]
    digits = {"float64": 0.0, "float32": 1e-7, "float16": 1e-3, "int8": 1 / 127}[values]
    np.testing.assert_allclose(held, rounds[-1], rtol=0, atol=digits * 1000 * (1 + 1e-9))


@given(series)
def test_top_k_sends_the_entries_that_have_moved_most_and_those_that_waited_longest(rounds):
    codec = make("top-k", share=0.25)
    before, waiting, count = np.zeros(12), list(range(12)), 0
    for vector in rounds:
        (decoded,) = codec.decode(codec.encode([vector]))
        (told,) = np.nonzero(~np.isnan(decoded))
        np.testing.assert_array_equal(decoded[told], vector[told])
        turns = (count + 3) // TURN - count // TURN
        count += 3
        assert set(waiting[:turns]) <= set(told.tolist())
        rest = sorted(set(range(12)) - set(waiting[:turns]), key=lambda e: -abs(vector[e] - before[e]))
        assert set(told.tolist()) == {*waiting[:turns], *rest[: 3 - turns]}
        waiting = [e for e in waiting if e not in told] + sorted(told.tolist())
        before[told] = vector[told]


@given(series, st.sets(st.integers(0, 9)))
def test_a_receiver_that_missed_payloads_holds_what_all_hold_after_a_bounded_time(rounds, missed):
    quiet = [rounds[-1]] * (TURN * 12 // 3)
    all_heard = list(listen(make("top-k", share=0.25), [*rounds, *quiet]))
    some_missed = list(listen(make("top-k", share=0.25), [*rounds, *quiet], missed & set(range(len(rounds)))))
    np.testing.assert_array_equal(all_heard[-1], some_missed[-1])
    np.testing.assert_array_equal(all_heard[-1], rounds[-1])


def test_top_k_remembers_each_part_and_each_sender_alone():
    mine, other = make("top-k", share=0.5), make("top-k", share=0.5)
    mine.encode([np.array([2.0, 1.0]), np.array([0.0, 5.0])])
    first, second = mine.decode(mine.encode([np.array([2.0, 1.0]), np.array([4.0, 5.0])]))
    np.testing.assert_array_equal((first, second), ([nan, 1.0], [4.0, nan]))
    np.testing.assert_array_equal(other.decode(other.encode([np.array([0.0, 0.5])]))[0], [nan, 0.5])


def test_top_k_chooses_the_first_of_equals():
    codec = make("top-k", share=0.5)
    np.testing.assert_array_equal(codec.decode(codec.encode([np.ones(4)]))[0], [1.0, 1.0, nan, nan])


def test_top_k_writes_long_parts_with_wide_places():
    codec = make("top-k", share=1e-9)
    vector = np.zeros(70_000)
    vector[-1] = 2.0
    payload = codec.encode([vector])
    assert len(payload) == 1 + 4 + 4 + 4 + 8
    np.testing.assert_array_equal(codec.decode(payload).onto(())[0], vector)


@every
@given(parts=vectors(min_size=1), cut=st.data())
def test_a_payload_cut_short_or_grown_is_refused(name, parts, cut):
    codec = make(name)
    payload = codec.encode(parts)
    with pytest.raises(FrameError):
        codec.decode(payload[: cut.draw(st.integers(0, len(payload) - 1))])
    with pytest.raises(FrameError):
        codec.decode(payload + b"\0")


@every
@given(payload=st.binary(max_size=60))
def test_forged_bytes_are_refused_or_give_finite_vectors(name, payload):
    try:
        parts = make(name).decode(payload)
    except FrameError:
        return
    assert not any(np.isinf(part).any() for part in parts)
    assert isinstance(parts, Partial) or not any(np.isnan(part).any() for part in parts)


def test_a_forged_payload_is_refused_with_the_reason():
    with pytest.raises(FrameError, match=f"at most {LONGEST} per part"):
        make("top-k").decode(struct.pack("<BII", 1, 2**31, 0))
    with pytest.raises(FrameError, match="not in rising order"):
        make("top-k").decode(struct.pack("<BIIHHdd", 1, 3, 2, 1, 1, 0.5, 0.5))
    with pytest.raises(FrameError, match="the scale inf"):
        make("int8").decode(struct.pack("<BIdb", 1, 1, inf, 0))
    with pytest.raises(FrameError, match="not finite"):
        make("float64").decode(struct.pack("<BId", 1, 1, nan))


def test_a_payload_has_no_room_for_more_parts_than_a_byte_can_count():
    with pytest.raises(FrameError, match="at most 255 parts, not 256"):
        make("float64").encode([np.zeros(1)] * 256)


@pytest.mark.parametrize(
    ("topk", "sentence"),
    [
        ({"share": 0.0}, "network.topk.share = 0.0: a share above 0 and at most 1"),
        ({"values": "top-k"}, 'network.topk.values = "top-k": choose one of float64, float32, float16, int8'),
    ],
)
def test_impossible_settings_of_top_k_are_refused_with_their_field(topk, sentence):
    with pytest.raises(ScenarioError) as refused:
        Scenario.of({"algorithm": {"name": "admm"}, "network": {"topk": topk}})
    assert str(refused.value) == sentence


def test_what_travels_bit_for_bit_is_not_decoded_to_know_what_arrives():
    part = np.array([1.5, -2.0])
    payload, (told,) = make("float64").transfer([part])
    assert told is part
    assert make("float64").decode(payload)[0].tolist() == part.tolist()
