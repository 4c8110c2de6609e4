import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simnet.record.lines import LINES, canonical_vector, encode_lines, line, pack, sig, stamp, unpack

FINITE = st.floats(-1e6, 1e6)


@given(FINITE)
def test_eight_digits_stay_and_the_rest_goes(x):
    assert sig(sig(x)) == sig(x)
    assert math.isclose(sig(x), x, rel_tol=5.1e-8, abs_tol=5.1e-13)


def test_nothing_is_kept_below_the_noise_of_what_cancelled():
    assert sig(1.0 + 4e-7 - 1.0) == sig(4e-7) == 4e-7
    assert (sig(4e-13), sig(-4e-13), sig(2e-12)) == (0.0, 0.0, 2e-12)
    assert math.copysign(1, sig(-1e-15)) == 1


def test_what_is_not_finite_stays_what_it_is():
    assert sig(math.inf) == math.inf
    assert math.isnan(sig(math.nan))


@given(st.lists(st.floats(allow_nan=False), max_size=20))
def test_a_vector_survives_being_packed(values):
    assert unpack(pack(np.array(values))).tolist() == values


@pytest.mark.parametrize("text", ["x", "AAAA", "AAAAAAAAAAA", "AAAAAAAAAAA=\n", "é", "AAAA AAAAAAA="])
def test_what_is_no_packed_vector_is_refused(text):
    with pytest.raises(ValueError):
        unpack(text)


@given(st.lists(FINITE, min_size=1, max_size=20).filter(lambda values: max(map(abs, values)) >= 1e-12))
def test_a_canonical_vector_is_the_vector_to_eight_digits_of_its_largest_entry(values):
    length, exponent, counts = canonical_vector(pack(np.array(values))).split(b":", 2)
    back = np.frombuffer(counts, "<i4") * 10.0 ** int(exponent)
    assert int(length) == len(values)
    assert np.allclose(back, values, rtol=0, atol=5.1e-8 * np.abs(values).max())


def test_vectors_that_say_different_things_have_different_canonical_forms():
    vectors = ([], [0.0], [0.0, 0.0], [np.nan], [np.inf], [1.0], [10.0], [1.0, 0.0], [-1.0])
    forms = [canonical_vector(pack(np.array(vector))) for vector in vectors]
    assert len(set(forms)) == len(forms)


@given(st.floats(0, 1e7) | st.floats(0, 1e-3) | st.floats(0, 100).map(lambda x: round(x, 3)) | st.integers(0, 10**7))
def test_a_time_is_written_as_the_float_that_it_is_to_the_nanosecond(now):
    assert bytes(stamp(now)).decode() == repr(round(float(now), 9)) == bytes(stamp(round(now, 9))).decode()


@given(st.data())
def test_lines_that_are_written_together_are_those_that_would_be_written_alone(data):
    kind = data.draw(st.sampled_from(sorted(LINES, key=lambda kind: kind.kind)))
    event = data.draw(st.from_type(kind))
    together = encode_lines([LINES[kind](7, stamp(0.25), kind.kind, *msgspec.structs.astuple(event))] * 2)
    assert together == 2 * (line(7, 0.25, event) + b"\n")
