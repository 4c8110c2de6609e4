"""What a receiver makes of a payload that does not say everything."""

from __future__ import annotations

import pickle
from math import nan

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from simnet.network.payloads import Changes, Partial

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
