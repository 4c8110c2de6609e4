"""What a receiver makes of a payload that does not say everything."""

from __future__ import annotations

import pickle
from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from simnet.errors import FrameError
from simnet.network.payloads import LONGEST, MOST_PARTS, Changes, Partial, PayloadCodec

some = arrays(np.float64, 4, elements=st.just(nan) | st.floats(-1e6, 1e6))
known = arrays(np.float64, 4, elements=st.floats(-1e6, 1e6))


@given(some, known)
def test_what_is_left_unsaid_stays_as_it_was(told, was):
    (partial,), (changed,) = Partial((told,)).onto((was,)), Changes((told,)).onto((was,))
    for entry, before, value, total in zip(told, was, partial, changed, strict=True):
        assert value == (before if np.isnan(entry) else entry)
        assert total == (before if np.isnan(entry) else before + entry)


@given(some)
def test_everybody_begins_at_nothing(told):
    for kind in (Partial, Changes):
        assert kind((told,)).onto(())[0].tolist() == np.nan_to_num(told).tolist()


def test_changes_stay_changes_in_a_checkpoint():
    assert type(pickle.loads(pickle.dumps(Changes((np.ones(2),))))) is Changes


class Counted(PayloadCodec):
    """Writes nothing of its parts, so that they may be of any length."""

    def write(self, index, part):
        return b""

    def read(self, source, length):
        raise NotImplementedError


def test_a_payload_holds_as_many_parts_of_such_a_length_as_its_header_can_say_and_no_more():
    codec, longest = Counted(), np.broadcast_to(0.0, LONGEST)
    assert len(codec.encode([np.zeros(0)] * MOST_PARTS)) == 1 + 4 * MOST_PARTS
    assert len(codec.encode([longest])) == 1 + 4
    with pytest.raises(FrameError, match="at most 255 parts, not 256"):
        codec.encode([np.zeros(0)] * (MOST_PARTS + 1))
    with pytest.raises(FrameError, match="part 1 has 16777217 entries"):
        codec.encode([longest, np.broadcast_to(0.0, LONGEST + 1)])
